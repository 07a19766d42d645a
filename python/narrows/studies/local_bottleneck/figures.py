"""The equivalents of Figures 5 to 15 of Grazia et al.: what is traded, ICMP over time, shares, and classes.

Several of their figures are the same picture of another line; here a picture has all lines that were run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator
from matplotlib.transforms import Bbox

from narrows.comparing.conditions import group
from narrows.figures.distributions import distributions
from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs, run_ids
from narrows.figures.style import DIRECTION, canvas, styled
from narrows.judging.items import Read
from narrows.judging.judge import one
from narrows.metrics.statistics.arrays import Floats, clean
from narrows.runs.observed import Observed, label
from narrows.studies.local_bottleneck.claims import l10
from narrows.studies.local_bottleneck.claims.measures import (
    CCAS,
    CLASSES,
    class_rate_mbps,
    flow_rates_mbps,
    goodput_mbps,
    icmp_ms,
    tcp_rtt_ms,
    tested,
)

COLOUR = {"remote": "#4d4d4d", "local": "#cc79a7", "diffserv4": "#0072b2"}
MARKER = {"cubic": "o", "bbr": "s"}
WIRELESS = ("fwa-30-3", "geo")
PLAIN = FuncFormatter(lambda value, _: f"{value:g}")
SECTION = "The paper's figures"


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    """What the study's page draws, each with its section."""
    fixed = [run for run in runs if run.key.get("profile") not in WIRELESS]
    wireless = [run for run in runs if run.key.get("profile") in WIRELESS]
    made: list[Callable[[], Result]] = [
        lambda: trade(runs, "fig5", "Bulk download: what is traded (Figure 5)", "down", "down"),
        lambda: over_time(runs, "fig6", "ICMP during a CUBIC download (Figure 6)"),
        lambda: trade(runs, "fig7", "Bulk upload: what is traded (Figure 7)", "up", "up"),
        lambda: distributions(
            tested(runs, test="up"), "fig8", "Bulk upload: where packets wait (Figures 7 and 8)", ["up"]
        ),
        lambda: trade(runs, "fig9", "RRUL best effort: what is traded (Figure 9)", "best_effort", "down"),
        lambda: shares(runs, "fig10", "RRUL best effort: the downloads' shares (Figure 10)"),
        lambda: by_class(runs, "fig11", "RRUL best effort: the uploads' RTT (Figure 11)", "best_effort"),
        lambda: by_class(
            fixed, "fig12", "RRUL with classes: RTTs of the uploads (Figures 12, 13)", "classes"
        ),
        lambda: by_class(
            fixed, "fig13", "RRUL with classes: rates of the uploads (Figures 12, 13)", "classes", rates="up"
        ),
        lambda: by_class(
            runs, "fig14", "RRUL with classes: RTTs behind other queues (Figure 14)", "classes", axis="isp"
        ),
        lambda: by_class(
            wireless,
            "fig15a",
            "RRUL with classes: rates of the downloads (Figure 15a)",
            "classes",
            rates="down",
        ),
        lambda: by_class(
            wireless, "fig15b", "RRUL with classes: rates of the uploads (Figure 15b)", "classes", rates="up"
        ),
        lambda: by_class(
            wireless, "fig15c", "RRUL with classes: RTTs of the uploads (Figure 15c)", "classes"
        ),
        lambda: rules(runs, "table2", "What the paper's rules say of each queue (Table II)"),
    ]
    return [(SECTION, make) for make in made]


