"""Engine `uml`: boots User-Mode Linux in virtual time as an ordinary process, one guest per core.

Builds the command line (docs/architecture.md, Guest), confines the process, and says in one line what went
wrong outside. What is in the raw files is the store's to judge.
"""

import importlib.resources
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from narrows import kernel
from narrows.engine import (
    agent_binary,
    console,
    contents,
    cores,
    elf,
    guest_disk,
    host,
    landlock,
    layout,
    modules,
    own_tools,
    process,
    readable,
)
from narrows.engine.types import Carried, EngineInfo, Limits, RunFault, RunRequest, Slot
from narrows.errors import EngineError
from narrows.plan import capacity
from narrows.plan.files import SYSTEM_PATH
from narrows.plan.items import Command, Content
from narrows.plan.model import Plan

PACKAGE = Path(str(importlib.resources.files("narrows"))).resolve()
"""What `@checkout` in a plan means: this package, where tools have the files of their clients."""
IN_PACKAGE = "@checkout"
OVERHEAD_BYTES = 64 * 1024 * 1024
"""The kernel's own text, page tables of stub processes, the launcher."""
CLOCK = "time_travel_time"
"""What the kernel can count (arch/um/kernel/time.c): virtual time, 64 bits."""
COMMAND_LINE_STEP = 2048
"""Bytes. User-Mode Linux takes 4096."""
PACKAGES = {
    "iperf3": "iperf3",
    "tc": "iproute2",
    "ip": "iproute2",
    "ping": "iputils-ping",
    "node": "nodejs",
    "nft": "nftables",
    "gtlsclient": "ngtcp2-client",
    "gtlsserver": "ngtcp2-server",
    "go": "golang-go",
}
GO_PROGRAMS = {
    "ndt7-client": "github.com/m-lab/ndt7-client-go/cmd/ndt7-client@v0.10.1",
    "ndt-server": "github.com/m-lab/ndt-server@v0.25.3",
}
"""M-Lab's own programs, which no distribution packages: the versions that were tried, for `go install`."""

GUESTS_OWN = ("/tmp", "/run", "/var/tmp", "/var/log", "/var/lock", "/var/run", "/var/lib/nginx", "/var/cache")
"""Those directories of a guest that are not the host's."""


def guest_path(tools_dir: Path | None) -> str:
    """Where programs are looked for: the kernel's tools, where this user has some, where the system has."""
    own = os.environ.get("PATH", "").split(":")
    wanted = [str(tools_dir)] if tools_dir else []
    wanted += [p for p in own if p.startswith("/")] + list(SYSTEM_PATH)
    # A kernel parameter can hold neither spaces nor quotes.
    usable = [p for p in dict.fromkeys(wanted) if os.path.isdir(p) and not set(p) & set(" \t\"'")]
    return ":".join(usable)


def mentions(plan: Plan, word: str) -> bool:
    """Whether a command of the plan has this in an argument or in its environment."""
    commands = [item for item in plan.traffic if isinstance(item, Command)]
    return any(word in text for item in commands for text in (*item.argv, *item.env.values()))


def _padding(words: list[str]) -> str:
    """Makes every guest's command line equally long, wherever its directory is.

    What the kernel allots for that line is missing from the memory that defaults such as tcp_rmem follow.
    """
    name = "narrows_padding="
    length = len(" ".join([*words, name])) + 1
    return name + "x" * (-length % COMMAND_LINE_STEP)


def own_places(plan: Plan, path: str) -> list[str]:
    """Where this user has programs of the plan that the system has not.

    The guest looks nowhere else: a run must not depend on what else is on its user's PATH.
    """
    wanted = [name for item in plan.traffic if isinstance(item, Command) for name in item.programs]
    own = [name for name in wanted if shutil.which(name, path=":".join(SYSTEM_PATH)) is None]
    found = [shutil.which(name, path=path) for name in own if "/" not in name]
    return sorted({os.path.dirname(place) for place in found if place is not None})


def check_tools(plans: Sequence[Plan], path: str) -> None:
    """Every outside program that any plan names must be there before the first guest boots."""
    missing: dict[str, str] = {}
    for plan in plans:
        for item in plan.traffic:
            if isinstance(item, Command):
                _check_packages(item)
                _check_places(item)
                for program in item.programs:
                    found = shutil.which(program, path=path)
                    if found is None:
                        missing.setdefault(program, item.id)
                    else:
                        _check_program(item, Path(found))
        for tool in {step.tool for step in plan.setup} & {"ip", "tc", "nft"}:
            if shutil.which(tool, path=path) is None:
                missing.setdefault(tool, "set-up")
    # What is made already needs nothing more.
    for content in contents.missing(plans):
        for program in content.programs:
            if shutil.which(program, path=path) is None:
                missing.setdefault(program, content.about)
    if missing:
        names = ", ".join(f"{program} (for {item})" for program, item in missing.items())
        raise EngineError(
            f"not installed: {names}", remedy=f"{_installing(set(missing))}, or put it on your PATH"
        )


