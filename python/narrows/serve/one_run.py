"""The page of one run: what it was, what it measured, what the queue did, and its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from narrows.comparing.headline import SCALES
from narrows.comparing.items import frame
from narrows.comparing.trials import conditions
from narrows.figures.drawing import Result
from narrows.figures.instantaneous import instantaneous_throughput_figure
from narrows.figures.latency_cdf import latency_cdf
from narrows.figures.settling import fairness_over_time, shares_over_time
from narrows.figures.sojourn_time import sojourn_over_time
from narrows.figures.style import DIRECTION
from narrows.report.page import number
from narrows.runs.observed import Observed
from narrows.spec.pairs import PAIR
from narrows.store.manifest import stamp


@dataclass(frozen=True)
class Figure:
    """Something that a run measured."""

    source: str
    direction: str
    name: str
    value: str


def items(run: Observed, others: Sequence[Observed]) -> list[Figure]:
    """What each of its items got, and what it says of itself. `others`: the runs that it lies among, of which
    those of services alone say what was fair."""
    beside = [each for each in others if PAIR in each.key and conditions(each) == conditions(run)]
    table = frame(list({each.run_id: each for each in (run, *beside)}.values()))
    found = []
    for row in table.filter(pl.col("run_id") == run.run_id).iter_rows(named=True):
        scale, unit = SCALES.get(row["unit"], (1.0, row["unit"]))
        value = f"{number(row['value'] * scale)} {unit}".rstrip()
        found.append(Figure(row["called"], row["direction"] or "", row["words"], value))
    return found


def facts(run: Observed) -> list[tuple[str, str]]:
    """What it is, and whether it counts."""
    manifest = run.manifest
    calibration = manifest.get("calibration") or {}
    said = [(axis, text) for axis, text in run.key.items()]
    said += [("status", run.status if run.ok else f"{run.status}: {run.error}")]
    said += [("link", _link(run)), ("changes of the link", "; ".join(run.link.changes))]
    if calibration:
        said.append(("calibration", _calibrated(calibration)))
    said.append(("conservation", _conserved(manifest.get("conservation") or [])))
    if (t0 := manifest.get("t0_unix_ns")) is not None:
        said.append(("t = 0 in captures", stamp(t0)))
    said.append(("written", str(manifest.get("written_at") or "")))
    return [(name, text) for name, text in said if text]


def _link(run: Observed) -> str:
    link = run.link
    rates = [f"{bps / 1e6:g}" for bps in (link.rate_down_bps, link.rate_up_bps) if bps is not None]
    rate = f"{' / '.join(dict.fromkeys(rates))} Mbit/s" if rates else "no shaper"
    return f"{rate}, base RTT {link.base_rtt_ns / 1e6:g} ms, {link.queue} down, {link.queue_up} up"


def _calibrated(said: dict[str, Any]) -> str:
    rtt, rate = said.get("rtt_median_ns"), said.get("rate_down_bps")
    parts = [f"RTT {rtt / 1e6:.3f} ms"] if rtt is not None else []
    parts += [f"{rate / 1e6:.3f} Mbit/s down at the IP layer"] if rate is not None else []
    return ", ".join([*parts, "as the plan says" if said.get("ok") else "not as the plan says"])


def _conserved(hops: list[dict[str, Any]]) -> str:
    verdicts = [check["verdict"] for hop in hops for check in hop.get("checks", [])]
    if not verdicts:
        return "not checked"
    left = {word: verdicts.count(word) for word in dict.fromkeys(verdicts) if word != "ok"}
    told = ", ".join(f"{count} {word}" for word, count in left.items()) or "all packets accounted for"
    return f"{len(verdicts)} checks at {len(hops)} queues: {told}"


def figures(run: Observed) -> list[Figure]:
    """All that tools and tap say of the whole run, in order of who says it."""
    return [
        Figure(source, direction or "", name, number(value))
        for (source, direction, name), value in sorted(
            run.figures.items(), key=lambda item: [str(x) for x in item[0]]
        )
    ]


@dataclass(frozen=True)
class Picture:
    """A figure of one run: its title, and what draws it."""

    title: str
    make: Callable[[], Result]


def pictures(run: Observed) -> dict[str, Picture]:
    """What of one run can be drawn, by name; nothing of a run that does not count."""
    if not run.ok:
        return {}
    found: dict[str, Picture] = {}
    for way, word in DIRECTION.items():
        if way in run.shown:
            name, title = f"throughput_{way}", f"{word.capitalize()} throughput over time"
            draw = instantaneous_throughput_figure
            found[name] = Picture(title, partial(draw, [run], name, title, way))
        truth = run.queues.get(way)
        if truth is not None and truth.departed_packets:
            name, title = f"sojourn_{way}", f"Sojourn time in the queue, {word} direction"
            found[name] = Picture(title, partial(sojourn_over_time, [run], name, title, way))
    if run.probes:
        title = "Latency idle and under load"
        found["latency"] = Picture(title, partial(latency_cdf, [run], "latency", title))
    if run.read_many is not None:
        for name, title, many in (
            ("fairness", "Fairness over time", fairness_over_time),
            ("shares", "Shares over time", shares_over_time),
        ):
            found[name] = Picture(title, partial(many, [run], name, title))
    return found
