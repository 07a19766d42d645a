"""Figures 4.3 to 4.10 and Table 4.3: flows, batches, bandwidth and buffers, calls, pages, and trials.

Each is drawn from the same summaries as the claim that it belongs to. A point is a trial, a line or a bar
the median of trials.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from narrows.comparing.pair_shares import Side, Summary
from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs, run_ids
from narrows.figures.style import canvas, styled
from narrows.judging.parts import Item, Read, spelt
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims import t11, t13, t14, t16, t19, t20, t22
from narrows.studies.prudentia.claims.measures import (
    NOBODY,
    RATES,
    at_one_length,
    lengths,
    met,
    most_tried,
    of_ten,
    of_trials,
    pair,
    sides,
    used,
)
from narrows.studies.prudentia.testbed import FLOWS, PAGES, RIVALS
from narrows.units import Rate

SECTION = "What the thesis shows of single mechanisms (Figures 4.3 to 4.10, Table 4.3)"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d")
MARKERS = "osD^vPX"
Bars = Mapping[str, Mapping[str, Sequence[float]]]
OTHER_BBR = "the kernel under test has its own BBR; no other was built for it"
MOST_PAIRS, FEWEST_TRIALS = 12, 3
MOST_TRIPLES = 12
CALLED = {
    "call_1500k": "Chromium, both ways, 1.5 Mbit/s at most",
    "call_2600k": "Chromium, both ways, 2.6 Mbit/s",
    "call_vp9": "Chromium, VP9",
    "call_aiortc": "aiortc",
    "call_livekit": "through LiveKit",
}
"""Calls, for a legend."""


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    """Each figure with its section."""
    made: list[Callable[[], Result]] = [
        lambda: by_flows(runs),
        lambda: batches(runs),
        lambda: calls(runs),
        lambda: pages(runs),
        lambda: bandwidths(runs),
        lambda: buffers(runs),
        lambda: Missing("fig4_9b", "Another kernel's BBR (Figure 4.9b)", OTHER_BBR),
        lambda: spread(runs),
        lambda: triples(runs),
    ]
    return [(SECTION, make) for make in made]


def _shares(side: Side) -> list[float]:
    """Of each trial, in percent."""
    return [100 * rate / side.fair_mbps for rate in side.rates_mbps] if side.fair_mbps else []


def _fair(axes: Axes) -> None:
    axes.axhline(100, color="#999999", linewidth=0.7, linestyle="--", zorder=1)


def _legend(figure: Figure, axes: Axes, title: str) -> None:
    """One for all panels, over them: bars leave it no place."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, title=title, loc="outside upper right", ncols=min(len(labels), 6))


def _finish(name: str, title: str, figure: Figure, told: str, rest: Sequence[Summary]) -> Drawing:
    ids = used(rest)
    caption = (
        f"{told} Points: trials; medians over them; {lengths(rest)}. {count_runs(len(ids))}. {name_runs(ids)}"
    )
    return Drawing(name, title, caption, ids, figure)


def by_flows(runs: Sequence[Observed]) -> Result:
    """The share of a single flow beside 1, 2, 4 and 8 flows of BBR."""
    name, title = "fig4_3", "More flows take more: the share of one flow beside several of BBR (Figure 4.3)"
    counts = {"bbr": 1, **{word: count for word, count in FLOWS.items() if word in t11.CONTENDERS}}
    rest: list[Summary] = []
    lines: dict[str, dict[int, list[float]]] = {}
    for rival in ("bbr", "cubic", "reno"):
        alike = at_one_length(runs, t11.RATE, [(rival, word) for word in counts])
        for word, count in counts.items():
            pair_of = pair(alike["usual"], rival, word) if alike is not None else None
            if alike is not None and pair_of is not None:
                lines.setdefault(rival, {})[count] = _shares(pair_of[0])
                rest += [one for one in alike["usual"] if set(one.pair) == {rival, word}]
    if not lines:
        return Missing(name, title, "no flow met several numbers of BBR flows: narrows run t11_flows")
    figure, grid = canvas(1, 1, row_in=2.0)
    axes = grid[0][0]
    with styled():
        _lines(axes, lines)
        _fair(axes)
        axes.set_xscale("log", base=2)
        axes.set_xticks(list(counts.values()), [str(count) for count in counts.values()])
        axes.set_xlabel("BBR flows of the contender")
        axes.set_ylabel("share of the single flow [%]")
        axes.set_ylim(bottom=0)
        axes.legend(title="the single flow")
    return _finish(name, title, figure, "8 Mbit/s, drop-tail of 128 packets; dashed: fair.", rest)


