"""Made-up runs in the store's own tables, for tests of figures and verdicts. Every number here is invented.

`run(...)` builds one run from a few numbers a test states; `grid()` a small study with the shape of the
real one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

import labels
from made_up_plans import whole
from narrows.report.small_table import Table
from narrows.runs.gather import RunTables, as_text, gather
from narrows.runs.observed import Observed
from narrows.store import schema

S = 1_000_000_000
MS = 1_000_000
BIN = 10 * MS
DOWN = (7 * S, 17 * S)
UP = (17 * S, 27 * S)
WINDOWS = {"down": DOWN, "up": UP}
PROBE_INTERVAL = 10 * MS


def plan(
    key: dict[str, str],
    rate_bps: int,
    queue: str,
    timer: tuple[int, int] | None = None,
    base_rtt_ns: int = 500_000,
) -> dict[str, Any]:
    """A plan with the fields that figures and verdicts read."""
    burst = {
        "off": (None, None),
        "text": (15_000, 30_000),
        "listing": (36 * rate_bps // 1000, 36 * rate_bps // 1000),
    }
    burst_bytes, cburst_bytes = burst.get(key.get("burst", "off"), (None, None))
    side = {
        "queue": queue,
        "queue_options": {"limit": "100"} if queue == "pfifo" else {},
        "shaper": "htb",
        "shaper_options": {},
        "rate_bps": rate_bps,
        "ceil_bps": rate_bps if burst_bytes is None else rate_bps * 16 // 10,
        "burst_bytes": burst_bytes,
        "cburst_bytes": cburst_bytes,
        "delay_ns": 250_000,
        "jitter_ns": 0,
        "loss_percent": 0.0,
    }
    setup = []
    for iface in ("eth0", "eth1"):
        rate = f"{rate_bps // 1000}kbit"
        leaf = "pfifo limit 100" if queue == "pfifo" else queue
        lines = (
            f"qdisc add dev {iface} root handle 1: htb default 11",
            f"class add dev {iface} parent 1: classid 1:11 htb rate {rate} ceil {rate}",
            f"qdisc add dev {iface} parent 1:11 handle 20: {leaf}",
        )
        setup += [{"node": "router", "tool": "tc", "args": line.split()} for line in lines]
    common = {"start": {"at_ns": 0}, "stop": {"with": "ndt"}}
    traffic: list[dict[str, Any]] = [
        {
            "id": "probe",
            "kind": "udp_probe",
            "client": "client",
            "server": "server",
            "interval_ns": PROBE_INTERVAL,
        }
        | common,
        {"id": "ndt", "kind": "command", "tool": "ndt7", "node": "client", "argv": ["@agent", "ndt7-client"]}
        | {"background": False, "start": {"at_ns": DOWN[0]}, "stop": None},
    ]
    if key.get("cross", "no") != "no":
        traffic.insert(
            1,
            {
                "id": "cross",
                "kind": "command",
                "tool": "iperf3",
                "node": "client",
                "argv": ["iperf3", "-c", "10.0.2.1"],
            }
            | {"background": False, "start": {"at_ns": 2 * S}, "stop": {"with": "ndt"}},
        )
    return {
        "experiment": "made_up",
        "question": "Is this a made-up study?",
        "key": key,
        "seed": int(key.get("seed", "0")),
        "machine": {
            "memory_bytes": 2**29,
            "timer_latency": None if timer is None else {"min_ns": timer[0], "max_ns": timer[1]},
        },
        "nodes": [{"name": n, "role": n} for n in ("client", "router", "path", "server")],
        "link": {
            "rate_down_bps": rate_bps,
            "rate_up_bps": rate_bps,
            "base_rtt_ns": base_rtt_ns,
            "mtu_bytes": 1500,
            "line_rate_bps": 1_000_000_000,
            "queue": queue,
            "queue_up": queue,
            "shaper": "htb",
            "shaper_up": "htb",
            "down": side,
            "up": side,
            "changes": [],
        },
        "setup": setup,
        "changes": [],
        "hops": [
            {
                "hop": "bottleneck",
                "direction": d,
                "node": "router",
                "iface": i,
                "ingress": [],
                "tap": "summary",
            }
            for d, i in (("down", "eth0"), ("up", "eth1"))
        ],
        "traffic": traffic,
        "samplers": [],
        "captures": [],
    }


def run(
    key: dict[str, str],
    rate_bps: int = 100_000_000,
    queue: str = "fq_codel",
    throughput_bps: dict[str, float] | None = None,
    rtt_ms: dict[str, list[float]] | None = None,
    idle_ms: list[float] | None = None,
    loaded_ms: dict[str, list[float | None]] | None = None,
    bins_bps: dict[str, list[float]] | None = None,
    sojourn_ms: list[tuple[float, int]] | None = None,
    min_rtt_ms: float = 0.5,
    timer: tuple[int, int] | None = None,
    status: str = "ok",
    seed_text: str = "",
    base_rtt_ns: int = 500_000,
) -> Observed:
    """One run through the same gathering code as stored runs. What is not given was not measured."""
    made = plan(key, rate_bps, queue, timer, base_rtt_ns)
    run_id = hashlib.sha256(repr((sorted(key.items()), seed_text, queue, timer)).encode()).hexdigest()[:16]
    metrics: list[tuple[str, str | None, str, float | None, str]] = []
    samples: list[tuple[str, str | None, str, int, float | None, str]] = []
    for direction, bps in (throughput_bps or {}).items():
        metrics += [
            ("ndt", direction, "ndt7_throughput_bps", bps, "bit/s"),
            ("ndt", direction, "ndt7_elapsed_s", 10.0, "s"),
            ("ndt", direction, "ndt7_min_rtt_ms", min_rtt_ms, "ms"),
        ]
        start, stop = WINDOWS[direction]
        samples.append(("ndt/client", direction, "app_info.num_bytes", stop, bps * 10 / 8, "bytes"))
        values = (rtt_ms or {}).get(direction, [])
        for k, value in enumerate(values):
            t = start + (k + 1) * (stop - start) // (len(values) + 1)
            samples.append(("ndt/server", direction, "tcp_info.rtt", t, value * 1e3, "us"))
    for k, value in enumerate(idle_ms or []):
        samples.append(("probe", None, "rtt", k * PROBE_INTERVAL, round(value * MS), "ns"))
    for direction, received in (loaded_ms or {}).items():
        for k, got in enumerate(received):
            t = WINDOWS[direction][0] + k * PROBE_INTERVAL
            samples.append(("probe", None, "rtt", t, None if got is None else round(got * MS), "ns"))
    for direction, rates in (bins_bps or {}).items():
        for k, bps in enumerate(rates):
            t = WINDOWS[direction][0] + k * BIN
            samples.append(("bottleneck/ndt", direction, "throughput_10ms", t, bps, "bit/s"))
            samples.append(("bottleneck", direction, "throughput_10ms", t, bps, "bit/s"))
            for series, scale in (("sojourn_p50_10ms", 1.0), ("sojourn_p99_10ms", 2.0)):
                wait = (sojourn_ms or [(0.0, 1)])[k % len(sojourn_ms or [0])][0]
                samples.append(("bottleneck", direction, series, t, wait * scale * MS, "ns"))
    buckets: list[tuple[str, str, str | None, int, int, int]] = []
    for direction in ("down", "up") if sojourn_ms else ():
        total = sum(count for _, count in sojourn_ms or [])
        metrics += [
            ("bottleneck", direction, "tap_departed", float(total), "packets"),
            ("bottleneck", direction, "tap_dropped", 0.0, "packets"),
        ]
        buckets += [
            ("bottleneck", direction, None, int(ms * MS * 0.984), int(ms * MS), count)
            for ms, count in sojourn_ms or []
        ]
    items = {"probe": {"status": "stopped", "start_ns": 0, "end_ns": UP[1]}}
    items["ndt"] = {"status": "ended", "start_ns": DOWN[0], "end_ns": UP[1]}
    if key.get("cross", "no") != "no":
        items["cross"] = {"status": "stopped", "start_ns": 2 * S, "end_ns": UP[1]}
    manifest = {
        "run_id": run_id,
        "status": status,
        "error": None
        if status == "ok"
        else {"stage": "setup", "message": "tc said no", "command": "tc qdisc add"},
        "kernel": "6.0 made up",
        "engine": "uml",
        "items": items,
        "warnings": [],
    }
    tables = {
        "metrics": labels.rows("metrics", metrics, ("label", "direction", "quantity", "value", "unit")),
        "samples": labels.rows(
            "samples", samples, ("label", "direction", "quantity", "t_ns", "value", "unit")
        ),
        "sojourn": _table(
            "sojourn", buckets, ("hop", "direction", "item", "lower_ns", "upper_ns", "packets")
        ),
    }
    return gather(
        RunTables(
            plan=whole(made),
            manifest=manifest,
            **{name: as_text(table.lazy()).collect() for name, table in tables.items()},
        )
    )


def _table(name: str, rows: Sequence[tuple[Any, ...]], columns: tuple[str, ...]) -> pl.DataFrame:
    """Rows in the store's own types."""
    types = schema.TABLES[name]
    frame = pl.DataFrame(rows, schema={column: types[column] for column in columns}, orient="row")
    return (
        frame
        if "flow" not in types or "flow" in columns
        else frame.with_columns(flow=pl.lit(None, dtype=types["flow"]))
    )


