"""`raw/result.json`, which the agent writes last: its shape, and how it is read.

The agent's own is crates/agent/src/result.rs; tests/unit/test_one_schema.py holds the two against each other.
Fields that another agent adds are kept (they go into the manifest); what may be missing has a default.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from narrows.engine.types import RunFault
from narrows.errors import StoreError

LIMIT_REMEDY = " → a longer time_limit for the item if it only needs more time, or stop= if it may never end"
"""The agent knows the run's limit, which follows from the items' `time_limit`s, and not these."""


class _Open(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class AgentError(_Open):
    stage: str
    message: str
    node: str | None = None
    item: str | None = None
    command: str | None = None
    stderr: str | None = None
    exit_code: int | None = None

    def fault(self) -> RunFault:
        """As the rest of narrows speaks of it."""
        message = self.message + LIMIT_REMEDY if self.stage == "limit" else self.message
        return RunFault(self.stage, message, self.node, self.item, self.command, self.stderr, self.exit_code)


class ItemOutcome(_Open):
    status: str
    start_ns: int | None = None
    end_ns: int | None = None
    exit_code: int | None = None
    details: dict[str, Any] | None = None


class CalibrationResult(_Open):
    rtt_min_ns: int | None = None
    rtt_median_ns: int | None = None
    rtt_samples: int | None = None
    one_way_down_ns: int | None = None
    one_way_up_ns: int | None = None
    rate_down_bps: float | None = None
    rate_up_bps: float | None = None
    burst_down_bytes: int | None = None
    """What passed faster than the rate before a queue stood: the token bucket's depth, roughly."""
    burst_up_bytes: int | None = None
    ok: bool
    problems: tuple[str, ...] = ()
    quiet_ns: int | None = None
    """From this t on nothing of calibration is left in queues, and buckets are full again."""


class TapTotals(_Open):
    arrived_packets: int
    arrived_bytes: int
    departed_packets: int
    departed_bytes: int
    dropped_packets: int
    dropped_bytes: int
    marked_packets: int | None
    """None: this tap sees no marks."""
    queued_packets: int
    queued_bytes: int


class HopResult(_Open):
    hop: str
    direction: str
    node: str
    iface: str
    tap: TapTotals | None
    tap_note: str | None = None
    """Why there is none."""


class HostTap(_Open):
    events: int
    """Trace events that were read."""


class MediumTotals(_Open):
    """What a medium was given from t = 0 on, and what became of it."""

    direction: str
    entered_packets: int
    entered_bytes: int
    arrived_packets: int
    arrived_bytes: int
    lost_packets: int
    lost_bytes: int
    held_packets: int
    turns: int


class SettledMetric(_Open):
    metric: str
    of: str | None
    """The CCA of a share."""
    value: float | None
    moved: float | None
    """Largest less smallest value of the last window over the last value; None: the record is shorter."""


class UntilSettled(_Open):
    """How the rule `until_settled` ended."""

    reason: Literal["settled", "limit"] | None
    at_ns: int | None
    samples: int
    metrics: tuple[SettledMetric, ...]


class AgentResult(_Open):
    format: Literal[1]
    status: Literal["ok", "failed"]
    error: AgentError | None
    kernel: str | None = None
    tools: dict[str, Any] = {}
    epoch_monotonic_ns: int | None = None
    wall_epoch_ns: int | None = None
    """CLOCK_REALTIME at t = 0; None: the plan's, as in a guest."""
    end_ns: int | None = None
    items: dict[str, ItemOutcome] = {}
    captures: dict[str, Any] = {}
    """Packets and drops of each."""
    calibration: CalibrationResult | None = None
    sysctls: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    """What the kernel keeps of what was set up, by node and interface."""
    tc_before: dict[str, Any] = {}
    tc_after: dict[str, Any] = {}
    links_before: dict[str, Any] = {}
    links_after: dict[str, Any] = {}
    ip_before: dict[str, dict[str, int]] = {}
    """IPv4 counters by node; empty from an agent that did not look."""
    ip_after: dict[str, dict[str, int]] = {}
    hops: tuple[HopResult, ...] = ()
    host_tap: HostTap | None = None
    flow_tap: dict[str, int] | None = None
    media: tuple[MediumTotals, ...] = ()
    """Each medium's of the plan, in its order."""
    until_settled: UntilSettled | None = None


def read(path: Path) -> AgentResult:
    """Read result.json; a missing or broken one is an error."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise StoreError(
            "the agent left no result", remedy="see console.log in the run's directory"
        ) from None
    except OSError as error:
        raise StoreError(f"the agent's result cannot be read: {error.strerror}") from None
    try:
        return AgentResult.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(str(part) for part in first["loc"])
        raise StoreError(
            f"the agent's result does not fit: {at or 'document'}: {first['msg']}",
            remedy="agent and narrows are of different versions: build the agent again",
        ) from None