def _check_places(item: Command) -> None:
    """What a command names must be there for the guest too, which has directories of its own (SCRATCH in
    crates/agent/src/machine.rs)."""
    words = (*item.argv, *item.env.values())
    for file in item.files:
        own = next((place for place in GUESTS_OWN if file.path.startswith(f"{place}/")), None)
        if own is not None and any(file.path in word for word in words):
            raise EngineError(
                f"{item.id}: {file.path} lies below {own}, which a guest has of its own, and empty",
                remedy="put it elsewhere, or into the folder of a tool of your own",
            )


def _check_program(item: Command, path: Path) -> None:
    """A program that the distribution did not bring may be of another machine, or lack a library."""
    try:
        lacks = elf.lacks(path, {name: text for name, text in item.env.items() if name.startswith("LD_")})
    except OSError as error:
        raise EngineError(f"{item.id}: {path} cannot be read: {error.strerror}") from None
    if lacks is not None:
        raise EngineError(f"{item.id}: {path} {lacks.what}", remedy=lacks.remedy)


def _check_packages(item: Command) -> None:
    """A client from npm has its packages beside it."""
    for word in item.argv:
        folder = (PACKAGE / word.removeprefix(f"{IN_PACKAGE}/")).parent
        if (
            word.startswith(IN_PACKAGE)
            and (folder / "package.json").exists()
            and not (folder / "node_modules").is_dir()
        ):
            raise EngineError(
                f"the packages of {item.tool}'s own client are not there (for {item.id})",
                remedy=f"cd {folder} && npm ci",
            )


def _installing(missing: set[str]) -> str:
    """The commands that bring programs."""
    packages = sorted({PACKAGES.get(program, program) for program in missing - GO_PROGRAMS.keys()})
    commands = [f"apt-get install {' '.join(packages)}"] if packages else []
    commands += [f"go install {GO_PROGRAMS[program]}" for program in sorted(missing & GO_PROGRAMS.keys())]
    return " and ".join(commands)