def _lines(axes: Axes, lines: Mapping[str, Mapping[int, Sequence[float]]]) -> None:
    for number, (label, points) in enumerate(lines.items()):
        at = sorted(points)
        for x in at:
            axes.plot(
                [x] * len(points[x]),
                points[x],
                MARKERS[number],
                color=COLOURS[number],
                markersize=3,
                alpha=0.5,
            )
        axes.plot(at, [np.median(points[x]) for x in at], color=COLOURS[number], label=label)


def _bars(axes: Axes, groups: Sequence[str], bars: Bars) -> None:
    """`bars`: label → group → values of trials; a group without values stays empty."""
    width = 0.8 / max(len(bars), 1)
    for number, (label, values) in enumerate(bars.items()):
        at = [place + (number - (len(bars) - 1) / 2) * width for place in range(len(groups))]
        heights = [float(np.median(values[group])) if values.get(group) else np.nan for group in groups]
        axes.bar(at, heights, width * 0.92, color=COLOURS[number], label=label, zorder=2)
        for x, group in zip(at, groups, strict=True):
            some = values.get(group) or ()
            axes.plot([x] * len(some), list(some), ".", color="black", markersize=2.5, zorder=3)
    axes.set_xticks(range(len(groups)), list(groups))


def with_all_labels(panels: Mapping[str, Bars], order: Sequence[str]) -> dict[str, Bars]:
    """Every panel with the labels of all, in one order: a label has one colour in a figure."""
    labels = [label for label in order if any(label in bars for bars in panels.values())]
    return {name: {label: bars.get(label, {}) for label in labels} for name, bars in panels.items()}


def batches(runs: Sequence[Observed]) -> Result:
    """Shares beside five BBR flows with and without the barrier."""
    name, title = (
        "fig4_4",
        "Batches shape who gets what: shares beside five BBR flows with and without (Figure 4.4)",
    )
    rates, services = RATES, ("download", "cubic", "reno")
    rest: list[Summary] = []
    panels: dict[str, dict[str, dict[str, list[float]]]] = {}
    for rate in rates:
        for service in services:
            alike = at_one_length(runs, rate, [(service, "five"), (service, "batches")])
            for contender, label in (("five", "five flows"), ("batches", "five in batches")):
                pair_of = pair(alike["usual"], service, contender) if alike is not None else None
                if alike is not None and pair_of is not None:
                    panels.setdefault(rate, {}).setdefault(label, {})[service] = _shares(pair_of[0])
                    rest += [one for one in alike["usual"] if set(one.pair) == {service, contender}]
    if not panels:
        return Missing(
            name, title, "no service met five flows with and without batches: narrows run t12_batches"
        )
    figure, grid = canvas(1, len(panels), sharey=True)
    with styled():
        same = with_all_labels(panels, ("five flows", "five in batches"))
        for axes, (rate, bars) in zip(grid[0], same.items(), strict=True):
            _bars(axes, [s for s in services if any(s in of for of in bars.values())], bars)
            _fair(axes)
            axes.set_title(spelt(rate))
        _legend(figure, grid[0][0], "beside")
        grid[0][0].set_ylabel("share of its fair rate [%]")
    return _finish(name, title, figure, "Dashed: fair.", rest)


