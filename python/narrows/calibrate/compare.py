"""Holds readings against the truth of the same runs: errors, bias and spread, rank inversions, parameters,
cost.

To be compared, a reading and its truth are brought to one quantity:

- throughput against the capacity that the cross traffic left, as TCP payload (bit/s; errors also as share);
  one of another layer is taken as the payload that full packets would have had in the same time on the link;
- latency under load, less the base RTT that calibration measured, against the queue delay that the tool's own
  packets met, and against that which a third party's packets met (ms);
- responsiveness as the time of one round trip (60000 / RPM ms), and then like a latency. RPM falls when the
  delay grows, the time does not: a bias above zero always means "read as slower than it was".

A condition is one point of the scenario's axes without tool and seed. Rank inversions are counted between
conditions, on medians over the seeds; resolution is half the range of the seeds (its median over conditions),
and never below FLOORS.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from narrows.metrics.statistics.bias import Bias, bias
from narrows.metrics.statistics.rank_inversions import Inversions, rank_inversions
from narrows.scoring.score import TRUTH
from narrows.spec.under_test import VARIED
from narrows.tools.reading import ADDED, CROSS, LATENCY, OWN, RPM, THIRD, THROUGHPUT
from narrows.units import MS_PER_MINUTE

FLOORS = {THROUGHPUT: 0.01, LATENCY: 0.5, ADDED: 0.5, RPM: 0.5}
"""Differences of condition below this are no difference: share of the median for rates, ms for the others."""
STATISTICS = ("p50", "p90", "p95", "p99", "mean")
IDENTITY = ("tool", "origin", "quantity", "metric", "direction", "whose")


@dataclass(frozen=True)
class AtCondition:
    """One figure under one condition: n runs, and medians over them."""

    condition: str
    n: int
    seen: float
    truth: float
    error: float | None
    """A share for rates, else ms."""


@dataclass(frozen=True)
class Summary:
    """One figure of one tool against one truth, over all conditions."""

    tool: str
    origin: str
    quantity: str
    metric: str
    direction: str
    whose: str
    bias: Bias
    inversions: Inversions | None
    worst_condition: str
    worst: float
    worst_relative: float | None
    least: float | None
    most: float | None
    """The lowest and highest of the conditions' median errors, as `typical` has them."""
    seeds_reach: float | None
    """Half the range of the errors over a condition's seeds (median of the conditions); None: one seed."""
    seen: float
    truth: float
    """Medians over all runs: what one number can say only where there is one condition."""
    conditions: tuple[AtCondition, ...]

    @property
    def relative(self) -> bool:
        """Errors of rates read best as a share, those of delays in ms."""
        return self.quantity == THROUGHPUT

    @property
    def no_spread(self) -> str | None:
        """Why there is no spread, where there is none."""
        if self.bias.n == 1:
            return "one run"
        if self.relative and self.bias.relative_iqr is None:
            return "the truth is 0 in all runs but one"
        return None

    @property
    def typical(self) -> float | None:
        """Median error: as a share for rates, in ms for delays."""
        return self.bias.relative_median if self.relative else self.bias.median


def truths(scores: pl.DataFrame) -> pl.DataFrame:
    """One row per run, direction and party: queue delay of each statistic in ms; and what was left, and
    spent.
    """
    rows = scores.filter(pl.col("source") == TRUTH)
    delays = (
        rows.filter(pl.col("metric").str.starts_with("queue_delay_"))
        .with_columns(statistic=pl.col("metric").str.strip_prefix("queue_delay_"), whose=pl.col("series"))
        .select("run_id", "direction", "whose", "statistic", truth="value")
        .filter(pl.col("whose").is_in([OWN, THIRD]))
    )
    rates = rows.filter(pl.col("metric") == "capacity_left").select(
        "run_id", "direction", pl.lit(CROSS).alias("whose"), pl.lit("p50").alias("statistic"), truth="value"
    )
    return pl.concat([delays, rates])


