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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from narrows.spec import Dumbbell, axis, bfifo, bulk, flow_tap, htb, pair, repeat, sample, tap, until_settled

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


def each(field: str, of: Mapping[str, Setting] = SETTINGS, name: str = "setting") -> Any:
    """A field of every setting: one axis, wherever it stands."""
    return axis(name, {label: getattr(one, field) for label, one in of.items()})


def from_all(cca: Any, flows: Any = None) -> Any:
    """Flows of a CCA that start and last as the setting says; by default all of its flows."""
    flows = each("flows") if flows is None else flows
    return bulk(cca=cca, flows=flows, start_spread=each("spread"), duration=each("duration"))


def flows(share: float) -> Any:
    """Part of the setting's flows."""
    return axis("setting", {name: round(one.flows * share) for name, one in SETTINGS.items()})


def all_but(few: int) -> Any:
    """The setting's flows but for a few."""
    return axis("setting", {name: one.flows - few for name, one in SETTINGS.items()})


MIXES = ("reno", "cubic", "bbr", "cubic+reno", "bbr+reno", "bbr+cubic", "one-bbr+reno", "one-bbr+cubic")
"""One CCA alone, two half and half, one BBR flow and the rest of another."""


def in_mixes(mixes: Sequence[str], sizes: Mapping[str, Setting]) -> Iterator[Any]:
    """The flows of NewReno, CUBIC and BBR in each mix and size; None where a CCA has none."""

    def count(cca: str, mix: str, flows: int) -> int:
        if mix.startswith("one-"):
            return 1 if mix.startswith(f"one-{cca}") else flows - 1
        return flows // len(mix.split("+"))

    def some(cca: str, mix: str) -> Any:
        return bulk(
            cca=cca,
            flows=axis("size", {name: count(cca, mix, one.flows) for name, one in sizes.items()}),
            start_spread=each("spread", sizes, "size"),
            duration=each("duration", sizes, "size"),
        )

    for cca in ("reno", "cubic", "bbr"):
        yield axis("mix", {mix: some(cca, mix) if cca in mix else None for mix in mixes})


TIMERS = {"exact": None, "late": ("10 us", "30 us"), "coarse": ("100 us", "1 ms")}


def buckets() -> Any:
    """For each lateness of timers a bucket that loses nothing of the rate."""
    return axis("timers", {n: htb(burst_per_rate="2 ms") if late else htb() for n, late in TIMERS.items()})


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
    """All settings; with a metric, runs end as soon as it has settled."""
    counted(each("warm_up"), REPETITIONS)
    if settles is not None:
        until_settled(settles, window=each("window"))


def counted(
    warm_up: Any, repetitions: int, interval: str = "5 s", drops: Any = "drops", bins: Any = "100 ms"
) -> None:
    """Record drops one by one, occupancy in bins, each sender's TCP from the kernel; nothing by polling."""
    tap(drops, interval=bins)
    flow_tap(warm_up=warm_up, interval=interval)
    sample(tcp_info=None, qdisc=None, link=None)
    repeat(repetitions)
