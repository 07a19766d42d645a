"""What a medium does, turn by turn, and its text in a plan.

Fixed turns are at times; what is not used of one is lost. Turns by demand come when something waits and the
air is free. A turn's bytes count IP packets, each with `overhead_bytes`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from narrows.units import NS_PER_S

MOST_BYTES = 2**31
"""The most bytes of one turn: more than a guest's link passes in a second."""
MOST_TURNS = 2_000_000
MOST_HOLD_NS = 2**32 - 1
NOT_KEPT = "not kept"
"""In the place of a schedule's text, in a plan that is kept without it."""
SCHEDULES_KEPT = 16
"""Schedules are kept: the conditions of an experiment share a few, which take half a second each to draw."""


class Turn(NamedTuple):
    """One transmit opportunity."""

    wait_ns: int
    """Since the turn before (the first: since the start); by demand: since the air is free."""
    bytes: int
    hold_ns: int = 0
    """Until what was sent arrives, beside its time on the air."""
    kbps: int = 0
    """By demand: how fast bytes pass the air; 0: in no time."""
    packets: int = 0
    """The most of them; 0: any number."""
    lost: int = 0
    """1: whatever is sent is lost."""
    fails: int = 0
    """Bit n: the n-th packet does not arrive and is sent again."""


@dataclass(frozen=True)
class Schedule:
    """The turns of one way. Plans that share one ask it for the same again, so what it takes time to say it
    says once."""

    turns: tuple[Turn, ...]
    repeat_ns: int
    """It begins again after this; by demand: any number but 0. 0: it ends."""
    by_demand: bool = False
    splits: bool = False
    overhead_bytes: int = 0
    retries: int = 0
    grant_turns: int = 0
    _means: dict[int, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def most_bytes(self) -> int:
        """Bytes of its largest turn."""
        return max(turn.bytes for turn in self.turns)

    @cached_property
    def text(self) -> tuple[int, str]:
        """Its turns as a plan has them."""
        return encoded(self.turns)

    def times(self, end_ns: int) -> Iterator[tuple[int, Turn]]:
        """When each fixed turn before `end_ns` is, repetitions included."""
        base_ns = 0
        while True:
            at_ns = base_ns
            for turn in self.turns:
                at_ns += turn.wait_ns
                if at_ns >= end_ns:
                    return
                yield at_ns, turn
            if not self.repeat_ns:
                return
            base_ns += self.repeat_ns

    def mean_bps(self, mtu_bytes: int) -> int:
        """What it could carry on average; by demand: of full packets, of which always some wait."""
        if mtu_bytes not in self._means:
            self._means[mtu_bytes] = self._mean_bps(mtu_bytes)
        return self._means[mtu_bytes]

    def _mean_bps(self, mtu_bytes: int) -> int:
        if not self.by_demand:
            carried = sum(turn.bytes for turn in self.turns if not turn.lost)
            length_ns = self.repeat_ns or sum(turn.wait_ns for turn in self.turns)
            return carried * 8 * NS_PER_S // max(length_ns, 1)
        full, arrived, length_ns = mtu_bytes + self.overhead_bytes, 0, 0
        for turn in self.turns:
            sent = full_packets(turn, full)
            arrived += sent - (turn.fails & ((1 << sent) - 1)).bit_count()
            length_ns += turn.wait_ns + air_ns(turn, sent * full)
        return arrived * full * 8 * NS_PER_S // max(length_ns, 1)


def full_packets(turn: Turn, full_bytes: int) -> int:
    """How many packets of so many bytes go in a turn, whole."""
    fitting = turn.bytes // full_bytes
    return min(fitting, turn.packets) if turn.packets else fitting


def air_ns(turn: Turn, sent_bytes: int) -> int:
    """How long a turn by demand takes the air, as the kernel reckons it."""
    return turn.hold_ns + (sent_bytes * 8 * 10**6 // turn.kbps if turn.kbps else 0)


def capacity_steps(schedule: Schedule, end_ns: int, bin_ns: int, mtu_bytes: int) -> list[tuple[int, int]]:
    """What it could carry over time: the start of each bin in which that changes, and bit/s from then on. By
    demand there is one, the mean where something always waits and nobody else of the plan has the air."""
    if schedule.by_demand:
        return [(0, schedule.mean_bps(mtu_bytes))]
    sums = [0] * -(-max(end_ns, 1) // bin_ns)
    for at_ns, turn in schedule.times(end_ns):
        sums[at_ns // bin_ns] += 0 if turn.lost else turn.bytes
    steps: list[tuple[int, int]] = []
    for n, carried in enumerate(sums):
        bps = carried * 8 * NS_PER_S // bin_ns
        if not steps or steps[-1][1] != bps:
            steps.append((n * bin_ns, bps))
    return steps


def encoded(turns: Sequence[Turn]) -> tuple[int, str]:
    """The unit of time in nanoseconds, and the turns as words: what is as in the turn before stands empty or,
    at the end, not at all; `*n` is n turns alike."""
    unit = math.gcd(*(t for turn in turns for t in (turn.wait_ns, turn.hold_ns))) or 1
    words, before = [], [0] * len(Turn._fields)
    for turn, alike in groupby(turns):
        fields = [turn.wait_ns // unit, turn.bytes, turn.hold_ns // unit, *turn[3:]]
        word = "/".join("" if now == then else str(now) for now, then in zip(fields, before, strict=True))
        count = sum(1 for _ in alike)
        words.append((word.rstrip("/") or str(fields[0])) + (f"*{count}" if count > 1 else ""))
        before = fields
    return unit, " ".join(words)


def decoded(unit_ns: int, text: str) -> tuple[Turn, ...]:
    """The turns of a plan's text."""
    turns: list[Turn] = []
    fields = [0] * len(Turn._fields)
    for word in text.split():
        own, _, count = word.partition("*")
        for n, part in enumerate(own.split("/")):
            if part:
                fields[n] = int(part)
        wait, carried, hold, *rest = fields
        turns += [Turn(wait * unit_ns, carried, hold * unit_ns, *rest)] * int(count or 1)
    return tuple(turns)
