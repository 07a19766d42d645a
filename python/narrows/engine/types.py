"""What engines, the runner and the store say to each other. Data only."""

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from narrows.errors import EngineError
from narrows.plan.identity import run_id
from narrows.plan.items import Content
from narrows.plan.model import Plan


@dataclass(frozen=True)
class Progress:
    """A line `@narrows {…}` of the agent."""

    t_ns: int
    phase: str
    note: str


@dataclass(frozen=True)
class Slot:
    """A place for one guest at a time: the core that it is pinned to."""

    number: int
    cpu: int | None
    """None: not pinned."""


@dataclass(frozen=True)
class EngineInfo:
    """What carried a run out; `kernel_id` and `agent_id` are part of the run's id."""

    name: str
    kernel_id: str
    agent_id: str
    kernel: dict[str, Any] = field(default_factory=dict)
    agent: dict[str, Any] = field(default_factory=dict)
    has_tap: bool = True
    """Whether the taps that a plan asks for are always there: then a run without them does not count. Engine
    `netns` has a queue tap where the host allows it, and never a flow tap.
    """
    has_own_links: bool = True
    """Whether links carry packets of the run alone: a real interface counts those of others too, and late."""


@dataclass(frozen=True)
class Limits:
    """When a guest counts as hung, in wall time; while narrows itself was paused no time passes."""

    wall_s: float = 6 * 3600.0
    stall_s: float = 60.0
    """No progress in virtual time for this long, not counting what it waited for a processor. A guest under
    heavy load still moves; one that loops does not.
    """


@dataclass(frozen=True)
class Carried:
    """How a run went, seen from outside. `error` is None if the agent left a whole result."""

    error: "RunFault | None"
    wall_s: float
    cpu: int | None = None
    max_rss_bytes: int | None = None
    cpu_s: float | None = None
    isolation: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def nothing(cls, stage: str, why: str) -> "Carried":
        """No guest was started."""
        return cls(RunFault(stage, why), 0.0)


REASON_FIRST = ("tc ", "ip ")


@dataclass(frozen=True)
class RunFault:
    """Why a run failed, in one line, with what helps to see the cause."""

    stage: str
    message: str
    node: str | None = None
    item: str | None = None
    command: str | None = None
    stderr: str | None = None
    exit_code: int | None = None

    def line(self) -> str:
        where = "/".join(part for part in (self.node, self.item) if part)
        return f"{self.stage}: {where}: {self.why()}" if where else f"{self.stage}: {self.why()}"

    def why(self) -> str:
        """The same without the place: what failed, the command, and what that said."""
        text = self.message
        if self.command and self.command not in text:
            text += f" ({self.command})"
        # A console's last lines are in the message already where they say something.
        said = [] if self.stage in ("guest", "watchdog") else (self.stderr or "").strip().splitlines()
        if not said:
            return text
        # iproute2 gives its reason first, and then its usage; programs end with it.
        reason = said[0] if (self.command or "").startswith(REASON_FIRST) else _reason(said)
        return f"{text}: {reason}" if reason not in text else text


def _reason(said: Sequence[str]) -> str:
    """What a program ended with, and where, if that is an exception of Python or of Node (which adds its
    version)."""
    if said[-1].startswith("Node.js v"):
        error = next((line for line in said if re.match(r"\w*Error\b", line)), said[0])
        place = re.fullmatch(r"(?:file://)?(/\S+:\d+)", said[0])
        return f"{place[1]}: {error}" if place else error
    places = [match for line in said if (match := re.match(r'\s*File "(.+)", line (\d+)', line))]
    return f"{places[-1][1]}:{places[-1][2]}: {said[-1]}" if places else said[-1]


@dataclass(frozen=True)
class RunFacts:
    """What the store needs to know of a run besides its raw files."""

    run_id: str
    engine: EngineInfo
    carried: Carried


@dataclass(frozen=True)
class Finished:
    """What became of a run after its raw files were read."""

    error: RunFault | None
    virtual_s: float | None
    warnings: tuple[str, ...] = ()


ProgressSink = Callable[[Progress], None]


@dataclass(frozen=True)
class RunRequest:
    plan: Plan
    directory: Path
    """Holds plan.json; raw files go to `directory/raw`."""
    slot: Slot = Slot(0, None)
    limits: Limits = field(default_factory=Limits)
    stop: threading.Event = field(default_factory=threading.Event)
    """Set: the run is to end at once."""
    progress: ProgressSink = lambda _: None


Finish = Callable[[Path, RunFacts], Finished]
"""Turns the raw files in a directory into tables and a manifest (the store's part)."""


class OneKernel:
    """An engine whose plans all meet one kernel."""

    info: EngineInfo

    def info_of(self, plan: Plan) -> EngineInfo:
        """Kernel and agent; EngineError for a plan that asks for a kernel of its own."""
        if plan.machine.kernel is not None:
            raise EngineError(
                f"machine(kernel={plan.machine.kernel!r}) is for guests of this machine; engine "
                f"{self.info.name} has one kernel",
                remedy="use --engine uml without --cluster, or leave kernel out",
            )
        return self.info

    def memory_bytes(self, plan: Plan) -> int:
        """Nothing of this machine that is known beforehand: no guest of it carries the runs."""
        return 0


def run_id_on(engine: "Engine", plan: Plan) -> str:
    info = engine.info_of(plan)
    return run_id(plan, kernel=info.kernel_id, agent=info.agent_id)


class Engine(Protocol):
    """Carries one plan to a kernel and brings raw files back."""

    @property
    def info(self) -> EngineInfo:
        """Kernel and agent that it will use."""
        ...

    def info_of(self, plan: Plan) -> EngineInfo:
        """The same for a plan, which may ask for another kernel by its name. KernelError if it is not there;
        EngineError where there is one kernel only."""
        ...

    def check(self, plans: list[Plan]) -> None:
        """Refuse, with the remedy, what this machine cannot do. Nothing has been started then."""
        ...

    def make(self, content: Content) -> None:
        """Make content that a plan needs, if it is not there."""
        ...

    def memory_bytes(self, plan: Plan) -> int:
        """Host memory that one run of the plan may take."""
        ...

    def slots(self, jobs: int | None) -> list[Slot]:
        """Places for guests; None: as many as make sense here."""
        ...

    def run(self, request: RunRequest) -> Carried:
        """Run the plan in its directory."""
        ...
