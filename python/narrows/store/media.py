"""Reads `media.bin` (docs/links.md): what became of each packet below a queue, and whether that is
what the plan's schedule says. A turn at another time, or with more than it may carry, fails the run.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from narrows.errors import StoreError
from narrows.headers import ETHERNET_HEADER_BYTES
from narrows.media.schedule import decoded
from narrows.plan.model import Medium, Plan
from narrows.store import schema
from narrows.store.agent_result import AgentResult, MediumTotals

DTYPE = np.dtype(
    [
        ("entered_ns", "<u8"), ("sent_ns", "<u8"), ("left_ns", "<u8"), ("turn", "<u4"), ("bytes", "<u2"),
        ("medium", "u1"), ("outcome_tries", "u1"),
    ]
)  # fmt: skip
SPIN_NS = 1000
"""What a clock read may cost a program that reads on and on; no timer goes off in it (patches/lab/0002)."""
ARRIVED, LOST, HELD = 1, 2, 3
OUTCOMES = {ARRIVED: "arrived", LOST: "lost", HELD: "held"}
Records = NDArray[Any]
Columns = dict[str, NDArray[np.int64]]


def read(path: Path) -> Records:
    """All records, in the order in which packets left."""
    data = path.read_bytes() if path.exists() else b""
    if len(data) % DTYPE.itemsize:
        raise StoreError(f"{len(data)} bytes are no whole records of {DTYPE.itemsize}", where=str(path))
    return np.frombuffer(data, DTYPE)


def table(run_id: str, plan: Plan, records: Records, epoch_ns: int) -> pl.DataFrame:
    """The table `media`: times are those of the run; of what is held, when it was looked."""
    names = np.array([each.direction for each in plan.media])
    frame = pl.DataFrame(
        {
            "direction": names[records["medium"]],
            "entered_ns": records["entered_ns"].astype(np.int64) - epoch_ns,
            "sent_ns": records["sent_ns"].astype(np.int64) - epoch_ns,
            "left_ns": records["left_ns"].astype(np.int64) - epoch_ns,
            "turn": records["turn"],
            "bytes": records["bytes"],
            "tries": records["outcome_tries"] >> 2,
            "outcome": [OUTCOMES[int(each) & 3] for each in records["outcome_tries"]],
        }
    )
    was_sent = pl.col("tries") > 0
    return schema.conform(
        frame.with_columns(*(pl.when(was_sent).then(name).alias(name) for name in ("sent_ns", "turn"))),
        "media",
        {"run_id": run_id},
    )


def problems(plan: Plan, result: AgentResult, records: Records, departed: dict[str, int]) -> list[str]:
    """A line for each way in which the packets are not what the schedule says. `departed`: how many packets
    left the queue of a direction since t = 0, where that was counted."""
    assert result.epoch_monotonic_ns is not None
    found: list[str] = []
    timers = plan.machine.timer_latency
    most_late_ns = SPIN_NS + (timers.max_ns if timers is not None else 0)
    if len(result.media) != len(plan.media):
        return [f"{len(result.media)} media have totals, and the plan has {len(plan.media)}"]
    for number, (medium, totals) in enumerate(zip(plan.media, result.media, strict=True)):
        own = records[records["medium"] == number]
        lines = _counts(own, totals)
        if medium.direction in departed and departed[medium.direction] != totals.entered_packets:
            lines.append(
                f"{totals.entered_packets} packets entered, {departed[medium.direction]} left the queue above"
            )
        lines += lines or _turns(medium, own, result.epoch_monotonic_ns, most_late_ns)
        found += [f"medium {medium.direction}: {line}" for line in dict.fromkeys(lines)]
    return found


def _counts(own: Records, totals: MediumTotals) -> list[str]:
    outcome = own["outcome_tries"] & 3
    made = {
        "arrived": (totals.arrived_packets, int(np.count_nonzero(outcome == ARRIVED))),
        "lost": (totals.lost_packets, int(np.count_nonzero(outcome == LOST))),
        "held": (totals.held_packets, int(np.count_nonzero(outcome == HELD))),
        "entered": (totals.entered_packets, own.size),
        "entered (bytes)": (totals.entered_bytes, int(own["bytes"].sum(dtype=np.int64))),
    }
    return [f"{name}: {said} by its totals, {seen} in records" for name, (said, seen) in made.items()
            if said != seen]  # fmt: skip


def _turns(medium: Medium, own: Records, epoch_ns: int, most_late_ns: int) -> list[str]:
    """Times, sizes and order against the schedule, exactly; a timer may be as late as the machine's are."""
    turns = decoded(medium.unit_ns, medium.turns)
    sent = own[(own["outcome_tries"] >> 2 > 0) & (own["outcome_tries"] & 3 != HELD)]
    columns: Columns = {
        name: np.array([getattr(turn, name) for turn in turns], dtype=np.int64)
        for name in ("wait_ns", "bytes", "hold_ns", "packets")
    }
    lines = _passed_over(medium, own, columns, epoch_ns, most_late_ns)
    if not sent.size:
        return lines
    place = sent["turn"].astype(np.int64) % len(turns)
    if not medium.by_demand:
        offsets = np.cumsum(columns["wait_ns"])
        at = epoch_ns + offsets[place] + sent["turn"].astype(np.int64) // len(turns) * medium.repeat_ns
        late_ns = sent["sent_ns"].astype(np.int64) - at
        if wrong := int(np.count_nonzero((late_ns < 0) | (late_ns > most_late_ns))):
            lines.append(f"{wrong} packets were not sent at the time of their turn")
        early = int(np.count_nonzero(sent["left_ns"].astype(np.int64) < at + _hold(sent, columns, place)))
        if early:
            lines.append(f"{early} packets arrived before the schedule lets them")
    # What was tried in a turn and sent again is in its last turn, and a part of a packet in that of its end.
    numbers, group = np.unique(sent["turn"], return_inverse=True)
    counted = _counted(medium, sent)
    carried = np.bincount(group, weights=counted).astype(np.int64)
    packets = np.bincount(group)
    may = columns["bytes"][numbers.astype(np.int64) % len(turns)]
    if medium.splits:
        may = may + np.where(may > 0, int(counted.max()) - 1, 0)
    most = columns["packets"][numbers.astype(np.int64) % len(turns)]
    over = int(np.count_nonzero((carried > may) | ((most > 0) & (packets > most))))
    if over:
        lines.append(f"{over} turns carried more than they may")
    arrived = own[own["outcome_tries"] & 3 == ARRIVED]
    if np.any(np.diff(arrived["entered_ns"].astype(np.int64)) < 0):
        lines.append("packets arrived in another order than they came in")
    return lines


