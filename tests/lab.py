"""What the integration tests share: small experiment files, runs on the real engine, the command line.

It is one file because tests import it under one name. Nothing here knows what a test asserts. Guests are real
ones: virtual time is short, rates are low.
"""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrows.engine import layout
from narrows.engine.runner import Runner
from narrows.engine.types import Carried, Engine, Finished, Limits, RunFacts, RunRequest, Slot
from narrows.engine.uml import UmlEngine
from narrows.plan.build import plan_file
from narrows.plan.identity import run_id
from narrows.plan.model import Plan

CHECKOUT = Path(__file__).resolve().parents[1]
NARROWS = Path(sys.executable).with_name("narrows")
"""The console script of the environment that the tests run in."""

WORDS = "from narrows.spec import *\n"
LIMITS = Limits(wall_s=240, stall_s=120)

SMALL = """
link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=fq_codel())
flow = bulk(cca="cubic", duration="1 s")
"""
"""About a thousand packets: a guest of about a second."""


def experiment(directory: Path, text: str, name: str = "tiny") -> Path:
    """An experiment file with a question and the words of the spec; returns its path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.py"
    path.write_text(f'"""Does it hold?"""\n{WORDS}{textwrap.dedent(text)}')
    return path


def plans(directory: Path, text: str, name: str = "tiny") -> tuple[Plan, ...]:
    """The plans of such an experiment."""
    return plan_file(experiment(directory, text, name)).plans


def plan(directory: Path, text: str, name: str = "tiny") -> Plan:
    """The plan of an experiment of one run."""
    (one,) = plans(directory, text, name)
    return one


def edited(original: Plan, **changes: Any) -> Plan:
    """The plan with other values: `{"calibration": {"rtt_ns": 1}}` changes that alone."""

    def merged(old: Any, new: Any) -> Any:
        if isinstance(old, dict) and isinstance(new, dict):
            return old | {key: merged(old.get(key), value) for key, value in new.items()}
        return new

    return Plan.from_json(json.dumps(merged(original.to_dict(), changes)))


# ---- the engine alone: raw files are kept as the guest left them ------------------------------------------


@dataclass(frozen=True)
class Raw:
    """What one guest left."""

    directory: Path
    carried: Carried

    @property
    def raw(self) -> Path:
        return self.directory / layout.RAW

    @property
    def result(self) -> dict[str, Any]:
        """The agent's result.json."""
        value: dict[str, Any] = json.loads((self.raw / layout.RESULT).read_bytes())
        return value

    @property
    def console(self) -> str:
        return (self.directory / layout.CONSOLE).read_text(errors="replace")

    def bytes_of(self, name: str) -> bytes:
        """A raw file, which must not be empty: nothing equals nothing."""
        content = (self.raw / name).read_bytes()
        assert content, f"{name} is empty"
        return content

    def ok(self) -> Raw:
        """Itself, if the run went well."""
        assert self.carried.error is None, f"{self.carried.error}\n{self.console}"
        assert self.result["status"] == "ok", json.dumps(self.result["error"], indent=1)
        return self


def carry(
    one: Plan,
    directory: Path,
    *,
    engine: Engine | None = None,
    cpu: int | None = None,
    limits: Limits = LIMITS,
) -> Raw:
    """Run a plan by the engine alone; `cpu` is the core to pin to, by default one of this worker's."""
    (directory / layout.RAW).mkdir(parents=True)
    (directory / layout.PLAN).write_text(one.to_json())
    engine = engine or UmlEngine()
    engine.check([one])
    if cpu is None:
        cpu = engine.slots(1)[0].cpu
    carried = engine.run(RunRequest(one, directory, Slot(0, cpu), limits))
    return Raw(directory, carried)


