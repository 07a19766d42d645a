"""The words in which a tool's `readings.py` declares what its figures mean.

`FIGURES` of a `readings.py` has every figure of the tool, the one that matters most first: a `Reading`, or a
`Figure` that is none. Both say what people call it and whether more of it is better. A reading is also held
against what truly was, of the same statistic:

- `THROUGHPUT` in bit/s: against the capacity that the cross traffic left, as TCP payload;
- `LATENCY` in ms, a round-trip time under load, the path's own included: against the delay that the queue
  added;
- `ADDED` in ms, what the load added to the path's own delay: against the same;
- `RPM` in 1/min, round trips per minute under load: as the time of one round trip, against the same.
"""

from collections.abc import Collection
from dataclasses import dataclass

THROUGHPUT, LATENCY, ADDED, RPM = QUANTITIES = "throughput", "latency", "added latency", "responsiveness"
UNITS = {THROUGHPUT: "bit/s", LATENCY: "ms", ADDED: "ms", RPM: "1/min"}
PAYLOAD, UDP_PAYLOAD, QUIC_PAYLOAD, IP, IP_OF_1250, WIRE = LAYERS = (
    "TCP payload", "UDP payload", "QUIC payload", "IP", "IP, packets of 1250 bytes", "Ethernet frames",
)  # fmt: skip
STATISTICS = ("p50", "p90", "p95", "p99", "mean")
OWN, THIRD, CROSS = PARTIES = "own", "third party", "cross traffic"
MORE, LESS, CHECK = BETTER = "more", "less", "check"
"""Which of a figure is better. A check is of the trial, not of the tool: whether its other figures count."""


@dataclass(frozen=True)
class Figure:
    """A figure that is held against no truth. A ValueError says which part of it cannot be."""

    words: str
    """What people call it, without its unit."""
    better: str | None = None
    """None: neither."""
    ends: bool = False
    """Whether an item that has it ended by itself: it took what it needed, which is not all it could get."""
    statistic: str | None = None
    """Which of many samples it is; None: it is one."""
    definition: str = ""
    """What the number is, for a note."""
    headline: bool = False
    """Whether it is one of the two that a small table has room for; where none is, the first two are."""

    def __post_init__(self) -> None:
        if self.better not in (None, *BETTER):
            raise ValueError(f"better {self.better!r} is none of {', '.join(BETTER)}")


@dataclass(frozen=True)
class Reading:
    """What a figure reads. A ValueError says which part of it cannot be."""

    quantity: str
    statistic: str = "p50"
    """The statistic of the truth that a delay is held against."""
    words: str = ""
    """What tables call it."""
    layer: str = PAYLOAD
    """What a rate counts, which it is held against. Payload is UDP's where the item's flows are."""
    whose: tuple[str, ...] = (OWN, THIRD)
    """Whose packets' delay a delay is held against: the tool's own, a third party's, or either."""

    def __post_init__(self) -> None:
        for name, value, known in (
            ("quantity", self.quantity, QUANTITIES),
            ("statistic", self.statistic, STATISTICS),
            ("layer", self.layer, LAYERS),
        ):
            if value not in known:
                raise ValueError(f"{name} {value!r} is none of {', '.join(known)}")
        if not self.whose or not set(self.whose) <= {OWN, THIRD}:
            raise ValueError(f"whose {self.whose!r} is not of OWN and THIRD, such as whose=(THIRD,)")

    ends = False
    definition = ""

    @property
    def better(self) -> str:
        """Which of it is better."""
        return MORE if self.quantity in (THROUGHPUT, RPM) else LESS


def layer_of(declared: str, protocols: Collection[str]) -> str:
    """What a rate counts, of an item with flows of these protocols: what is declared as payload is that of
    datagrams where they carry it."""
    return UDP_PAYLOAD if declared == PAYLOAD and "udp" in protocols else declared


Figures = dict[str, Reading | Figure]
"""What each figure means."""


@dataclass(frozen=True)
class Series:
    """What a series over time is, which a `readings.py` may declare in `SERIES`, by its quantity. Series of
    the same words and unit stand in one picture, whichever tool they are of."""

    words: str
    folded: bool = False
    """Whether it is shown only to who asks for it: it says little that another does not."""
    steps: bool = False
    """Whether it keeps a value until the next."""
    counts: bool = False
    """Whether it is a count of bytes that only grows, which is shown as a rate."""
    unit: str = ""
    """What its number counts, where its unit has no name, such as lines."""


SERIES: dict[str, Series] = {
    "throughput": Series("throughput"),
    "rtt": Series("round-trip time of probes"),
    "owd": Series("one-way delay of probes"),
    "idle_ping": Series("ping while idle", folded=True),
    "loaded_ping": Series("ping under load"),
}
"""What several tools have."""


@dataclass(frozen=True)
class Load:
    """How it is known when a tool loads a direction; without it, by the series that it leaves of each."""

    steady: bool = False
    """Whether its process loads one direction, or both at once, from its start to its end."""
    elapsed: str = ""
    """Its figure of how long, in seconds, it loaded a direction: until its ends' last sample."""
    rtt: str = ""
    """Its server's series of round-trip times in us, of the very connection that it measures."""
