"""What the runner tells while it works; the command line turns it into a view."""

from dataclasses import dataclass
from typing import Literal

from narrows.engine.types import Progress, RunFault, Slot
from narrows.plan.model import Plan


@dataclass(frozen=True)
class Planned:
    """The first event: how many runs there are and what is left to do."""

    total: int
    skipped: int
    reused: int
    to_do: int
    slots: int


@dataclass(frozen=True)
class Skipped:
    """A whole run was there already; `linked_from` names the directory it was linked from, if it was."""

    run_id: str
    plan: Plan
    linked_from: str | None


@dataclass(frozen=True)
class Making:
    """Content that runs need is being made, once, before the first of them."""

    about: str


@dataclass(frozen=True)
class Started:
    """A guest boots."""

    run_id: str
    plan: Plan
    slot: Slot


@dataclass(frozen=True)
class Moved:
    """A guest reports where it is."""

    run_id: str
    slot: Slot
    progress: Progress


@dataclass(frozen=True)
class Reading:
    """The guest is off; its raw files are being read."""

    run_id: str
    slot: Slot
    wall_s: float


@dataclass(frozen=True)
class Done:
    """A run is whole, or failed (`fault`)."""

    run_id: str
    plan: Plan
    slot: Slot
    status: Literal["ok", "failed"]
    fault: RunFault | None
    wall_s: float
    virtual_s: float | None
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Stopped:
    """A run was interrupted; nothing of it is kept."""

    run_id: str
    slot: Slot


Event = Planned | Skipped | Making | Started | Moved | Reading | Done | Stopped
