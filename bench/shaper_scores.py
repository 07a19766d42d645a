"""What a run of `shapers.py` showed: the truth of the ISP's queue, the table of all runs, the picture."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl
from rich.table import Table

from narrows.spec.moving_rate import MovingRate

CALM_FROM_S = 3.0
"""Scores begin here: slow start has another purpose."""
AIM = 0.9
"""Of the causal oracle's goodput, at no more than its 95th percentile."""
SETTLED_MS, SETTLED_FOR_S = 20.0, 0.5
REACHED, REACHED_OVER_S = 0.9, 0.2
PANELS_ACROSS = 4
NS = 1e9

MIXES = ("cubic", "bbr", "mixed")
CONTESTANTS = (
    "none", "fixed-mean", "fixed-p5", "autorate-ingress", "cake-autorate", "narrows", "causal", "clairvoyant",
)  # fmt: skip


@dataclass(frozen=True)
class Score:
    """One run's truth."""

    rate: str
    mix: str
    shaper: str
    seed: str
    p50_ms: float
    p95_ms: float
    p99_ms: float
    goodput_bps: float
    call_p95_ms: float | None
    call_lost: float | None
    down_s: float | None
    """The longest time to settle after a step down; None: no steps, or it did not."""
    up_s: float | None


def scored(directory: Path, rate: MovingRate) -> Score:
    """A run, from its packets at the ISP and at home."""
    plan = json.loads((directory / "plan.json").read_text())
    text = [pl.col(column).cast(pl.String) for column in ("hop", "direction", "event")]
    rows = pl.scan_parquet(directory / "queue.parquet").with_columns(text)
    rows = rows.filter((pl.col("direction") == "down") & (pl.col("event") == "depart"))
    frame = rows.select("hop", "t_ns", "bytes", "sojourn_ns").collect()
    isp = frame.filter(pl.col("hop") == "isp").sort("t_ns")
    home = frame.filter(pl.col("hop") == "home")
    end_ns = int(isp["t_ns"].max())  # type: ignore[arg-type]
    late = isp.filter(pl.col("t_ns") >= CALM_FROM_S * NS)
    delivered = (home if home.height else isp).filter(pl.col("t_ns") >= CALM_FROM_S * NS)
    waited = late["sojourn_ns"].to_numpy() / 1e6
    rtts, sent = _call(directory)
    down_s, up_s = _settled(isp, rate, end_ns)
    key = plan["key"]
    return Score(
        rate="", mix=key["mix"], shaper=key["shaper"], seed=key["seed"],
        p50_ms=float(np.quantile(waited, 0.5)), p95_ms=float(np.quantile(waited, 0.95)),
        p99_ms=float(np.quantile(waited, 0.99)),
        goodput_bps=float(delivered["bytes"].sum()) * 8 / (end_ns / NS - CALM_FROM_S),
        call_p95_ms=float(np.quantile(rtts, 0.95)) if len(rtts) else None,
        call_lost=None if not sent else 1 - len(rtts) / sent,
        down_s=down_s, up_s=up_s,
    )  # fmt: skip


def _call(directory: Path) -> tuple[np.ndarray, int]:
    """Round trips of the call-like stream in ms, and how many were sent."""
    samples = pl.scan_parquet(directory / "samples.parquet").with_columns(
        pl.col("item", "quantity").cast(pl.String)
    )
    rows = samples.filter(
        (pl.col("item") == "call") & (pl.col("quantity") == "rtt") & (pl.col("t_ns") >= CALM_FROM_S * NS)
    ).collect()
    return rows["value"].drop_nulls().to_numpy() / 1e6, rows.height


def _settled(isp: pl.DataFrame, rate: MovingRate, end_ns: int) -> tuple[float | None, float | None]:
    """The longest time until the ISP's queue is short, and until the link is used, after large steps."""
    t, waited = isp["t_ns"].to_numpy(), isp["sojourn_ns"].to_numpy() / 1e6
    sent = np.cumsum(isp["bytes"].to_numpy()) * 8.0
    steps = list(rate.until(end_ns))
    downs, ups = [], []
    for n in range(1, len(steps)):
        (_, before), (at, now) = steps[n - 1], steps[n]
        until = steps[n + 1][0] if n + 1 < len(steps) else end_ns
        if not before or not now or until - at < 5 * NS or at < CALM_FROM_S * NS:
            continue
        if now <= before / 2:
            bad = t[(t >= at) & (t < until) & (waited > SETTLED_MS)]
            gaps = np.append(np.diff(np.append(at, bad)), until - (bad[-1] if bad.size else at))
            calm = np.flatnonzero(gaps >= SETTLED_FOR_S * NS)
            downs.append((np.append(at, bad)[calm[0]] - at) / NS if calm.size else np.inf)
        elif now >= 2 * before:
            grid = np.arange(at, until - REACHED_OVER_S * NS, 10e6)
            carried = np.interp(grid + REACHED_OVER_S * NS, t, sent) - np.interp(grid, t, sent)
            fast = np.flatnonzero(carried >= REACHED * now * REACHED_OVER_S)
            ups.append((grid[fast[0]] + REACHED_OVER_S * NS - at) / NS if fast.size else np.inf)
    worst = [max(found) if found and np.isfinite(max(found)) else None for found in (downs, ups)]
    return worst[0], worst[1]


