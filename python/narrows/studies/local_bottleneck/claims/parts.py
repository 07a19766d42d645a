"""What the claims ask of a run: its rates, its RTTs, and how long its packets stood at the ISP and at home.

A TCP flow's RTT is the base RTT and what the tap saw its packets wait: data one way, acknowledgements the
other, at both places. The tap sees every packet; TCP_INFO a few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from narrows.metrics.statistics.arrays import Floats, clean
from narrows.runs.observed import NO_LABEL, Observed
from narrows.runs.quantities import under
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, median_of

S = 1_000_000_000
LOADED_RTT = {0.05: "loaded_rtt_p5_ms", 0.5: "loaded_rtt_p50_ms", 0.95: "loaded_rtt_p95_ms"}
CLASSES = ("CS5", "EF", "BE", "BK")
CCAS = ("cubic", "bbr")


@dataclass
class Evidence:
    """What a claim rests on, as it is collected."""

    numbers: list[Number] = field(default_factory=list)
    marks: dict[str, bool] = field(default_factory=dict)
    """By the words of each part of the claim, whether it is so."""
    used: list[Observed] = field(default_factory=list)

    def add(self, runs: Sequence[Observed], *numbers: Number | None) -> None:
        """Runs, and those of their numbers that there are."""
        self.used += runs
        self.numbers += [each for each in numbers if each is not None]

    def verdict(self, claim: Claim, reason: str, conditions: str) -> Verdict:
        return Verdict(
            claim, graded(list(self.marks.values())), reason, tuple(self.numbers), conditions, ids(self.used)
        )


def not_so(marks: Mapping[str, bool]) -> str:
    """`Not so: a; b`: the parts that failed."""
    failed = [name for name, mark in marks.items() if not mark]
    return f"Not so: {'; '.join(failed)}" if failed else "All are so"


def yes_or_no(marks: Mapping[str, bool]) -> str:
    """`a: yes; b: no`."""
    return "; ".join(f"{name}: {'yes' if mark else 'no'}" for name, mark in marks.items())


def chosen(runs: Iterable[Observed], **labels: str) -> list[Observed]:
    """Good runs of a home with these labels, each once, in a steady order."""
    by_id = {
        run.run_id: run
        for run in runs
        if run.ok
        and run.link.home is not None
        and not run.kernel_config
        and all(run.key.get(axis, NO_LABEL) == label for axis, label in labels.items())
    }
    return [by_id[run_id] for run_id in sorted(by_id)]


def tested(runs: Iterable[Observed], test: str, /, **labels: str) -> list[Observed]:
    """Those of one of the paper's tests: "down", "up", "best_effort" or "classes"."""
    return [run for run in chosen(runs, **labels) if _test(run) == test]


def _test(run: Observed) -> str:
    tools = {each.tool for each in run.plan.composites}
    if "rrul_be" in tools:
        return "best_effort"
    return "classes" if "rrul" in tools else str(run.key.get("way", NO_LABEL))


def median(runs: Sequence[Observed], quantity: Callable[[Observed], float | None]) -> float | None:
    """The median over repetitions; None where none has it."""
    known = values(runs, quantity)
    return float(np.median(known)) if known.size else None


def values(runs: Sequence[Observed], quantity: Callable[[Observed], float | None]) -> Floats:
    """A quantity of each run that has it."""
    return clean([value for run in runs if (value := quantity(run)) is not None])


def number(
    name: str, unit: str, runs: Sequence[Observed], quantity: Callable[[Observed], float | None], of: str
) -> Number | None:
    """The median over repetitions, with its interval."""
    return median_of(name, unit, values(runs, quantity), of)


def goodput_mbps(direction: str) -> Callable[[Observed], float | None]:
    """What the load carried in a direction."""

    def read(run: Observed) -> float | None:
        rate_bps = run.figure("load", "bulk_goodput_bps", direction)
        rate_bps = run.figure("test", "rrul_tcp_sum_bps", direction) if rate_bps is None else rate_bps
        return None if rate_bps is None else rate_bps / 1e6

    return read


def filled(direction: str) -> Callable[[Observed], float | None]:
    """The goodput over the most that the ISP's link lets pass."""

    def read(run: Observed) -> float | None:
        rate = goodput_mbps(direction)(run)
        most = run.possible_bps(direction, (5 * S, 25 * S))
        return None if rate is None else rate * 1e6 / most

    return read


def flow_rates_mbps(run: Observed, item: str, direction: str) -> Floats:
    """The goodput of each flow of an item."""
    rates_mbps = [
        value / 1e6
        for (source, way, name), value in run.figures.items()
        if name == "bulk_goodput_bps" and way == direction and source.rpartition("/")[0] == item
    ]
    return np.array(sorted(rates_mbps), dtype=np.float64)


def apart(run: Observed) -> float | None:
    """How many times the slowest of the downloads the fastest is."""
    rates = flow_rates_mbps(run, "test.down-BE", "down")
    return float(rates.max() / rates.min()) if rates.size > 1 and rates.min() > 0 else None


def class_rate_mbps(name: str, direction: str) -> Callable[[Observed], float | None]:
    """The goodput of a class of RRUL."""

    def read(run: Observed) -> float | None:
        rate_bps = run.figure(f"test.{direction}-{name}", "bulk_goodput_bps", direction)
        return None if rate_bps is None else rate_bps / 1e6

    return read


def icmp_ms(quantile: float = 0.5) -> Callable[[Observed], float | None]:
    """ICMP's RTT under load, without the load's first three seconds."""

    def read(run: Observed) -> float | None:
        items = {item.id for item in run.plan.traffic}
        pairs = (("ping", "load"), ("test.icmp", "test.up-BE"))
        of = next((under(probe, load) for probe, load in pairs if {probe, load} <= items), None)
        return None if of is None else run.quantity(LOADED_RTT[quantile], of)

    return read


def base_ms(run: Observed) -> float:
    """The base RTT."""
    return run.link.base_rtt_ns / 1e6


def induced_ms(run: Observed) -> float | None:
    """What the load adds to ICMP's RTT, in the median."""
    rtt_ms = icmp_ms()(run)
    return None if rtt_ms is None else rtt_ms - base_ms(run)


def tcp_rtt_ms(item: str, percent: int = 50) -> Callable[[Observed], float | None]:
    """The RTT of an item's packets."""

    def read(run: Observed) -> float | None:
        waited = [
            value
            for (source, _, name), value in run.figures.items()
            if name == f"sojourn_p{percent}_ms" and source in {f"{hop.hop}/{item}" for hop in run.plan.hops}
        ]
        return base_ms(run) + sum(waited) if waited else None

    return read


def isp_sojourn_ms(direction: str, percent: int) -> Callable[[Observed], float | None]:
    """How long packets stood in the ISP's queue, whole run."""

    def read(run: Observed) -> float | None:
        return run.figure("isp", f"sojourn_p{percent}_ms", direction)

    return read