def trade(runs: Sequence[Observed], name: str, title: str, test: str, direction: str) -> Result:
    """Goodput against ICMP's RTT under load, a panel a profile; a bar from its 5th to its 95th percentile."""
    shown = [r for r in tested(runs, test=test) if label(r, "home") in COLOUR and "profile" in r.key]
    if not shown:
        return Missing(name, title, "no such test with the bottleneck remote and local")
    by = ["profile", *(["flows"] if test == "best_effort" else [])]
    panels = list(group(shown, by).items())[:6]
    figure, grid = canvas(-(-len(panels) // 3), min(3, len(panels)))
    cells = [axes for row in grid for axes in row]
    with styled():
        for axes, (key, members) in zip(cells, panels, strict=False):
            axes.set_title(", ".join(key))
            for (home, cca), same in group(members, ["home", "cca"]).items():
                _cross(axes, same, home, cca, direction)
            axes.set_xlabel("ICMP RTT under load [ms]")
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.xaxis.set_major_formatter(PLAIN)
            axes.minorticks_off()
        for axes in cells[len(panels) :]:
            axes.set_visible(False)
        for row in grid:
            row[0].set_ylabel(f"{DIRECTION[direction]} goodput [Mbit/s]")
        _legend(figure, cells[0], [h for h in COLOUR if any(label(r, "home") == h for r in shown)])
    ids = run_ids(r for _, members in panels for r in members)
    caption = (
        "Goodput and ICMP's RTT during the load, medians over repetitions; the bar goes from the 5th to the "
        f"95th percentile of the RTT. {count_runs(len(ids))}. {name_runs(ids)}"
    )
    return Drawing(name, title, caption, ids, figure)


def _cross(axes: Axes, same: Sequence[Observed], home: str, cca: str, direction: str) -> None:
    reads: tuple[Read, ...] = (icmp_ms(5), icmp_ms(50), icmp_ms(95), goodput_mbps(direction))
    low, middle, high, rate = (values(same, read) for read in reads)
    if not (middle.size and rate.size):
        return
    y = float(np.median(rate))
    axes.plot([np.median(low), np.median(high)], [y, y], color=COLOUR[home], linewidth=1.0)
    axes.plot([np.median(middle)], [y], MARKER[cca], color=COLOUR[home], markersize=5)


def over_time(runs: Sequence[Observed], name: str, title: str) -> Result:
    """ICMP's RTT over one run, remote and local."""
    every = {
        h: tested(runs, test="down", profile="fttc-30-10", cca="cubic", home=h) for h in ("remote", "local")
    }
    if not all(every.values()):
        return Missing(name, title, "no CUBIC download on FTTC with both bottlenecks")
    # A shard keeps what came of a probe, not each answer.
    chosen = {home: [run for run in some if "ping" in run.probes] for home, some in every.items()}
    if not all(chosen.values()):
        return Missing(
            name, title, "runs that are kept have no probe over time: narrows run l01_bulk_download"
        )
    figure, grid = canvas(1, 1, row_in=1.9)
    axes = grid[0][0]
    with styled():
        for home, some in chosen.items():
            probe = some[0].probes["ping"]
            axes.plot(probe.rtt_ms.t_ns / 1e9, probe.rtt_ms.value, color=COLOUR[home], label=home)
        axes.set_xlabel("time [s]")
        axes.set_ylabel("ICMP RTT [ms]")
        figure.legend(loc="outside upper center", ncols=2)
    ids = run_ids(some[0] for some in chosen.values())
    caption = (
        f"One repetition each, FTTC 30/10, the load from 5 to 25 s. {count_runs(len(ids))}. {name_runs(ids)}"
    )
    return Drawing(name, title, caption, ids, figure)


def shares(runs: Sequence[Observed], name: str, title: str) -> Result:
    """The goodput of each of four downloads, from the slowest to the fastest."""
    shown = [
        r
        for r in tested(runs, test="best_effort", flows="4")
        if label(r, "home") in COLOUR and "profile" in r.key
    ]
    groups = list(group(shown, ["profile", "home", "cca"]).items())
    drawn = [
        (key, np.array([flow_rates_mbps(r, "test.down-BE", "down") for r in same])) for key, same in groups
    ]
    drawn = [(key, rates) for key, rates in drawn if rates.ndim == 2 and rates.size]
    if not drawn:
        return Missing(name, title, "no RRUL with four flows each way")
    figure, grid = canvas(1, 1, row_in=2.0)
    axes = grid[0][0]
    with styled():
        for x, ((_, home, _), rates) in enumerate(drawn):
            height = np.median(rates, axis=0)
            axes.bar(x + 0.2 * (np.arange(height.size) - 1.5), height, 0.18, color=COLOUR[home])
        axes.set_xticks(range(len(drawn)), ["\n".join(key) for key, _ in drawn], fontsize=5.5)
        axes.set_ylabel("goodput [Mbit/s]")
    ids = run_ids(r for _, same in groups for r in same)
    caption = (
        "Goodput of each of four downloads, sorted; medians over repetitions of the slowest, the second, the "
        f"third and the fastest. {count_runs(len(ids))}. {name_runs(ids)}"
    )
    return Drawing(name, title, caption, ids, figure)


def by_class(
    runs: Sequence[Observed], name: str, title: str, test: str, *, axis: str = "profile", rates: str = ""
) -> Result:
    """Median TCP RTT of the uploads, or the goodput of a direction (`rates`), of each class."""
    shown = [r for r in tested(runs, test=test) if axis in r.key and r.key.get("flows", "4") in ("4", "-")]
    classes = CLASSES if test == "classes" else ("BE",)
    by = [axis, *(["home"] if axis == "profile" else []), "cca"]
    groups = list(group(shown, by).items())[:16]
    if not groups:
        return Missing(name, title, "no such test")
    figure, grid = canvas(1, 1, row_in=2.2)
    axes = grid[0][0]
    width = 0.8 / len(classes)
    shades = ("#d55e00", "#e69f00", "#56b4e9", "#999999")
    with styled():
        for n, each in enumerate(classes):
            read = class_rate_mbps(each, rates) if rates else tcp_rtt_ms(f"test.up-{each}")
            height = [float(np.median(v)) if (v := values(same, read)).size else np.nan for _, same in groups]
            places = np.arange(len(groups)) + width * (n - (len(classes) - 1) / 2)
            axes.bar(places, height, 0.9 * width, color=shades[n], label=each)
        axes.set_xticks(range(len(groups)), ["\n".join(key) for key, _ in groups], fontsize=6)
        axes.set_ylabel("goodput [Mbit/s]" if rates else "TCP RTT [ms]")
        if not rates:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.yaxis.set_major_formatter(PLAIN)
            axes.minorticks_off()
        if len(classes) > 1:
            figure.legend(loc="outside upper center", ncols=len(classes))
    ids = run_ids(r for _, same in groups for r in same)
    what = "Goodput" if rates else "Base RTT and what the tap saw packets wait, median,"
    told = f"{count_runs(len(ids))}. {name_runs(ids)}"
    caption = f"{what} of the {DIRECTION[rates or 'up']}s of each class; medians over repetitions. {told}"
    return Drawing(name, title, caption, ids, figure)


def rules(runs: Sequence[Observed], name: str, title: str) -> Result:
    """A row for each queue of the ISP: what each rule says of it, and whether that is so."""
    verdict = l10.judge(runs)
    numbers = list(l10.seen(verdict.numbers))
    shown = list(dict.fromkeys(each.conditions["isp"] for each in numbers))
    if not shown:
        return Missing(name, title, "no tests of disciplines that are known")
    figure, grid = canvas(1, 1, row_in=0.25 + 0.2 * len(shown))
    axes = grid[0][0]
    axes.axis("off")
    columns = [rule.words for rule in l10.RULES]
    cells, colours = [], []
    for isp in shown:
        said = [one(numbers, l10.SEEN, isp=isp, rule=column) for column in columns]
        answers = [each is not None and bool(each.value) for each in said]
        right = [a == b for a, b in zip(answers, l10.TRUTH[isp], strict=True)]
        cells.append(["yes" if answer else "no" for answer in answers])
        colours.append(["#ffffff" if is_right else "#f4c7b8" for is_right in right])
    axes.table(
        cellText=cells, cellColours=colours, rowLabels=shown, colLabels=columns, cellLoc="center",
        bbox=Bbox.from_bounds(0.2, 0.0, 0.8, 1.0),
    )  # fmt: skip
    ids = verdict.run_ids
    caption = (
        "What the rules say of an ISP's queue that is known: ICMP below 100 ms is an AQM, downloads alike "
        f"are packet scheduling, CS5 ahead is QoS. Red: not so. {count_runs(len(ids))}. {name_runs(ids)}"
    )
    return Drawing(name, title, caption, ids, figure)


def values(runs: Sequence[Observed], read: Read) -> Floats:
    """A quantity of each run that has it."""
    return clean([value for run in runs if (value := read(run)) is not None])


def _legend(figure: object, axes: Axes, homes: Sequence[str]) -> None:
    handles = [axes.plot([], [], "-", color=COLOUR[h], label=h)[0] for h in homes]
    handles += [axes.plot([], [], MARKER[c], color="#666666", label=c)[0] for c in CCAS]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))  # type: ignore[attr-defined]
