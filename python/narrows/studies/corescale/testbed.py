"""The settings of chapter 3 of Philip's thesis, shared by this study's experiments. Not an experiment itself.

EdgeScale (100 Mbit/s, 2 to 50 flows, 3 MB), CoreScale (10 Gbit/s, 1000 to 5000 flows, 375 MB) and a scaled
middle (1 Gbit/s, 100 to 500 flows, 37.5 MB); drop-tail of about one BDP at 200 ms. The thesis starts each
flow within 2 minutes, drops the first 5 and measures until the metric moves less than 1 % in 20 minutes, at
most 3 hours. Here Edge lasts 25 minutes at most; the larger scales have shorter runs, in proportion to how
long a window takes to grow back (it is 20 to 90 s there). Where a claim is about how flows share (t05 to
t08), a run ends when its metric moved less than 1 % over half of what is measured at most. Mathis' C and
losses per halving (t01 to t03, and t04, which shares their runs) need every halving of every flow, a handful
in the whole run: they are measured for all of it. Every report says how much each metric still moved at the
end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from narrows.spec import Dumbbell, axis, bfifo, bulk, flow_tap, pair, repeat, sample, tap, until_settled

REPETITIONS = 10
RTTS = ("20 ms", "100 ms", "200 ms")


@dataclass(frozen=True)
class Setting:
    """One scale with one number of flows."""

    rate: str
    buffer: str
    flows: int
    spread: str
    warm_up: str
    duration: str
    window: str = ""
    """In which a settled metric moves less than 1 %; of what is measured at most, half."""


def edge(flows: int) -> Setting:
    return Setting("100 Mbit/s", "3 MB", flows, "2 min", "5 min", "25 min", "10 min")


def middle(flows: int, warm_up: str = "2 min", duration: str = "8 min", window: str = "3 min") -> Setting:
    return Setting("1 Gbit/s", "37.5 MB", flows, "30 s", warm_up, duration, window)


def core(flows: int, warm_up: str = "1 min", duration: str = "3 min", window: str = "1 min") -> Setting:
    return Setting("10 Gbit/s", "375 MB", flows, "20 s", warm_up, duration, window)


SETTINGS = {
    **{f"edge-{n}": edge(n) for n in (2, 10, 20, 50)},
    **{f"middle-{n}": middle(n) for n in (100, 500)},
    **{f"core-{n}": core(n) for n in (1000, 3000, 5000)},
    **{f"middle-{n}-long": middle(n, "5 min", "25 min", "10 min") for n in (100, 500)},
    **{f"core-{n}-long": core(n, "5 min", "25 min", "5 min") for n in (1000, 3000, 5000)},
}
"""The long ones are for metrics that the others do not settle; at Core half an hour of wall time or more."""


def each(field: str) -> Any:
    """A field of every setting: one axis, wherever it stands."""
    return axis("setting", {name: getattr(one, field) for name, one in SETTINGS.items()})


def flows(share: float) -> Any:
    """Part of the setting's flows."""
    return axis("setting", {name: round(one.flows * share) for name, one in SETTINGS.items()})


def all_but(few: int) -> Any:
    """The setting's flows but for a few."""
    return axis("setting", {name: one.flows - few for name, one in SETTINGS.items()})


def in_mixes(cca: str, mixes: Sequence[str], sizes: Mapping[str, Setting]) -> Any:
    """The flows of a CCA in each mix and size; None where it has none. "cubic+reno" is half and half,
    "one-bbr+reno" one BBR flow and the rest NewReno."""

    def count(mix: str, flows: int) -> int:
        if mix.startswith("one-"):
            return 1 if mix.startswith(f"one-{cca}") else flows - 1
        return flows // len(mix.split("+"))

    def some(mix: str) -> Any:
        return bulk(
            cca=cca,
            flows=axis("size", {name: count(mix, one.flows) for name, one in sizes.items()}),
            start_spread=axis("size", {name: one.spread for name, one in sizes.items()}),
            duration=axis("size", {name: one.duration for name, one in sizes.items()}),
        )

    return axis("mix", {mix: some(mix) if cca in mix else None for mix in mixes})


def rtts() -> Any:
    """The thesis' base RTTs, and the three mixed in equal parts."""
    pure = {rtt.replace(" ", ""): [pair(rtt)] for rtt in RTTS}
    return axis("rtt", {**pure, "mixed": [pair(rtt) for rtt in RTTS]})


def dumbbell(queue: Any = None, **options: Any) -> Dumbbell:
    """The bottleneck of the setting."""
    if queue is None:
        queue = axis("setting", {name: bfifo(limit=one.buffer) for name, one in SETTINGS.items()})
    return Dumbbell(rate=each("rate"), queue=queue, pairs=rtts(), **options)


def recorded(settles: str | None = None) -> None:
    """Drops one by one, occupancy in bins, each sender's TCP from the kernel; nothing by polling. With a
    metric, runs end as soon as it has settled."""
    tap("drops", interval="100 ms")
    flow_tap(warm_up=each("warm_up"), interval="5 s")
    sample(tcp_info=None, qdisc=None, link=None)
    repeat(REPETITIONS)
    if settles is not None:
        until_settled(settles, window=each("window"))