def table(scores: list[Score]) -> Table:
    """Medians over the repetitions, with the range."""
    made = Table(title="Sojourn in the ISP's queue, goodput, call: median (range) of the repetitions")
    for column in ("rate", "mix", "shaper", "n", "p50 [ms]", "p95 [ms]", "p99 [ms]", "goodput [Mbit/s]",
                   "causal p95", "causal Mbit/s", "clairv. p95", "clairv. Mbit/s",
                   "of causal", "aim", "call p95 [ms]", "call lost",
                   "settled [s]", "reached [s]"):  # fmt: skip
        made.add_column(column, justify="right", no_wrap=True)
    cells: dict[tuple[str, str, str], list[Score]] = defaultdict(list)
    for score in scores:
        cells[score.rate, score.mix, score.shaper].append(score)
    for (rate, mix, shaper), found in cells.items():
        oracles = [cells.get((rate, mix, name), []) for name in ("causal", "clairvoyant")]
        beside = [text for each in oracles for text in _oracle(each)]
        good = [each.goodput_bps / 1e6 for each in found]
        made.add_row(
            rate, mix, shaper, str(len(found)),
            *(_spread([getattr(each, name) for each in found]) for name in ("p50_ms", "p95_ms", "p99_ms")),
            _spread(good), *beside, *_aim(found, oracles[0]), _spread([each.call_p95_ms for each in found]),
            _spread([None if each.call_lost is None else 100 * each.call_lost for each in found], " %"),
            _spread([each.down_s for each in found], digits=2),
            _spread([each.up_s for each in found], digits=2),
        )  # fmt: skip
    return made


def _oracle(scores: list[Score]) -> tuple[str, str]:
    """An oracle's p95 in ms and its goodput in Mbit/s."""
    if not scores:
        return "–", "–"
    goodput = median(each.goodput_bps for each in scores) / 1e6
    return f"{median(each.p95_ms for each in scores):.1f}", f"{goodput:.1f}"


def _aim(scores: list[Score], causal: list[Score]) -> tuple[str, str]:
    """The share of the causal oracle's goodput, and what of the aim is missed."""
    if not causal:
        return "–", "–"
    share = median(each.goodput_bps for each in scores) / median(each.goodput_bps for each in causal)
    late = median(each.p95_ms for each in scores) > median(each.p95_ms for each in causal)
    missed = [what for what, is_missed in (("goodput", share < AIM), ("p95", late)) if is_missed]
    return f"{100 * share:.0f} %", " ".join(missed) or "met"


def _spread(values: Sequence[float | None], unit: str = "", digits: int = 1) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    text = f"{median(known):.{digits}f}{unit}"
    return text if len(known) < 2 else f"{text} ({min(known):.{digits}f}–{max(known):.{digits}f})"


def pareto(scores: list[Score], path: Path) -> None:
    """Goodput as a share of the causal oracle's against p95 in the ISP's queue, one panel a rate."""
    from matplotlib.figure import Figure

    rates = list(dict.fromkeys(score.rate for score in scores))
    across = min(len(rates), PANELS_ACROSS)
    down = -(-len(rates) // across)
    figure = Figure(figsize=(4 * across, 4 * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for empty in axes[len(rates) :]:
        empty.set_axis_off()
    colours = {name: f"C{n}" for n, name in enumerate(CONTESTANTS)}
    marks = dict(zip(MIXES, "osD", strict=True))
    for axis, rate in zip(axes, rates, strict=False):
        here = [score for score in scores if score.rate == rate]
        for score in here:
            oracle = [each.goodput_bps for each in here if (each.mix, each.shaper) == (score.mix, "causal")]
            if oracle:
                axis.scatter(max(score.p95_ms, 0.1), 100 * score.goodput_bps / median(oracle), s=30,
                             color=colours[score.shaper], marker=marks[score.mix])  # fmt: skip
        axis.set(title=rate, xscale="log", xlabel="p95 of the sojourn in the ISP's queue [ms]")
    axes[0].set_ylabel("goodput [% of the causal oracle's]")
    for name in dict.fromkeys(score.shaper for score in scores):
        axes[-1].scatter([], [], color=colours[name], label=name)
    for name in dict.fromkeys(score.mix for score in scores):
        axes[-1].scatter([], [], color="black", marker=marks[name], label=name)
    axes[-1].legend(fontsize=7)
    figure.savefig(path, dpi=150)
