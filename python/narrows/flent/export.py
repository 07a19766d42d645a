"""A stored run as a Flent data file: its TCP flows' rates and its probes' round-trip times.

Rates are what left the bottleneck per flow, by the tap: wire rates, Ethernet header included, where Flent's
own are netperf's payload. The metadata say so (`NARROWS`). A run without the tap, or with more flows than
it keeps series of, has no rates. What Flent interpolates onto its grid is here the mean within each step.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from narrows.engine import layout
from narrows.errors import StoreError
from narrows.flent.file import NS_PER_S, FlentFile, stamp
from narrows.plan.model import BOTTLENECK_HOP, Plan
from narrows.store.results import Results

STEP_S = 0.2
"""Flent's own."""

UDP_CLASSES = {0: "BE", 8: "BK", 40: "CS5", 46: "EF"}
"""Flent's names of what its UDP probes are marked with; others are named by their DSCP."""

MIN_DATA_BYTES = 65536
"""A connection that carried less was a tool's own control channel."""

_WAYS = {"down": "download", "up": "upload"}


def export(results: Results, run_id: str) -> FlentFile:
    """One run."""
    manifest = results.manifest(run_id)
    if manifest.get("status") != "ok":
        raise StoreError("this run failed, so there is nothing to export", where=run_id)
    plan = manifest.get("plan") or _plan(results.run_directory(run_id))
    samples = results.samples(run_id=run_id)
    start_ns = plan["wall_clock_ns"] + plan["epoch_monotonic_ns"]
    hop = next((h["hop"] for h in plan.get("hops", ())), BOTTLENECK_HOP)
    measured: dict[str, pl.DataFrame] = {}
    flows: dict[str, int] = {}
    for way, name in _WAYS.items():
        mine = _data_flows(results, run_id, way, hop)
        flows[way] = len(mine)
        for number, label in enumerate(mine, 1):
            chosen = (
                (pl.col("series") == "throughput_10ms")
                & (pl.col("flow") == label)
                & (pl.col("direction") == way)
                & pl.col("source").cast(pl.String).str.split("/").list.first().eq(hop)
            )
            rows = samples.filter(chosen).select("t_ns", value=pl.col("value") / 1e6)
            if rows.height:
                measured[f"TCP {name}::{number}"] = rows
    for item in plan["traffic"]:
        if item["kind"] in ("icmp_echo", "udp_probe"):
            rows = samples.filter((pl.col("source") == item["id"]) & (pl.col("series") == "rtt"))
            name = _free(_probe_name(item), measured)
            measured[name] = rows.select("t_ns", value=pl.col("value") / 1e6).drop_nulls()
    if not measured:
        raise StoreError(
            "this run has no probe and no flow at a tapped bottleneck",
            where=run_id,
            remedy="export another run",
        )
    return _file(manifest, plan, measured, flows, start_ns)


def _plan(directory: Path) -> dict[str, Any]:

    plan: dict[str, Any] = Plan.read(directory / layout.PLAN).to_dict()
    return plan


def _data_flows(results: Results, run_id: str, way: str, hop: str) -> list[str]:
    """Labels of the TCP flows of the plan's items whose data (not whose ACKs) go this way, in order of
    start."""
    flows = results.flows(run_id=run_id).filter(
        (pl.col("protocol") == "tcp") & pl.col("item").is_not_null() & (pl.col("hop") == hop)
    )
    sent = {(row["src"], row["sport"], row["dst"], row["dport"]): row for row in flows.to_dicts()}
    chosen = []
    for (src, sport, dst, dport), row in sent.items():
        back = sent.get((dst, dport, src, sport))
        returned = 0 if back is None else back["departed_bytes"]
        if row["direction"] == way and row["departed_bytes"] > max(returned, MIN_DATA_BYTES):
            chosen.append((row["first_ns"], row["label"]))
    return [label for _, label in sorted(chosen)]


def _probe_name(item: dict[str, Any]) -> str:
    if item["kind"] == "icmp_echo":
        return "Ping (ms) ICMP" if not item["dscp"] else f"Ping (ms) ICMP DSCP {item['dscp']}"
    return f"Ping (ms) UDP {UDP_CLASSES.get(item['dscp'], 'DSCP ' + str(item['dscp']))}"


def _free(name: str, taken: Iterable[str]) -> str:
    names, number = set(taken), 1
    while name in names if number == 1 else f"{name}::{number}" in names:
        number += 1
    return name if number == 1 else f"{name}::{number}"


def _file(
    manifest: dict[str, Any],
    plan: dict[str, Any],
    measured: dict[str, pl.DataFrame],
    flows: dict[str, int],
    start_ns: int,
) -> FlentFile:
    end_s = max(float(rows["t_ns"][-1]) for rows in measured.values() if rows.height) / NS_PER_S
    steps = int(end_s / STEP_S) + 1
    x_values = [round(STEP_S * n, 3) for n in range(steps)]
    results = {name: _on_grid(rows, steps) for name, rows in measured.items()}
    for what in ("download", "upload"):
        parts = [values for name, values in results.items() if name.startswith(f"TCP {what}::")]
        if parts:
            sums = [_sum(at) for at in zip(*parts, strict=True)]
            results[f"TCP {what} sum"] = sums
            results[f"TCP {what} avg"] = [None if s is None else s / len(parts) for s in sums]
    key = " ".join(f"{axis}={label}" for axis, label in (manifest.get("key") or {}).items())
    title = f"{manifest.get('experiment')} {key}".strip()
    units = {name: "Mbits/s" if name.startswith("TCP ") else "ms" for name in results}
    metadata: dict[str, Any] = {
        "NAME": _test(flows),
        "TITLE": title,
        "NOTE": manifest.get("question"),
        "HOST": "server",
        "HOSTS": ["server"],
        "LOCAL_HOST": "client",
        "TIME": stamp(start_ns),
        "T0": stamp(start_ns),
        "LENGTH": int(end_s) or 1,
        "TOTAL_LENGTH": end_s,
        "STEP_SIZE": STEP_S,
        "IP_VERSION": 4,
        "TEST_PARAMETERS": {f"{_WAYS[way]}_streams": str(n) for way, n in flows.items() if n},
        "FLENT_VERSION": "2.3.0",
        "DATA_FILENAME": None,
        "SERIES_META": {name: {"UNITS": unit} for name, unit in units.items()},
        "NARROWS": {
            "run_id": manifest["run_id"],
            "rates": "what left the bottleneck, Ethernet header included",
            "grid": "mean within each step",
        },
    }
    raw = {
        name: [
            (round((start_ns + t) / NS_PER_S, 6), value)
            for t, value in rows.select("t_ns", "value").iter_rows()
            if value is not None
        ]
        for name, rows in measured.items()
    }
    return FlentFile(metadata, x_values, results, raw)


def _test(flows: dict[str, int]) -> str:
    """The Flent test whose plots show these series."""
    down, up = flows["down"], flows["up"]
    if down and up:
        return "rrul_be_nflows"
    return "tcp_ndown" if down else "tcp_nup" if up else "ping"


def _on_grid(rows: pl.DataFrame, steps: int) -> list[float | None]:
    """Mean of the values in [x, x + step); None where there is none."""
    width_ns = int(STEP_S * NS_PER_S)
    known = rows.filter(pl.col("value").is_not_null() & (pl.col("t_ns") >= 0))
    means = known.group_by(step=pl.col("t_ns") // width_ns).agg(pl.col("value").mean())
    grid: list[float | None] = [None] * steps
    for step, value in means.iter_rows():
        if step < steps:
            grid[step] = value
    return grid


def _sum(values: tuple[float | None, ...]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None