def grid(
    rates_mbps: tuple[int, ...] = (100, 900),
    queues: tuple[str, ...] = ("pfifo", "codel", "fq_codel", "sfq"),
    bursts: tuple[str, ...] = ("off", "text"),
    crosses: tuple[str, ...] = ("no", "up"),
    seeds: int = 3,
) -> list[Observed]:
    """A small study with plausible shapes: noise is seeded, so it is the same every time."""
    made = []
    for rate in rates_mbps:
        for queue in queues:
            for burst in bursts:
                for cross in crosses:
                    for seed in range(seeds):
                        made.append(_plausible(rate, queue, burst, cross, seed))
    return made


def _plausible(rate: int, queue: str, burst: str, cross: str, seed: int) -> Observed:
    key = {"rate": f"{rate}Mbit", "queue": queue, "burst": burst, "cross": cross, "seed": str(seed)}
    noise = np.random.Generator(np.random.PCG64([rate, len(queue), len(burst), len(cross), seed]))
    share = (0.5 if cross == "up" else 0.95) * (1 - 0.02 * noise.random())
    if cross == "up" and queue in ("pfifo", "codel"):
        share *= 1 - 0.3 * noise.random()
    wait = {"pfifo": 120_000 / rate / 100, "codel": 5.0, "fq_codel": 1.0, "sfq": 6.0}.get(queue, 2.0)
    wait *= 1.0 if cross == "up" else 0.3
    wobble = 0.25 if cross == "up" and queue in ("pfifo", "codel") else 0.02
    bins = {d: list(rate * 1e6 * share * (1 + wobble * noise.standard_normal(1000))) for d in ("down", "up")}
    loaded = {d: [0.5 + wait * (0.5 + noise.random()) for _ in range(1000)] for d in ("down", "up")}
    return run(
        key,
        rate * 1_000_000,
        queue,
        throughput_bps={"down": rate * 1e6 * 0.95, "up": rate * 1e6 * share},
        rtt_ms={d: [0.6 + wait * (0.6 + noise.random()) for _ in range(40)] for d in ("down", "up")},
        idle_ms=[0.5 + 0.01 * noise.random() for _ in range(200)],
        loaded_ms={d: list(v) for d, v in loaded.items()},
        bins_bps=bins,
        sojourn_ms=[
            (wait * f, n) for f, n in ((0.1, 50_000), (0.5, 20_000), (1.0, 3000), (2.0, 80), (3.0, 2))
        ],
    )


def shown(table: Table) -> dict[tuple[str, ...], dict[str, str]]:
    """The answer's table as people read it: by condition, each figure with its mark."""
    heads = [f"{column.whose}: {column.words} {column.unit}".strip() for column in table.columns]
    return {
        row.labels: {
            head: f"{cell} {mark}".strip()
            for head, cell, mark in zip(heads, row.cells, row.marks, strict=True)
        }
        for row in table.rows
    }