class UmlEngine:
    """One kernel, one agent, as many guests as there are cores.

    `image` is another kernel than the one in use, `counts` where a kernel that counts its branches puts them.
    `for_others`: who wrote the plans need not be this user, whose files they cannot read. Plans that name a
    kernel are given to an engine of that one, which `serves` the name.
    """

    def __init__(
        self,
        image: kernel.KernelImage | None = None,
        counts: Path | None = None,
        serves: str | None = None,
        for_others: bool = False,
    ) -> None:
        self._kernel = image or kernel.find()
        self._counts = counts
        self._serves = serves
        self._for_others = for_others
        self._others: dict[str, UmlEngine] = {}
        self._agent, agent_id = agent_binary.find()
        self._path = guest_path(self._kernel.tools_dir)
        self.info = EngineInfo(
            name="uml",
            kernel_id=self._kernel.id,
            agent_id=agent_id,
            kernel={"path": str(self._kernel.path), "build": self._kernel.info},
            agent={"path": str(self._agent)},
        )

    def _on(self, plan: Plan) -> "UmlEngine":
        """The engine of the kernel that the plan asks for."""
        name = plan.machine.kernel
        if name is None or name == self._serves:
            return self
        if name not in self._others:
            self._others[name] = UmlEngine(kernel.named(name), serves=name, for_others=self._for_others)
        return self._others[name]

    def info_of(self, plan: Plan) -> EngineInfo:
        """The engine's facts with the kernel that the plan asks for."""
        return self._on(plan).info

    def check(self, plans: list[Plan]) -> None:
        """Kernel, tools and memory, before anything starts."""
        for other in {id(one): one for one in map(self._on, plans)}.values():
            if other is not self:
                other.check([plan for plan in plans if self._on(plan) is other])
        plans = [plan for plan in plans if self._on(plan) is self]
        if not os.access(self._kernel.path, os.X_OK):
            raise EngineError(f"{self._kernel.path} is not executable", remedy="narrows kernel build")
        lacking = set(self._kernel.info.get("without") or ())
        for kind in sorted({probe[0] for plan in plans for probe in plan.needs.qdiscs}):
            if f"CONFIG_NET_SCH_{kind.upper()}" in lacking:
                raise EngineError(
                    f"Linux {self._kernel.info['release']} has no {kind}",
                    remedy="--only, to choose runs without it, or a newer kernel (narrows kernel list)",
                )
        if any(plan.uplink is not None for plan in plans):
            raise EngineError(
                "live services need the Internet, and a guest in virtual time has none",
                remedy="--engine netns, as root; or --only, to choose runs without them",
            )
        check_tools(plans, self._path)
        need = max((self.memory_bytes(plan) for plan in plans), default=0)
        have = min(host.memory_available_bytes(), guest_disk.free_bytes())
        if need > have:
            raise EngineError(
                f"a guest needs {need / 2**20:.0f} MiB of memory, {have / 2**20:.0f} MiB are free",
                remedy="end other programs, or give machine(memory=…) a smaller value in the experiment",
            )
        guest_disk.sweep()

    def make(self, content: Content) -> None:
        contents.make(content, self._path, for_others=self._for_others)

    def memory_bytes(self, plan: Plan) -> int:
        """The guest's memory is taken as it is touched; this is the most it can become."""
        return plan.machine.memory_bytes + OVERHEAD_BYTES

    def slots(self, jobs: int | None) -> list[Slot]:
        """One per core that we may use; more would take turns on a core and gain nothing."""
        cpus = host.cpus()
        count = len(cpus) if jobs is None else jobs
        return [Slot(number, cpu) for number, cpu in enumerate(cores.choose(cpus, count))]

    def argv(self, plan: Plan, directory: Path, private: Path, *, mode: str = "guest") -> tuple[str, ...]:
        """The guest's command line; mode `shell` is in real time and has no tap."""
        words = [
            str(self._kernel.path),
            f"mem={plan.machine.memory_bytes // 1024}K",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            f"init={self._agent}",
            "seccomp=on",
            "con=null",
            "con0=fd:0,fd:1",
            "console=tty0",  # else the kernel puts it behind the --, as an argument of the agent
            "panic=1",
            "sysctl.vm.panic_on_oom=1",  # a run without one of its programs is none
            f"thash_entries={capacity.socket_table_entries(plan.traffic)}",
            f"random-seed={plan.seed}",
            f"hostfs-writable={directory}",
            f"uml_dir={private}/",
            "umid=guest",
        ]
        if self._kernel.tools_dir is not None:
            words.append(f"narrows_tools={self._kernel.tools_dir}")
        if own := own_places(plan, self._path):
            words.append(f"narrows_programs={':'.join(own)}")
        if mentions(plan, IN_PACKAGE):
            words.append(f"narrows_checkout={PACKAGE}")
        if plan.contents:
            words.append(f"narrows_content={contents.directory()}")
        if mode == "guest":
            words += ["time-travel=inf-cpu", f"time-travel-start={plan.wall_clock_ns}"]
            if any(hop.tap != "off" for hop in plan.hops):
                words.append(f"queue-tap={directory / layout.RAW / layout.TAP}")
            if plan.flow_tap is not None:
                words.append(f"flow-tap={directory / layout.RAW / layout.FLOW_TAP}")
            if plan.media:
                words.append(f"medium-tap={directory / layout.RAW / layout.MEDIA}")
            late = plan.machine.timer_latency
            if late is not None:
                words.append(f"timer-latency={late.min_ns},{late.max_ns},{plan.seed}")
        else:
            words.append("quiet")
        words += ["--", mode, str(directory)]
        return (*words[:1], _padding(words[1:]), *words[1:])

    def job(
        self, plan: Plan, directory: Path, private: Path, cpu: int | None, *, mode: str = "guest"
    ) -> process.Job:
        """The process to start, with what it may write."""
        if (other := self._on(plan)) is not self:
            return other.job(plan, directory, private, cpu, mode=mode)
        package = [PACKAGE] if mentions(plan, IN_PACKAGE) else []
        package += [contents.directory()] if plan.contents else []
        counts = () if self._counts is None else (str(self._counts),)
        for path in (directory, self._agent, self._kernel.path, *package):
            if set(str(path)) & set(" \t\"'"):
                raise EngineError(
                    f"the path {path} holds a space or a quote, which a kernel's command line cannot",
                    remedy="use another directory: --out DIR, NARROWS_CACHE, NARROWS_AGENT",
                )
        return process.Job(
            argv=self.argv(plan, directory, private, mode=mode),
            env={
                "PATH": self._path,
                "HOME": str(private),
                "TMPDIR": str(private),
                "TERM": "dumb",
                "LANG": "C",
                **({} if self._counts is None else {"GCOV_PREFIX": str(self._counts)}),
            },
            cwd=directory,
            cpu=cpu,
            writable_dirs=(str(directory), str(private), *counts),
            writable_files=guest_disk.DEVICES,
            readable=self._readable(plan) if self._for_others else None,
            clock_at=elf.symbol(self._kernel.path, CLOCK) if mode == "guest" else None,
        )

    def _readable(self, plan: Plan) -> tuple[str | readable.Seen, ...]:
        """What of the host a plan may read that another has written."""
        own = [str(path) for path in (self._kernel.path, self._kernel.tools_dir, self._agent) if path]
        own += [str(PACKAGE)] if mentions(plan, IN_PACKAGE) else []
        own += [str(contents.directory() / content.id) for content in plan.contents]
        own += own_places(plan, self._path)
        return (*readable.SYSTEM, *own, *readable.declared(plan))

    def run(self, request: RunRequest) -> Carried:
        """One guest from boot to power-off."""
        if (other := self._on(request.plan)) is not self:
            return other.run(request)
        plan, directory = request.plan, request.directory.resolve()
        (directory / layout.RAW).mkdir(exist_ok=True)
        modules.place(plan, directory)
        own_tools.place(plan, directory)
        contents.place(plan, directory)
        with guest_disk.private_dir() as private:
            job = self.job(plan, directory, private, request.slot.cpu)
            ended = process.carry(
                job, directory / layout.CONSOLE, request.limits, request.stop, request.progress
            )
        version = landlock.abi()
        return Carried(
            error=fault(ended, directory, request.limits),
            wall_s=ended.wall_s,
            cpu=request.slot.cpu,
            max_rss_bytes=ended.max_rss_bytes,
            cpu_s=ended.cpu_s,
            isolation={
                "landlock_abi": version,
                "landlock": "on"
                if version
                else "this kernel has none; the guest kernel's hostfs-writable= holds",
                "seccomp": "no change of files' mode, owner, times or attributes; no device nodes, no set-id",
                "writable": ["the run's directory", "a private directory for memory and sockets", "devices"],
                "readable": "the system's directories, narrows, what the plan declares"
                if version and self._for_others
                else "what its user can read",
                "root": "read-only hostfs",
                "core_dumps": "off",
            },
        )

    def shell(self, plan: Plan, directory: Path) -> int:
        """The topology in real time with a shell on this terminal; returns its exit status."""
        (directory / layout.RAW).mkdir(exist_ok=True)
        modules.place(plan, directory)
        own_tools.place(plan, directory)
        contents.place(plan, directory)
        with guest_disk.private_dir() as private:
            job = self.job(plan, directory, private, host.cpus()[0], mode="shell")
            job.env["TERM"] = os.environ.get("TERM", "dumb")
            done = subprocess.run(
                process.launcher_argv(job, new_session=False), cwd=job.cwd, env={}, check=False
            )
        return done.returncode


