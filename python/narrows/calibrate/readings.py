"""What each figure is a reading of: of capacity, of latency under load, or of responsiveness; and for whom.

A reading is a figure of the tool itself (its own output, under its own definition), or a metric of
`narrows.scoring.score` on what was recorded while the tool loaded the link: its own packets at the
bottleneck, the smoothed RTT of its own connections, or a third party's probe. Each is held against a truth of
the same statistic (a p95 against the p95 of what the queue did). What a figure of a tool reads is declared in
the tool's `readings.py`. One that nothing declares is no reading, and is named (`undeclared`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from narrows.errors import StoreError
from narrows.plan.items import OwnTool
from narrows.plan.model import Plan
from narrows.store import own_tools
from narrows.store.items import sending_direction
from narrows.tools import registry
from narrows.tools.reading import ADDED, IP, LATENCY, RPM, THROUGHPUT, UNITS, Figure, Reading

TOOL, OWN_PACKETS, OWN_RTT, PROBE = (
    "the tool's answer",
    "its own packets",
    "its own RTT",
    "a third party's probe",
)
ORIGINS = (TOOL, OWN_PACKETS, OWN_RTT, PROBE)


_JOINED = {"rpm": "{}, {}", "throughput_after_omit": "after {1}", "throughput_p90_requests": "{}, {}"}
"""How words and variant of a metric that has variants go together."""


def declared() -> dict[str, Reading | Figure]:
    """What every figure of the tools that come with narrows means."""
    found: dict[str, Reading | Figure] = {}
    for readings in registry.parts(registry.READINGS):
        found |= readings.FIGURES
    return found


def declared_by(tool: OwnTool, directory: Path) -> dict[str, Reading | Figure]:
    """Those of a person's own tool, as a run keeps it; none where its folder declares none."""
    own = own_tools.kept(tool, directory)
    module = own.part(registry.READINGS)
    if module is None:
        return {}
    figures = getattr(module, "FIGURES", None)
    if not isinstance(figures, dict):
        raise own.fail(
            registry.READINGS, "it has no FIGURES", 'FIGURES = {"my_rate_bps": Reading(THROUGHPUT)}'
        )
    for name, meaning in figures.items():
        if not isinstance(name, str) or not isinstance(meaning, Reading | Figure):
            raise own.fail(
                registry.READINGS,
                f"FIGURES[{name!r}] is {type(meaning).__name__}, neither a Reading nor a Figure",
                'Reading(THROUGHPUT), or Figure("jitter", LESS) of what is no reading',
            )
    return figures


_LATENCIES = {
    "latency_shown_min": Reading(LATENCY, words="smallest (as NDT7 shows)"),
    "latency_p50": Reading(LATENCY, "p50", "median"),
    "latency_mean": Reading(LATENCY, "mean", "mean"),
    "latency_p95": Reading(LATENCY, "p95", "p95"),
    "latency_p99": Reading(LATENCY, "p99", "p99"),
    "latency_last20_median": Reading(LATENCY, "p50", "median of the last 20 (Cloudflare)"),
    "latency_interquartile_mean": Reading(LATENCY, "p50", "interquartile mean (Ookla model)"),
    "working_latency_p50": Reading(ADDED, "p50", "working latency"),
    "working_latency_p95": Reading(ADDED, "p95", "working latency p95"),
    "rpm": Reading(RPM, "p50", "RPM"),
}
_RATES = {
    "throughput_mean": Reading(THROUGHPUT, words="mean (as NDT7)"),
    "throughput_after_omit": Reading(THROUGHPUT, words="after omit"),
    "throughput_p90_requests": Reading(THROUGHPUT, words="p90 of requests (Cloudflare)"),
    "throughput_best_second": Reading(THROUGHPUT, words="best second (RFC 9097)", layer=IP),
}


def tool_readings(
    metrics: pl.DataFrame, run: str, test: str, ways: list[str], figures: Mapping[str, Reading | Figure]
) -> list[dict[str, Any]]:
    """Readings of one run's own figures; one without a direction is of all that the tool loaded."""
    rows = []
    for row in _own(metrics, test).iter_rows(named=True):
        meaning = figures.get(row["quantity"])
        directions = [row["direction"]] if row["direction"] is not None else ways
        if not isinstance(meaning, Reading) or row["value"] is None:
            continue
        if row["unit"] != UNITS[meaning.quantity]:
            raise StoreError(
                f"{row['quantity']} is declared as {meaning.quantity}, but is in {row['unit']}",
                where=run,
                remedy=f"its parser gives it in {UNITS[meaning.quantity]}",
            )
        for direction in directions:
            words = meaning.words or row["quantity"].removesuffix("_bps").removesuffix("_ms").replace(
                "_", " "
            )
            rows.append(_row(run, direction, TOOL, meaning, words, row["value"], row["unit"]))
    return rows


def undeclared(metrics: pl.DataFrame, test: str, figures: Mapping[str, Reading | Figure]) -> list[str]:
    """The figures of one run's tool that nothing declares."""
    return [name for name in _own(metrics, test)["quantity"].unique().sort() if name not in figures]


def _own(metrics: pl.DataFrame, test: str) -> pl.DataFrame:
    """What a test says of itself as a whole."""
    whole = pl.all_horizontal(pl.col("part", "hop", "flow").is_null())
    return metrics.filter(pl.col("item").cast(pl.String) == test, whole)


def score_readings(
    scores: pl.DataFrame, run: str, plan: Plan, test: str, probes: list[str]
) -> list[dict[str, Any]]:
    """Readings of one run's rows of `score`."""
    rows = []
    for row in scores.iter_rows(named=True):
        origin = _origin(row, plan, test, probes)
        known = _RATES if origin == OWN_PACKETS else _LATENCIES
        meaning = known.get(row["metric"])
        if origin is None or meaning is None:
            continue
        words = _JOINED.get(row["metric"], "{}").format(meaning.words, row["variant"])
        rows.append(_row(run, row["direction"], origin, meaning, words, row["value"], row["unit"]))
    return rows


def _origin(row: Mapping[str, Any], plan: Plan, test: str, probes: list[str]) -> str | None:
    """Whose samples a row is of; None for the tap's, and for those of the end that only acknowledges."""
    source, series = row["source"], row["series"]
    if source == "bottleneck/own" and series == "payload":
        return OWN_PACKETS
    if source == probes[0] and series == "rtt" if probes else False:
        return PROBE
    sampler = next((s for s in plan.samplers if s.id == source and s.kind == "tcp_info"), None)
    if sampler is not None and series == "tcp_info.rtt":
        return OWN_RTT if sending_direction(plan, sampler.node) == row["direction"] else None
    return None


def _row(
    run: str, direction: str | None, origin: str, meaning: Reading, words: str, value: float, unit: str
) -> dict[str, Any]:
    return {
        "run_id": run, "direction": direction, "origin": origin, "quantity": meaning.quantity,
        "statistic": meaning.statistic, "metric": words, "value": value, "unit": unit,
        "layer": meaning.layer, "held_against": list(meaning.whose),
    }  # fmt: skip


READINGS: dict[str, Any] = {
    "run_id": pl.String(), "direction": pl.String(), "origin": pl.String(), "quantity": pl.String(),
    "statistic": pl.String(), "metric": pl.String(), "value": pl.Float64(), "unit": pl.String(),
    "layer": pl.String(), "held_against": pl.List(pl.String()),
    "payload_share": pl.Float64(),
}  # fmt: skip
