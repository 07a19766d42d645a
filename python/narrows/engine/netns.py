"""Engine `netns`: the same agent in network namespaces of this host, in real time, as root.

Refuses, naming each, what this kernel lacks. The tap is made of trace events, where the host has them, and is
NULL with its reason otherwise; there is no flow tap. The machine's other load is in the numbers: results
agree with `uml` only within a tolerance, and never to the bit.
"""

import os
import platform
import shutil
import signal
import subprocess
from pathlib import Path

from narrows.engine import agent_binary, contents, layout, own_tools, process, uplink
from narrows.engine.types import Carried, EngineInfo, OneKernel, RunRequest, Slot
from narrows.engine.uml import PACKAGE, check_tools, fault, guest_path
from narrows.errors import EngineError
from narrows.plan.items import Content, TcpBulk
from narrows.plan.model import Plan

Probe = tuple[str, ...]


def ccas(plan: Plan) -> set[str]:
    """All congestion control algorithms that the plan names."""
    bulk = {item.cca for item in plan.traffic if isinstance(item, TcpBulk) and item.cca}
    return bulk | set(plan.needs.default_ccas)


def lacking_qdiscs(probes: set[Probe], path: str) -> dict[str, str]:
    """Kind → what `tc` says, of those that this kernel refuses. Tries each in a namespace of its own."""
    lacking = {}
    for probe in sorted(probes):
        where = () if probe[0] in ("ingress", "clsact") else ("root",)
        done = subprocess.run(
            ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", *where, *probe],
            capture_output=True, text=True, env={"PATH": path}, check=False,
        )  # fmt: skip
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            lacking[probe[0]] = said[0]
    return lacking


def lacking_ccas(wanted: set[str]) -> set[str]:
    """Those that this kernel neither has nor can load."""
    file = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    for name in wanted - set(file.read_text().split()):
        if shutil.which("modprobe"):
            subprocess.run(["modprobe", "-q", f"tcp_{name}"], capture_output=True, check=False)
    return wanted - set(file.read_text().split())


def forbidden_ccas(wanted: set[str]) -> set[str]:
    """Those that this host has but lets no namespace take as its default."""
    return wanted - set(Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text().split())


class NetnsEngine(OneKernel):
    """This host's kernel; one run at a time, since runs would disturb each other."""

    def __init__(self) -> None:
        self._agent, agent_id = agent_binary.find()
        self._path = guest_path(None)
        release = platform.uname()
        self.info = EngineInfo(
            name="netns",
            kernel_id=f"host {release.release} {release.version}",
            agent_id=agent_id,
            kernel={"path": None},
            agent={"path": str(self._agent)},
            has_tap=False,
        )

    def check(self, plans: list[Plan]) -> None:
        """Root, and everything that the plans need of this kernel."""
        if os.geteuid() != 0:
            raise EngineError(
                "the engine netns makes network namespaces and needs root",
                remedy="use --engine uml, which needs none, or run it as root",
            )
        if any(plan.machine.timer_latency is not None for plan in plans):
            raise EngineError(
                "timer_latency is a knob of the virtual machine; this host's timers are as they are",
                remedy="use --engine uml, or leave timer_latency out",
            )
        if any(plan.media for plan in plans):
            raise EngineError(
                "a medium is a device of narrows' own kernel, and this host's has none",
                remedy="use --engine uml, or a rate instead of the medium",
            )
        if any(plan.machine.modules for plan in plans):
            raise EngineError(
                "modules are built for narrows' own kernel; this host's kernel would not take them",
                remedy="use --engine uml, or leave modules out and load your own build with modprobe",
            )
        if shutil.which("unshare", path=self._path) is None:
            raise EngineError("unshare is not installed", remedy="apt-get install util-linux")
        check_tools(plans, self._path)
        faults = []
        lacking = lacking_qdiscs({probe for plan in plans for probe in plan.needs.qdiscs}, self._path)
        if lacking:
            kinds = "; ".join(f"{kind} ({said})" for kind, said in lacking.items())
            faults.append(f"this kernel ({platform.release()}) does not do these qdiscs: {kinds}")
        if missing := lacking_ccas(set().union(*(ccas(plan) for plan in plans))):
            faults.append(f"this kernel lacks the congestion control {', '.join(sorted(missing))}")
        forbidden = forbidden_ccas({cca for plan in plans for cca in plan.needs.default_ccas} - missing)
        if forbidden:
            names = ", ".join(sorted(forbidden))
            faults.append(
                f"this host lets no namespace use {names} by default (add it to the sysctl "
                'net.ipv4.tcp_allowed_congestion_control, or give the link sysctls={"all": '
                '{"net.ipv4.tcp_congestion_control": "reno"}})'
            )
        if faults:
            raise EngineError(
                "; ".join(faults),
                remedy="use --engine uml, whose kernel has them all, or --only to choose runs without them",
            )

    def make(self, content: Content) -> None:
        contents.make(content, self._path)

    def slots(self, jobs: int | None) -> list[Slot]:
        if jobs is not None and jobs > 1:
            raise EngineError(
                "the engine netns makes one run at a time: in real time, runs would disturb each other",
                remedy="--jobs 1, or --engine uml",
            )
        return [Slot(0, None)]

    def run(self, request: RunRequest) -> Carried:
        """One run, in about as long as its virtual time."""
        plan, directory = request.plan, request.directory.resolve()
        (directory / layout.RAW).mkdir(exist_ok=True)
        own_tools.place(plan, directory)
        contents.place(plan, directory)
        job = process.Job(
            argv=(str(self._agent), "host", str(directory)),
            env={
                "PATH": self._path,
                "HOME": str(directory),
                "LANG": "C",
                "narrows_checkout": str(PACKAGE),
                "narrows_content": str(contents.directory()),
            },
            cwd=directory,
            cpu=None,
            writable_dirs=(),  # it configures this host's namespaces: root is what it needs
            writable_files=(),
            stop_signal=signal.SIGTERM,  # it removes its namespaces and its tracefs instance
        )
        with uplink.opened(plan.uplink, self._path):
            ended = process.carry(
                job, directory / layout.CONSOLE, request.limits, request.stop, request.progress
            )
        return Carried(
            error=fault(ended, directory, request.limits),
            wall_s=ended.wall_s,
            max_rss_bytes=ended.max_rss_bytes,
            cpu_s=ended.cpu_s,
            isolation={"landlock_abi": None, "landlock": "off: the agent works on this host as root"},
        )
