"""Figures 4.3 to 4.10 and Table 4.3: flows, batches, bandwidth and buffers, calls, pages, and trials.

Each is drawn from what the claim that it belongs to is judged by. A dot is a trial, a line or a bar the
median of trials.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from narrows.comparing.conditions import rank
from narrows.comparing.pair_shares import Side, Summary
from narrows.figures.drawing import Missing, Result
from narrows.figures.style import canvas
from narrows.judging.parts import Item, spelt
from narrows.runs.observed import Observed
from narrows.studies.drawing import Chart, Point, draw, finished, of_items, under
from narrows.studies.prudentia.claims import t11, t12, t13, t14, t16, t19, t20, t22
from narrows.studies.prudentia.claims.measures import (
    NOBODY,
    RATES,
    alike,
    item,
    lengths,
    met,
    most_tried,
    of_ten,
    of_trials,
    sides,
    used,
)
from narrows.studies.prudentia.testbed import FLOWS, PAGES, RIVALS

SECTION = "What the thesis shows of single mechanisms (Figures 4.3 to 4.10, Table 4.3)"
OTHER_BBR = "the kernel under test has its own BBR; no other was built for it"
MOST_PAIRS, FEWEST_TRIALS = 12, 3
MOST_TRIPLES = 12
CALLED = {
    NOBODY: "alone",
    "call_1500k": "Chromium, both ways, 1.5 Mbit/s at most",
    "call_2600k": "Chromium, both ways, 2.6 Mbit/s",
    "call_vp9": "Chromium, VP9",
    "call_aiortc": "aiortc",
    "call_livekit": "through LiveKit",
}
"""For a legend."""
BESIDE = {"beside": (NOBODY, *RIVALS)}
FAIR_SHARE = "share of its fair rate [%]"


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    other = Missing("fig4_9b", "Another kernel's BBR (Figure 4.9b)", OTHER_BBR)
    made: list[Callable[[], Result]] = [
        *(partial(each, runs) for each in (by_flows, batches, calls, pages, bandwidths, buffers)),
        lambda: other,
        partial(spread, runs),
        partial(triples, runs),
    ]
    return [(SECTION, make) for make in made]


def _shares(side: Side) -> list[float]:
    """The shares of the trials, in percent."""
    return [100 * rate / side.fair_mbps for rate in side.rates_mbps] if side.fair_mbps else []


def _rates(side: Side) -> list[float]:
    return list(side.rates_mbps)


def _ids(items: Iterable[Item]) -> list[str]:
    return [run_id for each in items for run_id in each.run_ids]


def _drawn(chart: Chart, items: Sequence[Item], read: Callable[[Side], list[float]] = _shares) -> Result:
    """A figure of sides of pairs, a dot for each trial."""
    points = [Point(each.key, values) for each in items if (values := read(each.of))]
    return draw(chart, points, _ids(items))


def _told(words: str, items: Iterable[Item]) -> str:
    return f"{words} Dots: trials; medians over them; {lengths(items)}."


def by_flows(runs: Sequence[Observed]) -> Result:
    """The share of a single flow beside 1, 2, 4 and 8 flows of BBR."""
    every = [
        replace(each, key={**each.key, "flows": str(FLOWS.get(each.key["beside"], 1))})
        for rival in t11.RIVALS
        for each in alike(runs, t11.RATE, [(rival, word) for word in t11.CONTENDERS])
    ]
    chart = Chart(
        "fig4_3", "More flows take more: the share of one flow beside several of BBR (Figure 4.3)",
        ("flows",), "share of the single flow [%]", "service", legend="the single flow",
        look="lines", zero=True, line=100.0,
        told=_told("By the BBR flows of the other; 8 Mbit/s, drop-tail of 128 packets; dashed: fair.", every),
        missing="no flow met several numbers of BBR flows: narrows run t11_flows",
    )  # fmt: skip
    return _drawn(chart, every)


def batches(runs: Sequence[Observed]) -> Result:
    """Shares beside five BBR flows with and without the barrier."""
    every = [
        each
        for rate in RATES
        for name in t12.SERVICES
        for each in alike(runs, rate, [(name, "five"), (name, "batches")])
    ]
    chart = Chart(
        "fig4_4", "Batches shape who gets what: shares beside five BBR flows with and without (Figure 4.4)",
        ("service",), FAIR_SHARE, "beside", "rate",
        called={"five": "five flows", "batches": "five in batches"}, legend="beside",
        line=100.0, told=_told("Dashed: fair.", every),
        missing="no service met five flows with and without batches: narrows run t12_batches",
    )  # fmt: skip
    return _drawn(chart, every)


def calls(runs: Sequence[Observed]) -> Result:
    """Height, frames a second, freezes and late packets of calls, alone and beside each rival."""
    reads = {
        "height [lines]": (t13.LINES.read, 1.0),
        "frames a second": (t13.FRAMES.read, 1.0),
        "freezes a minute": (t13.FROZE.read, 1.0),
        "packets above 190 ms [%]": (t14.late, 0.01),
    }
    own = [
        each
        for each in of_trials(runs, CALLED)
        if each.key.get("rate") == t13.RATE and each.key["beside"] in BESIDE["beside"]
    ]
    points = [
        point
        for what, (read, per) in reads.items()
        for point in under(of_items(own, read, ("service", "beside"), per), what=what)
    ]
    chart = Chart(
        "fig4_5", "What a call gives up beside each rival (Figure 4.5)", ("beside",), hue="service",
        panel="what", orders={**BESIDE, "service": list(CALLED)}, called=CALLED, columns=2,
        told="8 Mbit/s, drop-tail of 128 packets. Late: base RTT and queue together are above 190 ms. Dots: "
        "trials; bars: their median.",
        missing="no call met a rival: narrows run t13_calls",
    )  # fmt: skip
    return _if_several(chart, points, own)


def pages(runs: Sequence[Observed]) -> Result:
    """Time until 95 % of the visible region is painted, alone and beside each rival."""
    own = [each for each in of_trials(runs, PAGES) if each.key["beside"] in BESIDE["beside"]]
    points = of_items(own, t16.TIME.read, ("rate", "service", "beside"), 1e3)
    chart = Chart(
        "fig4_6", "How long a page takes beside each rival (Figure 4.6)", ("service",),
        "95 % painted after [s]", "beside", "rate", {**BESIDE, "service": PAGES, "rate": RATES}, CALLED,
        apart=True, legend="beside",
        told="Each trial is the median of ten loads, 45 s apart, each with a new profile.",
        missing="no page was loaded alone and beside a rival: narrows run t16_pages",
    )  # fmt: skip
    return _if_several(chart, points, own)


def _if_several(chart: Chart, points: Sequence[Point], items: Sequence[Item]) -> Result:
    """The figure, where something met a rival."""
    met_one = any(point.labels["beside"] != NOBODY for point in points)
    return draw(chart, points if met_one else (), _ids(items))


def bandwidths(runs: Sequence[Observed]) -> Result:
    """Share and rate of a video beside a download over the link's rate."""
    own = [each for each in sides(t20.sweep(runs)) if each.key["service"] == "dash"]
    own.sort(key=lambda each: rank("rate", each.key["rate"]))
    share = "the video's share [%]"
    points = [
        point
        for what, read in ((share, _shares), ("the video's rate [Mbit/s]", _rates))
        for point in under([Point(each.key, read(each.of)) for each in own], what=what)
    ]
    chart = Chart(
        "fig4_7", "A video beside a BBR download from 8 to 100 Mbit/s (Figure 4.7)", ("rate",), panel="what",
        look="lines", zero=True, line=100.0, line_in=share,
        told=_told("By the rate of the link; drop-tail near 4 × BDP at each; dashed: fair.", own),
        missing=f"the video met the download at fewer than {t20.FEWEST} rates: narrows run t20_bandwidth",
    )  # fmt: skip
    return draw(chart, points, _ids(own))