def compared(readings: pl.DataFrame, scores: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """Each reading with each truth it can be held against, and the runs' conditions: seen, truth, error."""
    keys = runs.with_columns(base_ms=pl.col("calibration_rtt_ns").cast(pl.Float64) / 1e6)
    table = readings.join(keys, on="run_id")
    value, base = pl.col("value"), pl.col("base_ms")
    quantity = pl.col("quantity")
    seen = (
        pl.when(quantity == LATENCY).then(value - base)
        .when(quantity == RPM).then(MS_PER_MINUTE / value - base)
        .otherwise(value * pl.col("payload_share"))
    )  # fmt: skip
    table = table.with_columns(seen=seen).join(truths(scores), on=["run_id", "direction", "statistic"])
    is_meant = pl.when(quantity == THROUGHPUT).then(pl.col("whose") == CROSS)
    table = table.filter(is_meant.otherwise(pl.col("held_against").list.contains(pl.col("whose"))))
    return table.with_columns(error=pl.col("seen") - pl.col("truth"))


def conditions(axes: Sequence[str]) -> pl.Expr:
    """`queue=cake rate=20Mbit`, of the axes that are not tool and seed."""
    if not axes:
        return pl.lit("the scenario").alias("condition")
    words = [pl.format(f"{axis}={{}}", pl.col(axis).fill_null("-")) for axis in axes]
    return pl.concat_str(words, separator=" ").alias("condition")


def summaries(table: pl.DataFrame) -> list[Summary]:
    """Every figure of every tool against every truth. `table` has the column condition."""
    found = []
    conditions_of = _parted(_by_condition(table))
    for key, rows in _parted(table).items():
        names = dict(zip(IDENTITY, (str(part) for part in key), strict=True))
        deviation = bias(rows["seen"], rows["truth"])
        if deviation is None:
            continue
        by = conditions_of[key]
        relative = names["quantity"] == THROUGHPUT
        rank = by["relative"] if relative else by["error"]
        at = int(np.argmax(np.abs(rank.fill_null(0.0).to_numpy())))
        known = rank.drop_nulls()
        reach = by["relative_reach" if relative else "error_reach"].drop_nulls()
        found.append(
            Summary(
                **names,
                bias=deviation,
                inversions=_inversions(by, relative),
                worst_condition=str(by["condition"][at]),
                worst=float(by["error"][at]),
                worst_relative=None if by["relative"][at] is None else float(by["relative"][at]),
                least=_median(known.sort().head(1)) if known.len() else None,
                most=_median(known.sort().tail(1)) if known.len() else None,
                seeds_reach=_median(reach) if reach.len() else None,
                seen=_median(rows["seen"]),
                truth=_median(rows["truth"]),
                conditions=tuple(
                    AtCondition(str(at), n, seen, truth, error)
                    for at, n, seen, truth, error in by.select(
                        "condition", "n", "seen", "truth", "relative" if relative else "error"
                    ).iter_rows()
                ),
            )
        )
    return found


def _parted(table: pl.DataFrame) -> dict[tuple[Any, ...], pl.DataFrame]:
    return table.partition_by(*IDENTITY, maintain_order=True, as_dict=True)


def _by_condition(table: pl.DataFrame) -> pl.DataFrame:
    """Medians over the seeds of each figure in each condition, and how far the seeds range."""
    ratio = pl.when(pl.col("truth") > 0).then(pl.col("seen") / pl.col("truth") - 1.0)
    return table.group_by(*IDENTITY, "condition", maintain_order=True).agg(
        pl.len().alias("n"),
        pl.col("seen").median(),
        pl.col("truth").median(),
        pl.col("error").median(),
        ratio.median().alias("relative"),
        _reach(pl.col("error")).alias("error_reach"),
        _reach(ratio).alias("relative_reach"),
        ((pl.col("seen").max() - pl.col("seen").min()) / 2).alias("seen_reach"),
        ((pl.col("truth").max() - pl.col("truth").min()) / 2).alias("truth_reach"),
    )


def _reach(values: pl.Expr) -> pl.Expr:
    """Half the range; NULL of fewer than two."""
    return pl.when(values.count() > 1).then((values.max() - values.min()) / 2)


def _inversions(by: pl.DataFrame, relative: bool) -> Inversions | None:
    floor = FLOORS[THROUGHPUT] * _median(by["truth"]) if relative else FLOORS[LATENCY]
    return rank_inversions(
        by["truth"],
        by["seen"],
        by["condition"].to_list(),
        truth_resolution=max(floor, _median(by["truth_reach"])),
        reading_resolution=max(floor, _median(by["seen_reach"])),
    )


def _median(column: pl.Series) -> float:
    value = column.median()
    return float(value) if isinstance(value, int | float) else 0.0


def cells(table: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Median error (and relative error) of each figure in each group of conditions, with n and quartiles."""
    ratio = pl.when(pl.col("truth") > 0).then(pl.col("seen") / pl.col("truth") - 1.0)
    return (
        table.group_by(*IDENTITY, *by, maintain_order=True)
        .agg(
            pl.len().alias("n"),
            pl.col("seen").median(),
            pl.col("truth").median(),
            pl.col("error").median().alias("bias"),
            pl.col("error").quantile(0.25, "linear").alias("p25"),
            pl.col("error").quantile(0.75, "linear").alias("p75"),
            ratio.median().alias("relative_bias"),
            ratio.quantile(0.25, "linear").alias("relative_p25"),
            ratio.quantile(0.75, "linear").alias("relative_p75"),
        )
        .sort(*IDENTITY, *by)
    )


def parameters(table: pl.DataFrame) -> pl.DataFrame:
    """How far an answer moves when one of the tool's own parameters does, on the same condition and seed."""
    answers = table.filter(pl.col("whose") != OWN).with_columns(
        usual=pl.col("tool").str.split(VARIED).list.first(),
        variation=pl.col("tool").str.split(VARIED).list.get(1, null_on_oob=True),
    )
    on = ["usual", "origin", "quantity", "metric", "direction", "condition", "seed"]
    varied, usual = (
        answers.filter(pl.col("variation").is_not_null()),
        answers.filter(pl.col("variation").is_null()),
    )
    pairs = varied.join(usual.select(*on, usual_value="value"), on=on)
    moved = pl.col("value") / pl.when(pl.col("usual_value") != 0).then(pl.col("usual_value")) - 1.0
    return (
        pairs.with_columns(moved=moved)
        .group_by("usual", "variation", "origin", "quantity", "metric", "direction", maintain_order=True)
        .agg(
            pl.len().alias("n"),
            pl.col("moved").median().alias("median"),
            pl.col("moved").quantile(0.05, "linear").alias("p5"),
            pl.col("moved").quantile(0.95, "linear").alias("p95"),
            pl.col("moved").abs().max().alias("most"),
        )
    )


def costs(scores: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """What each tool sends and receives through the bottleneck, in bytes, and for how long it loads."""
    spent = scores.filter((pl.col("source") == TRUTH) & (pl.col("metric") == "cost_bytes"))
    once = spent.unique("run_id", maintain_order=True).join(runs, on="run_id")
    return (
        once.group_by("tool", maintain_order=True)
        .agg(
            pl.len().alias("n"),
            pl.col("value").median().alias("median_bytes"),
            pl.col("value").min().alias("least_bytes"),
            pl.col("value").max().alias("most_bytes"),
        )
        .sort("tool")
    )


def orders(summaries_of: Iterable[Summary]) -> dict[tuple[str, str], int]:
    """How many figures invert each pair of conditions (smaller truth, larger truth)."""
    found: dict[tuple[str, str], int] = {}
    for one in summaries_of:
        for pair in one.inversions.which if one.inversions else ():
            found[pair] = found.get(pair, 0) + 1
    return found


SUMMARY: dict[str, Any] = {
    "tool": pl.String(), "origin": pl.String(), "quantity": pl.String(), "metric": pl.String(),
    "direction": pl.String(), "whose": pl.String(), "n": pl.Int64(), "bias": pl.Float64(),
    "bias_low": pl.Float64(), "bias_high": pl.Float64(), "iqr": pl.Float64(), "std": pl.Float64(),
    "relative_bias": pl.Float64(), "relative_iqr": pl.Float64(), "no_spread": pl.String(),
    "least": pl.Float64(), "most": pl.Float64(), "seeds_reach": pl.Float64(),
    "worst": pl.Float64(), "worst_relative": pl.Float64(), "worst_condition": pl.String(),
    "pairs": pl.Int64(), "inverted": pl.Int64(), "tied": pl.Int64(), "tau": pl.Float64(),
}  # fmt: skip


def as_frame(summaries: Sequence[Summary]) -> pl.DataFrame:
    """The summaries as one table; units: bit/s for throughput, ms for the others, shares of 1."""
    rows = []
    for s in summaries:
        b, i = s.bias, s.inversions
        interval = b.median_interval
        rows.append(
            (
                s.tool, s.origin, s.quantity, s.metric, s.direction, s.whose, b.n, b.median,
                interval.low if interval else None, interval.high if interval else None, b.iqr, b.std,
                b.relative_median, b.relative_iqr, s.no_spread, s.least, s.most, s.seeds_reach,
                s.worst, s.worst_relative, s.worst_condition,
                *((i.pairs, i.inverted, i.tied, i.tau) if i else (None,) * 4),
            )
        )  # fmt: skip
    return pl.DataFrame(rows, schema=SUMMARY, orient="row")