def fault(ended: process.Ended, directory: Path, limits: Limits) -> RunFault | None:
    """What went wrong outside, None if the agent left its result."""
    tail = "\n".join(ended.tail)
    at = (
        "before its first sign of life"
        if ended.last_t_ns is None
        else f"at t = {ended.last_t_ns / 1e9:.3f} s"
    )
    if ended.last_note:
        at += f", while these ran: {ended.last_note}"
    if ended.reason == "stopped":
        return RunFault("stopped", "interrupted")
    if ended.reason == "wall":
        return RunFault(
            "watchdog", f"took longer than {limits.wall_s:.0f} s of wall time, ended {at}", stderr=tail
        )
    if ended.reason == "stall":
        return RunFault(
            "watchdog",
            f"hung: no progress in virtual time for {limits.stall_s:.0f} s, ended {at}",
            stderr=tail,
        )
    if (directory / layout.RAW / layout.RESULT).exists():
        return None
    status = ended.exit_code
    how = f"killed by signal {-status}" if status is not None and status < 0 else f"exit status {status}"
    said = console.panic(directory) or next(
        (line for line in reversed(ended.tail) if line.strip()), "nothing on its console"
    )
    return RunFault(
        "guest", f"ended without a result ({how}) {at}: {said.strip()}", stderr=tail, exit_code=status
    )