def calls(runs: Sequence[Observed]) -> Result:
    """Height, frames a second, freezes and late packets of calls, alone and beside each rival."""
    name, title = "fig4_5", "What a call gives up beside each rival (Figure 4.5)"
    reads = {
        "height [lines]": t13.LINES.read,
        "frames a second": t13.FRAMES.read,
        "freezes a minute": t13.FROZE.read,
        "packets above 190 ms [%]": lambda of: None if (v := t14.late(of)) is None else 100 * v,
    }
    own = [item for item in of_trials(runs, CALLED) if item.key.get("rate") == t13.RATE]
    values_of = {what: _by_rival(own, read, CALLED) for what, read in reads.items()}
    rivals = [
        r for r in ("alone", *RIVALS) if any(r in bars for of in values_of.values() for bars in of.values())
    ]
    if len(rivals) < 2:
        return Missing(name, title, "no call met a rival: narrows run t13_calls")
    figure, grid = canvas(2, 2, row_in=1.5)
    cells = [axes for row in grid for axes in row]
    with styled():
        labels = dict.fromkeys(label for bars in values_of.values() for label in bars)
        for axes, (what, bars) in zip(cells, with_all_labels(values_of, list(labels)).items(), strict=True):
            _bars(axes, rivals, bars)
            axes.set_ylabel(what)
        _legend(figure, cells[0], "call")
    ids = run_ids(item.of[0].run for item in own)
    caption = (
        "8 Mbit/s, drop-tail of 128 packets. Late: base RTT and queue together are above "
        f"190 ms. Points: trials; bars: their median. {count_runs(len(ids))}. {name_runs(ids)}"
    )
    return Drawing(name, title, caption, ids, figure)


def pages(runs: Sequence[Observed]) -> Result:
    """Time until 95 % of the visible region is painted, alone and beside each rival."""
    name, title = "fig4_6", "How long a page takes beside each rival (Figure 4.6)"
    panels: dict[str, dict[str, dict[str, list[float]]]] = {}
    own = list(of_trials(runs, PAGES))
    for rate in RATES:
        here = [item for item in own if item.key.get("rate") == rate]
        for page, times in _by_rival(here, t16.TIME.read, {page: page for page in PAGES}).items():
            for rival, values in times.items():
                panels.setdefault(rate, {}).setdefault(rival, {})[page] = [v / 1e3 for v in values]
    panels = {rate: bars for rate, bars in panels.items() if len(bars) > 1}
    if not panels:
        return Missing(name, title, "no page was loaded alone and beside a rival: narrows run t16_pages")
    figure, grid = canvas(1, len(panels))
    with styled():
        for axes, (rate, bars) in zip(
            grid[0], with_all_labels(panels, ("alone", *RIVALS)).items(), strict=True
        ):
            _bars(axes, [page for page in PAGES if any(page in of for of in bars.values())], bars)
            axes.set_title(spelt(rate))
        _legend(figure, grid[0][0], "beside")
        grid[0][0].set_ylabel("95 % painted after [s]")
    ids = run_ids(item.of[0].run for item in own)
    caption = (
        "Each trial is the median of ten loads, 45 s apart, each with a new profile. "
        f"{count_runs(len(ids))}. {name_runs(ids)}"
    )
    return Drawing(name, title, caption, ids, figure)


def _by_rival(
    items: Sequence[Item], read: Read, called: Mapping[str, str]
) -> dict[str, dict[str, list[float]]]:
    """A number of every valid trial, by the service's name in a figure and beside whom."""
    found: dict[str, dict[str, list[float]]] = {}
    for service, label in called.items():
        for rival in (NOBODY, *RIVALS):
            own = (item for item in items if (item.key["service"], item.key["beside"]) == (service, rival))
            values = [value for item in own if (value := read(item.of)) is not None]
            if values:
                found.setdefault(label, {})["alone" if rival == NOBODY else rival] = values
    return found


def bandwidths(runs: Sequence[Observed]) -> Result:
    """Share and rate of a video beside a download over the link's rate."""
    name, title = "fig4_7", "A video beside a BBR download from 8 to 100 Mbit/s (Figure 4.7)"
    rest = t20.sweep(runs)
    known = {
        Rate.parse(spelt(one.key["rate"])).bps / 1e6: one.of
        for one in sides(rest)
        if one.key["service"] == "dash"
    }
    if not known:
        return Missing(
            name,
            title,
            f"the video met the download at fewer than {t20.FEWEST} rates: narrows run t20_bandwidth",
        )
    figure, grid = canvas(1, 2)
    with styled():
        for axes, read, what in (
            (grid[0][0], _shares, "the video's share [%]"),
            (grid[0][1], lambda side: list(side.rates_mbps), "the video's rate [Mbit/s]"),
        ):
            _lines(axes, {"dash": {round(rate): read(side) for rate, side in known.items()}})
            axes.set_xlabel("rate of the link [Mbit/s]")
            axes.set_ylabel(what)
            axes.set_ylim(bottom=0)
        _fair(grid[0][0])
    return _finish(name, title, figure, "Drop-tail near 4 × BDP at each rate; dashed: fair.", rest)


