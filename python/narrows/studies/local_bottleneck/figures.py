"""The equivalents of Figures 5 to 15 of Grazia et al.: what is traded, ICMP over time, shares, and classes.

Several of their figures are the same picture of another line; here a picture has all lines that were run.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator
from matplotlib.transforms import Bbox

from narrows.comparing.conditions import group
from narrows.figures.distributions import distributions
from narrows.figures.drawing import Missing, Result, run_ids
from narrows.figures.style import DIRECTION, canvas, panels_of, styled
from narrows.judging.parts import Read, fits, one
from narrows.metrics.statistics.arrays import Floats, clean
from narrows.runs.observed import Observed, label
from narrows.studies.drawing import PLAIN, Chart, draw, finished, of_items, under
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
    tests,
)

COLOUR = {"remote": "#4d4d4d", "local": "#cc79a7", "diffserv4": "#0072b2"}
MARKER = {"cubic": "o", "bbr": "s"}
WIRELESS = ("fwa-30-3", "geo")
SECTION = "The paper's figures"


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    fixed = [run for run in runs if run.key.get("profile") not in WIRELESS]
    wireless = [run for run in runs if run.key.get("profile") in WIRELESS]
    made: list[Callable[[], Result]] = [
        partial(draw_one, of, name, title, *more)
        for draw_one, of, name, title, *more in (
            (trade, runs, "fig5", "Bulk download: what is traded (Figure 5)", "down", "down"),
            (over_time, runs, "fig6", "ICMP during a CUBIC download (Figure 6)"),
            (trade, runs, "fig7", "Bulk upload: what is traded (Figure 7)", "up", "up"),
            (distributions, tested(runs, test="up"), "fig8",
             "Bulk upload: where packets wait (Figures 7 and 8)", ["up"]),
            (trade, runs, "fig9", "RRUL best effort: what is traded (Figure 9)", "best_effort", "down"),
            (shares, runs, "fig10", "RRUL best effort: the downloads' shares (Figure 10)"),
            (by_class, runs, "fig11", "RRUL best effort: the uploads' RTT (Figure 11)", "best_effort"),
            (by_class, fixed, "fig12", "RRUL with classes: RTTs of the uploads (Figures 12, 13)", "classes"),
            (by_class, fixed, "fig13", "RRUL with classes: rates of the uploads (Figures 12, 13)", "classes",
             "profile", "up"),
            (by_class, runs, "fig14", "RRUL with classes: RTTs behind other queues (Figure 14)", "classes",
             "isp"),
            (by_class, wireless, "fig15a", "RRUL with classes: rates of the downloads (Figure 15a)",
             "classes", "profile", "down"),
            (by_class, wireless, "fig15b", "RRUL with classes: rates of the uploads (Figure 15b)", "classes",
             "profile", "up"),
            (by_class, wireless, "fig15c", "RRUL with classes: RTTs of the uploads (Figure 15c)", "classes"),
            (rules, runs, "table2", "What the paper's rules say of each queue (Table II)"),
        )
    ]  # fmt: skip
    return [(SECTION, make) for make in made]


def trade(runs: Sequence[Observed], name: str, title: str, test: str, direction: str) -> Result:
    """Goodput against ICMP's RTT under load, a panel a profile; a bar from its 5th to its 95th percentile."""
    shown = [r for r in tested(runs, test=test) if label(r, "home") in COLOUR and "profile" in r.key]
    if not shown:
        return Missing(name, title, "no such test with the bottleneck remote and local")
    by = ["profile", *(["flows"] if test == "best_effort" else [])]
    panels = list(group(shown, by).items())[:6]
    figure, cells = panels_of(len(panels), min(3, len(panels)))
    with styled():
        for axes, (key, members) in zip(cells, panels, strict=True):
            axes.set_title(", ".join(key))
            for (home, cca), same in group(members, ["home", "cca"]).items():
                _cross(axes, same, home, cca, direction)
            axes.set_xlabel("ICMP RTT under load [ms]")
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.xaxis.set_major_formatter(PLAIN)
            axes.minorticks_off()
        for axes in cells[::3]:
            axes.set_ylabel(f"{DIRECTION[direction]} goodput [Mbit/s]")
        _legend(figure, cells[0], [h for h in COLOUR if any(label(r, "home") == h for r in shown)])
    told = (
        "Goodput and ICMP's RTT during the load, medians over repetitions; the bar goes from the 5th to the "
        "95th percentile of the RTT."
    )
    return finished(name, title, told, run_ids(r for _, members in panels for r in members), figure)


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
    figure, [[axes]] = canvas(1, 1, row_in=1.9)
    with styled():
        for home, some in chosen.items():
            probe = some[0].probes["ping"]
            axes.plot(probe.rtt_ms.t_ns / 1e9, probe.rtt_ms.value, color=COLOUR[home], label=home)
        axes.set_xlabel("time [s]")
        axes.set_ylabel("ICMP RTT [ms]")
        figure.legend(loc="outside upper center", ncols=2)
    told = "One repetition each, FTTC 30/10, the load from 5 to 25 s."
    return finished(name, title, told, run_ids(some[0] for some in chosen.values()), figure)


