"""What the claims measure: rates, RTTs, and how long packets stood at the ISP and at home.

A TCP flow's RTT is the base RTT and what the tap saw its packets wait: data one way, acknowledgements the
other, at both places. The tap sees every packet; TCP_INFO a few of them. What is measured for one claim
serves the others, so runs are found by their labels and not by their experiment.
"""

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from narrows.judging.parts import (
    Item,
    Judge,
    Measure,
    Read,
    Share,
    Where,
    figure,
    fits,
    good,
    of_runs,
    quantity,
)
from narrows.metrics.statistics.arrays import Floats
from narrows.runs.observed import Observed
from narrows.runs.quantities import under

S = 1_000_000_000
CLASSES = ("CS5", "EF", "BE", "BK")
CCAS = ("cubic", "bbr")
WAYS = ("down", "up")
BOTH = ("remote", "local")
FTTC = "fttc-30-10"
REMOTE, LOCAL = {"home": "remote"}, {"home": "local"}


def tests(runs: Iterable[Observed]) -> list[Item]:
    """Good runs of a home; `test` is which of the paper's tests: down, up, best_effort, classes, uploads."""
    return [
        item for run in good(runs) if run.link.home is not None for item in of_runs([run], test=_test(run))
    ]


def _test(run: Observed) -> str:
    tools = {each.tool for each in run.plan.composites}
    if "rrul_be" in tools:
        return "best_effort"
    return "classes" if "rrul" in tools else run.key.get("way", "uploads")


def tested(runs: Iterable[Observed], **labels: str) -> list[Observed]:
    """Runs of one of the tests, for figures."""
    return list({item.once: item.of for item in tests(runs) if fits(item.key, labels)}.values())


def by_class(runs: Iterable[Observed]) -> Iterator[Item]:
    """A run and a class of RRUL."""
    for item in tests(runs):
        if item.key["test"] == "classes":
            for name in CLASSES:
                yield Item((item.of, name), {**item.key, "class": name}, item.run_ids, item.once)


def by_way(runs: Iterable[Observed]) -> Iterator[Item]:
    """A run and a direction."""
    for item in tests(runs):
        for way in WAYS:
            yield Item((item.of, way), {**item.key, "way": way}, item.run_ids, item.once)


def goodput_mbps(direction: str) -> Read:
    """What the load carried in a direction."""
    bulk = figure("load", "bulk_goodput_bps", direction=direction, per=1e6)
    rrul = figure("test", "rrul_tcp_sum_bps", direction=direction, per=1e6)
    return lambda run: rrul(run) if (value := bulk(run)) is None else value


def filled(direction: str) -> Read:
    """The goodput over the most that the ISP's link lets pass."""
    rate = goodput_mbps(direction)

    def read(run: Observed) -> float | None:
        rate_mbps = rate(run)
        return None if rate_mbps is None else rate_mbps * 1e6 / run.possible_bps(direction, (5 * S, 25 * S))

    return read


def flow_rates_mbps(run: Observed, item: str, direction: str) -> Floats:
    own = run.whose(item)
    rates_mbps = [
        value / 1e6
        for (name, way, whose), value in run.figures.items()
        if (name, way) == ("bulk_goodput_bps", direction) and whose.flow and whose._replace(flow=None) == own
    ]
    return np.array(sorted(rates_mbps), dtype=np.float64)


def apart(run: Observed) -> float | None:
    """How many times the slowest of the downloads the fastest is."""
    rates = flow_rates_mbps(run, "test.down-BE", "down")
    return float(rates.max() / rates.min()) if rates.size > 1 and rates.min() > 0 else None


def class_rate_mbps(name: str, direction: str = "up") -> Read:
    """The goodput of a class of RRUL."""
    return figure(f"test.{direction}-{name}", "bulk_goodput_bps", direction=direction, per=1e6)


def icmp_ms(percent: int = 50) -> Read:
    """ICMP's RTT under load, without the load's first three seconds."""

    def read(run: Observed) -> float | None:
        items = {item.id for item in run.plan.traffic}
        pairs = (("ping", "load"), ("test.icmp", "test.up-BE"))
        of = next((under(probe, load) for probe, load in pairs if {probe, load} <= items), None)
        return None if of is None else quantity(f"loaded_rtt_p{percent}_ms", of)(run)

    return read


def base_ms(run: Observed) -> float:
    return run.link.base_rtt_ns / 1e6


def induced_ms(run: Observed) -> float | None:
    """What the load adds to ICMP's RTT, in the median."""
    rtt_ms = icmp_ms()(run)
    return None if rtt_ms is None else rtt_ms - base_ms(run)


def tcp_rtt_ms(item: str, percent: int = 50) -> Read:
    """The RTT of an item's packets."""

    def read(run: Observed) -> float | None:
        waited = [
            value
            for (name, _, whose), value in run.figures.items()
            if name == f"sojourn_p{percent}_ms" and whose == run.whose(item, whose.hop)
        ]
        return base_ms(run) + sum(waited) if waited else None

    return read


def isp_sojourn_ms(direction: str, percent: int) -> Read:
    """How long packets stood in the ISP's queue, whole run."""
    return figure(None, f"sojourn_p{percent}_ms", direction=direction, at="isp")


INDUCED = Measure("ICMP's induced RTT", "ms", induced_ms)
DOWN = Measure("goodput", "Mbit/s", goodput_mbps("down"))
APART = Measure("fastest over slowest download", "1", apart)
UPLOADS = Measure("median TCP RTT of uploads", "ms", tcp_rtt_ms("test.up-BE"))
UPLOAD = Measure("upload", "Mbit/s", lambda of: class_rate_mbps(of[1])(of[0]))
CLASS_RTT = Measure("RTT", "ms", lambda of: tcp_rtt_ms(f"test.up-{of[1]}")(of[0]))
FILLED = Share("goodput over what is possible", read=filled("down"))
AtHome = partial(Judge, items=tests, rests="measured")


def on(test: str | tuple[str, ...], **labels: str | tuple[str, ...]) -> Where:
    """One of the tests on FTTC, unless a profile is given, with the bottleneck remote and local."""
    return {"test": test, "profile": FTTC, "home": BOTH, **labels}