class WithWord(UmlEngine):
    """A guest with more words on its kernel's command line."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words = words.split()

    def argv(self, *arguments: Any, **named: Any) -> tuple[str, ...]:
        words = super().argv(*arguments, **named)
        at = words.index("--")
        return (*words[:at], *self.words, *words[at:])


def files(raw: Raw) -> dict[str, bytes]:
    """All that the guest left, the packets at the bottleneck, captures and counters among it."""
    found = {path.name: path.read_bytes() for path in sorted(raw.ok().raw.iterdir()) if path.is_file()}
    assert found["tap.bin"]
    return found


def facts(one: Plan, raw: Raw, engine: Engine) -> RunFacts:
    """What the store is told of a run beside its raw files."""
    info = engine.info
    return RunFacts(run_id(one, kernel=info.kernel_id, agent=info.agent_id), info, raw.carried)


# ---- the runner, in this process --------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """One run of the runner: where it lies and its manifest."""

    directory: Path
    manifest: dict[str, Any]

    def ok(self) -> Made:
        """Itself, if the run counts."""
        assert self.manifest["status"] == "ok", json.dumps(self.manifest["error"], indent=1)
        return self


class Refused(Exception):
    """A rig in real time failed its calibration: other work disturbed it, so it has no figures to compare."""


def make(
    many: tuple[Plan, ...] | list[Plan], out: Path, *, engine: Engine | None = None, jobs: int = 1
) -> list[Made]:
    """Take plans through the real runner and the real store; in the order of the plans."""
    from narrows.store.ingest import ingest

    runner = Runner(engine or UmlEngine(), many, out, ingest, jobs=jobs, limits=LIMITS)
    for _ in runner.run():
        pass
    found = []
    for one in runner.plans:
        places = (layout.run_dir(out, one), layout.failed_dir(out, one))
        place = next(p for p in places if (p / layout.MANIFEST).exists())
        found.append(Made(place, json.loads((place / layout.MANIFEST).read_bytes())))
    return found


def keep_raw(_: Path, facts: RunFacts) -> Finished:
    """Instead of the store: touch nothing."""
    return Finished(facts.carried.error, None)


# ---- the command line -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Called:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    def ok(self) -> Called:
        """Itself, if it went well."""
        assert self.code == 0, f"exit status {self.code}\n{self.text}"
        return self

    def failed(self, code: int | None = None) -> Called:
        """Itself, if it failed as a person can stand: no traceback, no defect."""
        assert self.code != 0, self.text
        assert code is None or self.code == code, f"exit status {self.code}, not {code}\n{self.text}"
        assert "Traceback" not in self.text, self.text
        assert "defect in narrows" not in self.text, self.text
        return self


def environment(**more: str | None) -> dict[str, str]:
    """Of a person's shell, without the test runner's own variables; None takes one out."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "COV"))}
    for key, value in more.items():
        env.pop(key, None)
        if value is not None:
            env[key] = value
    return env


def narrows(
    *words: str | Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 300,
    before: tuple[str, ...] = (),
) -> Called:
    """Call `narrows` as a person would; `before` goes in front, such as setpriv."""
    done = subprocess.run(
        [*before, str(NARROWS), *map(str, words)],
        cwd=cwd,
        env=dict(env) if env is not None else environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        check=False,
    )
    return Called(done.returncode, done.stdout, done.stderr)


def run_dirs(out: Path) -> list[Path]:
    """The directories of whole runs."""
    return sorted(
        p for p in out.iterdir() if p.is_dir() and not p.name.startswith(".") and layout.is_whole(p)
    )


def failed_dirs(out: Path) -> list[Path]:
    """The directories of failed attempts."""
    place = out / layout.FAILED
    return sorted(place.iterdir()) if place.is_dir() else []


def manifest(directory: Path) -> dict[str, Any]:
    """A run's manifest."""
    value: dict[str, Any] = json.loads((directory / layout.MANIFEST).read_bytes())
    return value


def message(directory: Path) -> str:
    """The one line that a failed run gives as its reason."""
    return str(manifest(directory)["error"]["line"])


# ---- modules ----------------------------------------------------------------------------------------------


