"""What each figure is a reading of: of capacity, of latency under load, or of responsiveness; and for whom.

A reading is a figure of the tool itself (its own output, under its own definition), or a metric of
`narrows.runs.score` on what was recorded while the tool loaded the link: its own packets at the
bottleneck, the smoothed RTT of its own connections, or a third party's probe. Each is held against a truth of
the same statistic (a p95 against the p95 of what the queue did). A figure that is none of these is no
reading: it is left out, not guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from narrows.plan.model import Plan
from narrows.store.items import sending_direction

THROUGHPUT, LATENCY, ADDED, RPM = "throughput", "latency", "added latency", "responsiveness"
TOOL, OWN_PACKETS, OWN_RTT, PROBE = (
    "the tool's answer",
    "its own packets",
    "its own RTT",
    "a third party's probe",
)
PAYLOAD, IP, IP_OF_1250 = "TCP payload", "IP", "IP, packets of 1250 bytes"
ORIGINS = (TOOL, OWN_PACKETS, OWN_RTT, PROBE)


@dataclass(frozen=True)
class Meaning:
    """What a figure reads, and which statistic of the truth it is to be held against."""

    quantity: str
    statistic: str = "p50"
    words: str = ""
    layer: str = PAYLOAD
    """Of a rate: what it counts. The truth is of TCP payload; rates of IP packets are brought to it."""


OWN_FIGURES: Mapping[str, Meaning] = {
    "ndt7_throughput_bps": Meaning(THROUGHPUT, words="NDT7 throughput"),
    "ndt7_min_rtt_ms": Meaning(LATENCY, words="NDT7 latency (MinRTT)"),
    "ndt7_rtt_mean_ms": Meaning(LATENCY, "mean", "NDT7 mean RTT"),
    "iperf3_goodput_bps": Meaning(THROUGHPUT, words="iperf3 goodput"),
    "bulk_goodput_bps": Meaning(THROUGHPUT, words="bulk goodput"),
    "capacity_test_throughput_bps": Meaning(THROUGHPUT, words="capacity test result"),
    "rrul_tcp_sum_bps": Meaning(THROUGHPUT, words="RRUL sum of the flows"),
    "rrul_ping_loaded_avg_ms": Meaning(LATENCY, "mean", "RRUL average ping"),
    "rpm": Meaning(RPM, words="RPM"),
    "rpm_foreign": Meaning(RPM, words="RPM, foreign probes"),
    "rpm_loaded": Meaning(RPM, words="RPM, self probes"),
    "rpm_goodput_bps": Meaning(THROUGHPUT, words="RPM's goodput"),
    "udp_capacity_bps": Meaning(THROUGHPUT, words="UDP capacity, best second", layer=IP_OF_1250),
    "udp_capacity_mean_bps": Meaning(THROUGHPUT, words="UDP capacity, mean", layer=IP_OF_1250),
    "udp_capacity_delay_variation_mean_ms": Meaning(ADDED, "mean", "UDP delay variation, best second"),
    "cloudflare_bandwidth_bps": Meaning(THROUGHPUT, words="Cloudflare bandwidth"),
    "cloudflare_loaded_latency_ms": Meaning(LATENCY, words="Cloudflare loaded latency"),
    "ookla_model_throughput_bps": Meaning(THROUGHPUT, words="Ookla model, speed"),
    "ookla_model_loaded_latency_ms": Meaning(LATENCY, words="Ookla model, loaded latency"),
    "librespeed_model_throughput_bps": Meaning(THROUGHPUT, words="LibreSpeed model, speed"),
}
"""Figures whose names do not say what they mean, or that need a better name in a table."""

NOT_READINGS = (
    "sent",
    "idle",
    "unloaded",
    "elapsed",
    "retrans",
    "advertised",
    "jitter",
    "offered",
    "share",
    "totals",
    "avg",
)
RATE_WORDS = ("throughput", "goodput", "capacity", "download", "upload", "rate")
DELAY_WORDS = ("latency", "rtt", "ping")
AT_REST = ("cloudflare_latency_ms", "ookla_model_latency_ms", "librespeed_model_latency_ms")
"""Latencies that the tool measured before it loaded anything: no reading of a loaded queue."""


def meaning_of(name: str, unit: str) -> Meaning | None:
    """What a tool's own figure reads, by its name and unit; None: it is no reading."""
    if name in OWN_FIGURES:
        return OWN_FIGURES[name]
    if name in AT_REST or any(word in name for word in NOT_READINGS):
        return None
    words = name.removesuffix("_bps").removesuffix("_ms").replace("_", " ")
    if unit == "bit/s" and any(word in name for word in RATE_WORDS):
        return Meaning(THROUGHPUT, words=words)
    if unit == "ms" and any(word in name for word in DELAY_WORDS):
        statistic = next((part for part in ("p95", "p90", "p99", "mean") if part in name), "p50")
        return Meaning(ADDED if "working" in name or "added" in name else LATENCY, statistic, words)
    if unit == "1/min" and "rpm" in name:
        return Meaning(RPM, words=words)
    return None