def buffers(runs: Sequence[Observed]) -> Result:
    """Shares at the usual and at twice the queue."""
    every = list(t19.at_both(runs))
    chart = Chart(
        "fig4_8", "Twice the buffer (Figure 4.8)", ("service", "beside", "rate"), FAIR_SHARE, "queue",
        called={"usual": "usual queue", "double": "twice the queue"}, line=100.0,
        told=_told("Whose share, beside whom; dashed: fair.", every),
        missing="no pair met at both sizes of the queue: narrows run t19_buffer",
    )  # fmt: skip
    return _drawn(chart, every)


def spread(runs: Sequence[Observed]) -> Result:
    """The rate of a service in each trial of the pairs that vary most."""
    widest: list[Item] = []
    for rate in RATES:
        own = [
            item(one.sides[0], one, pair=" beside ".join(one.pair))
            for one in most_tried(runs, rate)
            if one.n >= FEWEST_TRIALS and one.sides[0].rate_mbps
        ]
        widest += sorted(own, key=lambda each: -float(np.ptp(each.of.rates_mbps)) / each.of.rate_mbps)[
            :MOST_PAIRS
        ]
    told = f"The pairs of {FEWEST_TRIALS} trials and more whose rates lie widest apart, over their median."
    chart = Chart(
        "fig4_10", "Which outcomes differ from trial to trial (Figure 4.10)", ("pair",),
        "rate of the first [Mbit/s]", panel="rate", look="rows", apart=True, zero=True,
        told=_told(told, widest), missing=f"no pair has {FEWEST_TRIALS} valid trials",
    )  # fmt: skip
    return _drawn(chart, widest, _rates)


def triples(runs: Sequence[Observed]) -> Result:
    """Services of which a is unfair to b, b to c, and a fair to c."""
    name, title = "table4_3", "Unfairness is not transitive (Table 4.3)"
    rows: list[list[str]] = []
    rest: list[Summary] = []
    for rate in RATES:
        here = met(of_ten(runs, rate))
        got = {(one.key["service"], one.key["beside"]): one.of.share for one in sides(here)}

        def three(triple: t22.Triple, got: Mapping[tuple[str, str], float] = got) -> list[float]:
            a, b, c = triple
            return [got[b, a], got[c, b], got[c, a]]

        # The clearest first: where the first two lose most.
        clearest = sorted(t22.against(got)[1], key=lambda each: float(np.dot(three(each), (1, 1, -1))))
        for triple in clearest[: MOST_TRIPLES // 2]:
            rows.append([spelt(rate), *triple, *(f"{100 * value:.1f} %" for value in three(triple))])
            rest += [one for one in here if set(one.pair) <= set(triple)]
    if not rows:
        return Missing(name, title, "no three services that met are such")
    figure, [[axes]] = canvas(1, 1, row_in=0.3 + 0.19 * len(rows))
    axes.axis("off")
    columns = ["link", "a", "b", "c", "b beside a", "c beside b", "c beside a"]
    axes.table(cellText=rows, colLabels=columns, cellLoc="center", loc="center", bbox=(0.0, 0.0, 1.0, 1.0))  # type: ignore[arg-type]
    told = f"Shares of the fair rate; the {len(rows)} clearest of all that are so; {lengths(rest)}."
    return finished(name, title, told, used(rest), figure)