def shares(runs: Sequence[Observed], name: str, title: str) -> Result:
    """The goodput of each of four downloads, from the slowest to the fastest."""
    own = [
        item for item in tests(runs)
        if fits(item.key, {"test": "best_effort", "flows": "4", "home": tuple(COLOUR), "profile": ()})
    ]  # fmt: skip
    points = [
        point
        for n, which in enumerate(("slowest", "second", "third", "fastest"))
        for point in under(of_items(own, _nth_rate(n), ("profile", "home", "cca")), which=which)
    ]
    chart = Chart(
        name, title, ("profile", "home", "cca"), "goodput [Mbit/s]", "which",
        told="Goodput of each of four downloads, sorted; medians over repetitions, a dot for each.",
        missing="no RRUL with four flows each way",
    )  # fmt: skip
    return draw(chart, points, [item.once for item in own])


def _nth_rate(n: int) -> Read:
    def read(run: Observed) -> float | None:
        rates = flow_rates_mbps(run, "test.down-BE", "down")
        return float(rates[n]) if rates.size > n else None

    return read


def by_class(
    runs: Sequence[Observed], name: str, title: str, test: str, axis: str = "profile", rates: str = ""
) -> Result:
    """Median TCP RTT of the uploads, or the goodput of a direction (`rates`), of each class."""
    own = [
        item for item in tests(runs)
        if fits(item.key, {"test": test, axis: ()}) and item.key.get("flows", "4") in ("4", "-")
    ]  # fmt: skip
    by = (axis, *(("home",) if axis == "profile" else ()), "cca")
    points = [
        point
        for each in (CLASSES if test == "classes" else ("BE",))
        for point in under(
            of_items(own, class_rate_mbps(each, rates) if rates else tcp_rtt_ms(f"test.up-{each}"), by),
            **{"class": each},
        )
    ]
    what = "Goodput" if rates else "Base RTT and what the tap saw packets wait, median,"
    chart = Chart(
        name, title, by, "goodput [Mbit/s]" if rates else "TCP RTT [ms]", "class", log=not rates,
        told=f"{what} of the {DIRECTION[rates or 'up']}s of each class; medians over repetitions.",
        missing="no such test",
    )  # fmt: skip
    return draw(chart, points, [item.once for item in own])


def rules(runs: Sequence[Observed], name: str, title: str) -> Result:
    """A row for each queue of the ISP: what each rule says of it, and whether that is so."""
    verdict = l10.judge(runs)
    numbers = list(l10.seen(verdict.numbers))
    shown = list(dict.fromkeys(each.conditions["isp"] for each in numbers))
    if not shown:
        return Missing(name, title, "no tests of disciplines that are known")
    figure, [[axes]] = canvas(1, 1, row_in=0.25 + 0.2 * len(shown))
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
    told = (
        "What the rules say of an ISP's queue that is known: ICMP below 100 ms is an AQM, downloads alike "
        "are packet scheduling, CS5 ahead is QoS. Red: not so."
    )
    return finished(name, title, told, verdict.run_ids, figure)


def values(runs: Sequence[Observed], read: Read) -> Floats:
    """A quantity of each run that has it."""
    return clean([value for run in runs if (value := read(run)) is not None])


def _legend(figure: object, axes: Axes, homes: Sequence[str]) -> None:
    handles = [axes.plot([], [], "-", color=COLOUR[h], label=h)[0] for h in homes]
    handles += [axes.plot([], [], MARKER[c], color="#666666", label=c)[0] for c in CCAS]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))  # type: ignore[attr-defined]