def buffers(runs: Sequence[Observed]) -> Result:
    """Shares at the usual and at twice the queue."""
    name, title = "fig4_8", "Twice the buffer (Figure 4.8)"
    rest: list[Summary] = []
    bars: dict[str, dict[str, list[float]]] = {}
    for rate, one, other in (*t19.RISES, *t19.FALLS):
        alike = at_one_length(runs, rate, [(one, other)], queue=("usual", "double"))
        for queue, label in (("usual", "usual queue"), ("double", "twice the queue")):
            pair_of = pair(alike[queue], one, other) if alike is not None else None
            if alike is not None and pair_of is not None:
                group = f"{one} beside {other}\n{spelt(rate)}"
                bars.setdefault(label, {})[group] = _shares(pair_of[0])
                rest += [each for each in alike[queue] if set(each.pair) == {one, other}]
    if len(bars) < 2:
        return Missing(name, title, "no pair met at both sizes of the queue: narrows run t19_buffer")
    figure, grid = canvas(1, 1)
    axes = grid[0][0]
    with styled():
        _bars(axes, list(dict.fromkeys(group for of in bars.values() for group in of)), bars)
        _fair(axes)
        axes.set_ylabel("share of its fair rate [%]")
        axes.legend()
    return _finish(name, title, figure, "Dashed: fair.", rest)


def spread(runs: Sequence[Observed]) -> Result:
    """The rate of a service in each trial of the pairs that vary most."""
    name, title = "fig4_10", "Which outcomes differ from trial to trial (Figure 4.10)"
    panels: dict[str, list[tuple[float, str, Side]]] = {}
    rest: list[Summary] = []
    for rate in RATES:
        for one in most_tried(runs, rate):
            side = one.sides[0]
            if one.n >= FEWEST_TRIALS and side.rate_mbps:
                width = (max(side.rates_mbps) - min(side.rates_mbps)) / side.rate_mbps
                panels.setdefault(rate, []).append((width, f"{one.pair[0]} beside {one.pair[1]}", side))
                rest.append(one)
    if not panels:
        return Missing(name, title, f"no pair has {FEWEST_TRIALS} valid trials")
    figure, grid = canvas(1, len(panels), row_in=2.6)
    with styled():
        for axes, (rate, pairs) in zip(grid[0], panels.items(), strict=True):
            widest = sorted(pairs, key=lambda each: -each[0])[:MOST_PAIRS]
            for row, (_, _, side) in enumerate(widest):
                axes.plot(
                    [min(side.rates_mbps), max(side.rates_mbps)], [row, row], color="#bbbbbb", linewidth=1.0
                )
                axes.plot(side.rates_mbps, [row] * len(side.rates_mbps), "o", color=COLOURS[0], markersize=3)
            axes.set_yticks(range(len(widest)), [label for _, label, _ in widest])
            axes.invert_yaxis()
            axes.set_xlim(left=0)
            axes.set_xlabel("rate of the first [Mbit/s]")
            axes.set_title(spelt(rate))
    told = f"The pairs of {FEWEST_TRIALS} trials and more whose rates lie widest apart, over their median."
    return _finish(name, title, figure, told, rest)


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
    figure, grid = canvas(1, 1, row_in=0.3 + 0.19 * len(rows))
    axes = grid[0][0]
    axes.axis("off")
    columns = ["link", "a", "b", "c", "b beside a", "c beside b", "c beside a"]
    axes.table(cellText=rows, colLabels=columns, cellLoc="center", loc="center", bbox=(0.0, 0.0, 1.0, 1.0))  # type: ignore[arg-type]
    return _finish(
        name, title, figure, f"Shares of the fair rate; the {len(rows)} clearest of all that are so.", rest
    )