def _counted(medium: Medium, packets: Records) -> NDArray[np.int64]:
    """What turns count of each packet."""
    return np.maximum(packets["bytes"].astype(np.int64) + medium.overhead_bytes - ETHERNET_HEADER_BYTES, 1)


def _passed_over(
    medium: Medium, own: Records, columns: Columns, epoch_ns: int, most_late_ns: int
) -> list[str]:
    """Whether the first packet that still waits let turns pass that would have carried it. Turns by demand
    and grants depend on more than the schedule."""
    was_sent = own["outcome_tries"] >> 2 > 0
    waiting = own[~was_sent & (own["outcome_tries"] & 3 == HELD)]
    if medium.by_demand or medium.grant_turns or not waiting.size:
        return []
    first = waiting[[int(np.argmin(waiting["entered_ns"]))]]
    need = int(_counted(medium, first)[0])
    carries = columns["bytes"] if medium.splits else (columns["bytes"] >= need).astype(np.int64)
    before = np.concatenate([[0], np.cumsum(carries)])
    offsets = np.cumsum(columns["wait_ns"])

    def until(at_ns: int) -> int:
        since_ns = max(at_ns - epoch_ns, 0)
        rounds, rest_ns = divmod(since_ns, medium.repeat_ns) if medium.repeat_ns else (0, since_ns)
        return rounds * int(before[-1]) + int(before[np.searchsorted(offsets, rest_ns, side="right")])

    since_ns = max(int(first["entered_ns"][0]), int(own["sent_ns"][was_sent].max(initial=0)))
    passed = until(int(first["left_ns"][0]) - most_late_ns) - until(since_ns)
    if passed < (need if medium.splits else 1):
        return []
    return [f"a packet of {int(first['bytes'][0])} bytes still waits, and turns that would carry it passed"]


def _hold(sent: Records, columns: Columns, place: NDArray[np.int64]) -> NDArray[np.int64]:
    """How long after its turn each packet may arrive at the earliest; of a lost one nothing arrives."""
    held: NDArray[np.int64] = np.where(sent["outcome_tries"] & 3 == ARRIVED, columns["hold_ns"][place], 0)
    return held
