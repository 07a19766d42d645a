"""What all media share: words of an experiment, and a schedule for each way that one can carry.

A medium takes the place of the shaper; the queue in front of it is a real one. What a medium does turn by
turn is worked out in `narrows.media`, pure.
"""

from typing import Any

from narrows.media.schedule import MOST_BYTES, MOST_HOLD_NS, MOST_TURNS, Schedule
from narrows.spec import parsers as p
from narrows.spec.base import SpecObject, option
from narrows.spec.moving_rate import MovingRate
from narrows.units import Duration, Rate, Size

WAYS = ("down", "up")
LEAST_NS = 1000
"""The shortest turn of a schedule: one of a nanosecond would be worked out for hours."""
DEFAULT_RING = "1 B"
"""The device holds one packet, and the queue all else."""


class Medium(SpecObject):
    """A link layer: a schedule for each way that it can carry."""

    ring: str | Size = option(
        p.size, default=DEFAULT_RING, doc="from so much on the device takes nothing from the queue"
    )

    ways: tuple[str, ...] = WAYS

    def schedule(self, way: str) -> Schedule:
        """What it does one way."""
        raise NotImplementedError

    def mean(self, way: str, mtu: int) -> Rate:
        """What it could carry on average."""
        return Rate(self.schedule(way).mean_bps(mtu))

    def described(self) -> str:
        """What it is, in words."""
        return type(self).__name__

    def check_packets(self, mtu: int) -> None:
        """Raise if a full packet never fits."""
        if self["ring"].bytes > MOST_BYTES:
            self.fail(f"ring: {self['ring']}", f"at most {MOST_BYTES} bytes")
        for way in self.ways:
            made = self.schedule(way)
            most = made.most_bytes
            if not made.splits and most < mtu + made.overhead_bytes:
                self.fail(
                    f"its largest turn {way} is {most} bytes, and a packet of {mtu} bytes goes whole",
                    "larger turns, splits=True, or a smaller mtu",
                )


def rate_steps(rate: Rate, length_ns: int) -> tuple[tuple[int, int], ...]:
    """A rate over time, whether it moves or not."""
    return tuple(rate.until(length_ns)) if isinstance(rate, MovingRate) else ((0, rate.bps),)


def whole(medium: Medium, name: str, of: str) -> int:
    """How often one duration is in another, which must be a whole number."""
    number, rest = divmod(medium[name].ns, medium[of].ns)
    if rest:
        medium.fail(
            f"{name} ({medium[name]}) is no multiple of {of} ({medium[of]})", f"a multiple of {medium[of]}"
        )
    return int(number)


def check_serves(medium: Medium, schedule: Schedule, way: str) -> Schedule:
    """Raise if it never sends anything, or is not what the guest's kernel can be told."""
    if not any(turn.bytes and not turn.lost for turn in schedule.turns):
        medium.fail(f"it never sends anything {way}", "a higher rate, or shorter gaps")
    if (most := schedule.most_bytes) > MOST_BYTES:
        medium.fail(
            f"a turn {way} of {most} bytes, and the most is {MOST_BYTES}", "a lower rate, or shorter turns"
        )
    if (longest := max(turn.hold_ns for turn in schedule.turns)) > MOST_HOLD_NS:
        medium.fail(
            f"what is sent {way} arrives up to {Duration(longest)} later, "
            f"and the most is {Duration(MOST_HOLD_NS)}",
            "shorter times",
        )
    if not schedule.by_demand and schedule.repeat_ns < len(schedule.turns) * LEAST_NS:
        medium.fail(
            f"{len(schedule.turns)} turns {way} in {Duration(schedule.repeat_ns)}",
            f"at least {Duration(LEAST_NS)} a turn",
        )
    return schedule


def check_count(medium: Medium, count: int, what: str) -> None:
    """Raise before so much is drawn that it would never end."""
    if count > MOST_TURNS:
        medium.fail(
            f"length: {medium['length']} are {count} {what}, and the most is {MOST_TURNS}", "a shorter length"
        )


Speed = str | Rate | Any