_LATENCIES = {
    "latency_shown_min": Meaning(LATENCY, words="smallest (as NDT7 shows)"),
    "latency_p50": Meaning(LATENCY, "p50", "median"),
    "latency_mean": Meaning(LATENCY, "mean", "mean"),
    "latency_p95": Meaning(LATENCY, "p95", "p95"),
    "latency_p99": Meaning(LATENCY, "p99", "p99"),
    "latency_last20_median": Meaning(LATENCY, "p50", "median of the last 20 (Cloudflare)"),
    "latency_interquartile_mean": Meaning(LATENCY, "p50", "interquartile mean (Ookla model)"),
    "working_latency_p50": Meaning(ADDED, "p50", "working latency"),
    "working_latency_p95": Meaning(ADDED, "p95", "working latency p95"),
    "rpm": Meaning(RPM, "p50", "RPM"),
}
_RATES = {
    "throughput_mean": Meaning(THROUGHPUT, words="mean (as NDT7)"),
    "throughput_after_omit": Meaning(THROUGHPUT, words="after omit"),
    "throughput_p90_requests": Meaning(THROUGHPUT, words="p90 of requests (Cloudflare)"),
    "throughput_best_second": Meaning(THROUGHPUT, words="best second (RFC 9097)", layer=IP),
}


def tool_readings(metrics: pl.DataFrame, run: str, test: str, ways: list[str]) -> list[dict[str, Any]]:
    """Readings of one run's own figures; one without a direction is of all that the tool loaded."""
    rows = []
    chosen = metrics.filter(pl.col("source").cast(pl.String) == test)
    for row in chosen.iter_rows(named=True):
        meaning = meaning_of(row["name"], row["unit"])
        directions = [row["direction"]] if row["direction"] is not None else ways
        if meaning is None or row["value"] is None:
            continue
        for direction in directions:
            rows.append(_row(run, direction, TOOL, meaning, meaning.words, row["value"], row["unit"]))
    return rows


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
        words = meaning.words
        if row["metric"] == "rpm":
            words = f"RPM, {row['version'].replace('draft-ietf-ippm-responsiveness-', 'draft -')}"
        elif row["metric"] == "throughput_after_omit":
            words = f"after {row['version'].split(', ')[1]}"
        elif row["metric"] == "throughput_p90_requests":
            words = f"{words}, {row['version'].split('blocks of ')[1].split(' in')[0]}"
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
    run: str, direction: str | None, origin: str, meaning: Meaning, words: str, value: float, unit: str
) -> dict[str, Any]:
    return {
        "run_id": run, "direction": direction, "origin": origin, "quantity": meaning.quantity,
        "statistic": meaning.statistic, "metric": words, "value": value, "unit": unit,
        "layer": meaning.layer,
    }  # fmt: skip


READINGS: dict[str, Any] = {
    "run_id": pl.String(), "direction": pl.String(), "origin": pl.String(), "quantity": pl.String(),
    "statistic": pl.String(), "metric": pl.String(), "value": pl.Float64(), "unit": pl.String(),
    "layer": pl.String(),
}  # fmt: skip