def built_module(name: str, place: Path, source: Path = Path(__file__).parent / "modules") -> Path:
    """A module of tests/modules (or of `source`), built as kernel/README.md says."""
    from narrows.kernel import find

    folder = place / name
    shutil.copytree(source / name, folder, ignore=shutil.ignore_patterns("*.o", "*.ko", ".*"))
    words = ["make", "-C", str(find().tree), "ARCH=um", f"M={folder}", "modules"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = folder.glob("*.ko")
    return made


def symbol(name: str) -> str:
    """Where the kernel under test has it, in hexadecimal."""
    from narrows.kernel import find

    for line in (find().tree / "System.map").read_text().splitlines():
        address, _, found = line.split(maxsplit=2)
        if found.partition(".lto_priv.")[0] == name:  # what was linked as one has a number after it
            return f"0x{address}"
    raise AssertionError(f"the kernel has no {name}")


# ---- the machine ------------------------------------------------------------------------------------------


@contextmanager
def cores(chosen: set[int]) -> Iterator[None]:
    """Let this process (and its children) use other cores for a while."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, chosen)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def burners(on: set[int]) -> Iterator[None]:
    """Keep cores busy: two endless loops on each, so that a guest there gets a third."""
    loop = (
        "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\n"
        "while os.getppid() == int(sys.argv[2]): sum(range(10**5))"
    )
    own = str(os.getpid())
    children = [
        subprocess.Popen([sys.executable, "-c", loop, str(core), own]) for core in on for _ in range(2)
    ]
    try:
        yield
    finally:
        for child in children:
            child.kill()
        for child in children:
            child.wait()


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def rate_of_ip(rate_bps: float) -> float:
    """What a shaper's rate leaves to full IP packets: it counts 1514 bytes for 1500."""
    return rate_bps * 1500 / 1514


def agent_path() -> Path:
    """The agent's binary."""
    from narrows.engine import agent_binary

    return agent_binary.find()[0]


# ---- an ordinary user -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OrdinaryUser:
    """Calls narrows as a user without any right, who has a home directory and nothing else."""

    name: str
    home: Path
    before: tuple[str, ...]

    def env(self) -> dict[str, str]:
        """A login's environment; the kernel that was built is shared."""
        from narrows.kernel import find

        shown = {"HOME": str(self.home), "USER": self.name, "LOGNAME": self.name, "LANG": "C.UTF-8"}
        built = {"NARROWS_KERNEL": str(find().directory), "NARROWS_AGENT": str(agent_path())}
        return {"PATH": os.environ["PATH"], **shown, **built}

    def narrows(self, *words: str | Path) -> Called:
        """`narrows` as that user, at home."""
        return narrows(*words, cwd=self.home, env=self.env(), before=self.before)


def reachable_for_all(paths: list[Path], stash: Path) -> str:
    """Shell lines for a mount namespace of its own in which anybody reaches these directories.

    A directory below a closed one, such as root's home, is bound to where it is, over an empty directory in
    place of the closed one.
    """
    closed: dict[Path, Path] = {}
    for path in paths:
        shut = [p for p in path.parents if not p.stat().st_mode & 1]
        if shut and not any(path.is_relative_to(other) for other in closed):
            closed[path] = shut[-1]
    lines = ["set -e", f"mount -t tmpfs -o mode=755 none {stash}"]
    for number, path in enumerate(closed):
        lines += [f"mkdir {stash}/{number}", f"mount --rbind {shlex.quote(str(path))} {stash}/{number}"]
    lines += [
        f"mount -t tmpfs -o mode=755 none {shlex.quote(str(shut))}" for shut in sorted({*closed.values()})
    ]
    for number, path in enumerate(closed):
        where = shlex.quote(str(path))
        lines += [f"mkdir -p {where}", f"mount --rbind {stash}/{number} {where}"]
    return "\n".join(lines)


@contextmanager
def ordinary_user(base: Path, name: str = "nobody") -> Iterator[OrdinaryUser]:
    """Whoever runs the tests; for root another user of this machine, in a mount namespace of each command."""
    from narrows.kernel import find

    if os.geteuid() != 0:
        yield OrdinaryUser(pwd.getpwuid(os.geteuid()).pw_name, base, ())
        return
    needed = [CHECKOUT, Path(sys.prefix), Path(sys.base_prefix), find().directory, agent_path().parent]
    record = pwd.getpwnam(name)
    home = Path(tempfile.mkdtemp(prefix="narrows-user-"))
    stash = Path(tempfile.mkdtemp(prefix="narrows-stash-"))
    os.chown(home, record.pw_uid, record.pw_gid)
    ids = (
        f"--reuid={record.pw_uid} --regid={record.pw_gid} --clear-groups --inh-caps=-all --bounding-set=-all"
    )
    script = f'{reachable_for_all(needed, stash)}\ncd {home}\nexec setpriv {ids} -- "$@"'
    try:
        yield OrdinaryUser(name, home, ("unshare", "--mount", "sh", "-c", script, "sh"))
    finally:
        shutil.rmtree(home)
        stash.rmdir()
