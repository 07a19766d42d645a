"""Runs for the tests of Flent's files: a real plan, and samples with rates that are known."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flent.plotters
import flent.resultset
import flent.settings
import matplotlib.pyplot as plt
import polars as pl

import lab
from labels import whose
from narrows.store import results, schema

RUN = "0123456789abcdef"
MS = 1_000_000
CLIENT, SERVER = "10.0.0.1", "10.0.2.1"
LINK = 'link = Link(rate="10 Mbit/s", rate_up="5 Mbit/s", base_rtt="20 ms", queue=fq_codel())\n'


@dataclass(frozen=True)
class Made:
    """A flow with one rate (of payload; its packets have 1.05 times as much on the wire)."""

    direction: str
    start_ms: int
    end_ms: int
    rate_bps: float
    port: int = 5001

    def label(self, number: int) -> str:
        ends = f"{SERVER}:{40000 + number}", f"{CLIENT}:{self.port}"
        if self.direction == "up":
            ends = f"{CLIENT}:{40000 + number}", f"{SERVER}:{self.port}"
        return f"tcp {ends[0]}>{ends[1]}"


def reverse(label: str) -> str:
    src, dst = label.removeprefix("tcp ").split(">")
    return f"tcp {dst}>{src}"


def sample_rows(source: str, series: str, unit: str, t_ms: list[int], values: list[Any], **more: str) -> Any:
    frame = pl.DataFrame(
        {"t_ns": [t * MS for t in t_ms], "value": values},
        schema={"t_ns": pl.Int64(), "value": pl.Float64()},
        strict=False,
    )
    return schema.conform(
        frame, "samples", {"run_id": RUN, **whose(source)._asdict(), "quantity": series, "unit": unit, **more}
    )


def store(
    out: Path, text: str, made: list[Made], *, sampled: bool = True, tapped: bool = True, lost: int = 10
) -> results.Results:
    """One run of the plan of `text`; each probe is answered after 20 ms, every `lost`-th never."""
    directory = out / RUN
    directory.mkdir(parents=True)
    plan = lab.plan(out.parent / "spec", LINK + text).to_dict()
    (directory / "plan.json").write_text(json.dumps(plan))
    manifest = {
        "run_id": RUN, "status": "ok", "experiment": "made_up", "question": "Is it?", "key": {"seed": "0"},
        "plan_hash": "x", "engine": "uml", "written_at": "2026-01-01",
    }  # fmt: skip
    (directory / "manifest.json").write_text(json.dumps(manifest))
    samples, flows = [], []
    for number, flow in enumerate(made):
        label, ends = flow.label(number), {"down": ("client", "server"), "up": ("server", "client")}
        receiver, sender = ends[flow.direction]
        times = list(range(flow.start_ms, flow.end_ms + 1, 10))
        counts = [flow.rate_bps * (t - flow.start_ms) / 8000 for t in times]
        if sampled:
            part = {"flow": reverse(label)}
            samples.append(
                sample_rows(f"tcp-{receiver}", "tcp_info.bytes_received", "bytes", times, counts, **part)
            )
            for series, unit, value in (
                ("tcp_info.bytes_acked", "bytes", None),
                ("tcp_info.rtt", "us", 24_000.0),
                ("tcp_info.snd_cwnd", "packets", 17.0),
                ("tcp_info.pacing_rate", "bytes/s", 1e6),
                ("tcp_info.delivery_rate", "bytes/s", 5e5),
            ):
                values = counts if value is None else [value] * len(times)
                samples.append(sample_rows(f"tcp-{sender}", series, unit, times, values, flow=label))
        if tapped:
            wire = [flow.rate_bps * 1.05] * (len(times) - 1)
            more = {"flow": label, "direction": flow.direction}
            samples.append(sample_rows("bottleneck", "throughput_10ms", "bit/s", times[:-1], wire, **more))
            other = {"down": "up", "up": "down"}[flow.direction]
            for one, way, size in (
                (label, flow.direction, round(1.05 * counts[-1])),
                (reverse(label), other, round(0.03 * counts[-1])),
            ):
                frame = pl.DataFrame({"flow": [1], "first_ns": [times[0] * MS], "departed_bytes": [size]})
                flows.append(
                    schema.conform(
                        frame, "flows",
                        {"run_id": RUN, "hop": "bottleneck", "direction": way, "protocol": "tcp",
                         "item": "flow", "label": one},
                    )
                )  # fmt: skip
    for item in plan["traffic"]:
        if item["kind"] in ("icmp_echo", "udp_probe"):
            start, stop = item["start"]["at_ns"] // MS, item["stop"]["at_ns"] // MS
            times = list(range(start, stop, item["interval_ns"] // MS))
            values = [None if n % lost == lost - 1 else 20e6 for n in range(len(times))]
            samples.append(sample_rows(item["id"], "rtt", "ns", times, values))
    tables = {"samples": samples, "flows": flows}
    for table in schema.TABLES:
        schema.write(schema.concat(tables.get(table, []), table), directory / f"{table}.parquet")
    return results.open(out)


def plots(path: Path) -> dict[str, int]:
    """Every plot that Flent offers for a file, drawn by Flent, and how many marks it has."""
    flent.plotters.init_matplotlib("-", False, False)
    settings = flent.settings.load(["-i", str(path)])
    loaded = flent.resultset.load(str(path))
    settings.update(loaded.meta())
    settings.load_test(informational=True)
    marks = {}
    for name in settings.PLOTS:
        settings.PLOT = name
        plotter = flent.plotters.new(settings, results=[loaded])
        plotter.init()
        plotter.plot([loaded])
        marks[name] = sum(
            sum(len(line.get_xdata()) for line in axes.lines)
            + sum(len(each.get_offsets()) for each in axes.collections)
            + len(axes.patches)
            for axes in plotter.figure.axes
        )
        plt.close("all")
    return marks
