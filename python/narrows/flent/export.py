"""A stored run as a Flent data file: its TCP flows' rates and its probes' round-trip times.

Made as Flent makes its own: a value of the grid stands at the end of its step; LENGTH is the time of the load
and DELAY, which Flent cuts off both ends for its statistics, the time before and after it; `raw_values` of a
flow are its steps with their duration, as netperf's interim results are. A step is weighed by its time: a
flow that began in the middle of one has half the rate in it. Averages are over the flows that are there.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from narrows.engine import layout
from narrows.errors import StoreError
from narrows.flent.file import FlentFile, stamp
from narrows.flent.naming import WAYS, Naming, name
from narrows.flent.rates import Flow, data_flows
from narrows.metrics.fairness.jain import jain_index
from narrows.metrics.statistics.arrays import Floats
from narrows.plan.model import Plan
from narrows.store.results import Results
from narrows.units import NS_PER_S

STEP_S = 0.2
"""Flent's own."""
DELAY_S = 5
"""Flent's own: its probes run alone for so long before the load and after it."""
FLENT_VERSION = "2.3.0"

_SOCKET = {
    "tcp_info.snd_cwnd": ("tcp_cwnd", 1.0),
    "tcp_info.rtt": ("tcp_rtt", 1e-3),
    "tcp_info.rttvar": ("tcp_rtt_var", 1e-3),
    "tcp_info.pacing_rate": ("tcp_pacing_rate", 8e-6),
    "tcp_info.delivery_rate": ("tcp_delivery_rate", 8e-6),
}
"""What Flent takes from the sender's socket, in packets, ms and Mbit/s; the kernel has us and bytes/s."""

Grid = list[float | None]


def export(results: Results, run_id: str) -> FlentFile:
    manifest = results.manifest(run_id)
    if manifest.get("status") != "ok":
        raise StoreError("this run failed, so there is nothing to export", where=run_id)
    if manifest.get("engine") == layout.IMPORTED:
        raise StoreError(
            "this run was imported from a file of Flent's",
            where=run_id,
            remedy=f"open that file in Flent: {manifest['key'].get('file')}",
        )
    plan = manifest.get("plan") or _plan(results.run_directory(run_id))
    samples = results.samples(run_id=run_id)
    flows = data_flows(samples, results.flows(run_id=run_id), plan)
    naming = name(flows, plan)
    probes = {}
    for item, called in naming.probes.items():
        rows = samples.filter(pl.coalesce("part", "item") == item, pl.col("quantity") == "rtt").sort("t_ns")
        if rows.height:
            probes[called] = rows
    if not flows and not probes:
        raise StoreError(
            "this run has no probe, and no TCP flow that a tap or sample() saw",
            where=run_id,
            remedy='a run with tap("packets") or sample(), or with a probe such as icmp_echo()',
        )
    return _Maker(samples, flows, naming, probes, plan).file(manifest)


def _plan(directory: Path) -> dict[str, Any]:
    plan: dict[str, Any] = Plan.read(directory / layout.PLAN).to_dict()
    return plan


class _Maker:
    """One file in the making: the grid that all series stand on, and the series."""

    def __init__(
        self,
        samples: pl.DataFrame,
        flows: Sequence[Flow],
        naming: Naming,
        probes: Mapping[str, pl.DataFrame],
        plan: Mapping[str, Any],
    ) -> None:
        self.samples, self.flows, self.naming, self.probes = samples, flows, naming, probes
        self.epoch_ns = int(plan["wall_clock_ns"] + plan["epoch_monotonic_ns"])
        times = [float(rows["t_ns"][at]) for rows in probes.values() for at in (0, -1)]
        if flows:
            load_ns = min(flow.start_ns for flow in flows), max(flow.end_ns for flow in flows)
            delay_s = DELAY_S
        else:
            load_ns, delay_s = (min(times), max(times)), 0
        self.length_s = (load_ns[1] - load_ns[0]) / NS_PER_S
        self.total_s = self.length_s + 2 * delay_s
        self.t0_ns = load_ns[0] - delay_s * NS_PER_S
        times += list(load_ns)
        steps = [(t - self.t0_ns) / NS_PER_S / STEP_S for t in times]
        first, last = math.floor(min(0.0, *steps)), math.ceil(max(steps) - 1e-9)
        self.x_values = [round(STEP_S * n, 3) for n in range(first, last + 1)]
        steps_s = np.arange(first - 1, last + 1, dtype=np.float64) * STEP_S
        self.edges_ns: Floats = np.asarray(self.t0_ns + steps_s * NS_PER_S, dtype=np.float64)

    def file(self, manifest: Mapping[str, Any]) -> FlentFile:
        results: dict[str, Grid] = {}
        raw: dict[str, list[dict[str, Any]]] = {}
        meta: dict[str, dict[str, Any]] = {}
        for flow in self.flows:
            called = self.naming.flows[flow.label]
            results[called] = self._rate(flow)
            raw[called] = self._raw_rate(results[called])
            life_ns = flow.end_ns - flow.start_ns
            mean = float(flow.counts[-1]) * 8e3 / life_ns if life_ns > 0 else None
            meta[called] = {"UNITS": "Mbits/s", "MEAN_VALUE": mean}
            for key, rows in self._socket(flow).items():
                results[f"{called}::{key}"] = self._mean(rows)
                raw[called] += self._raw(rows, key)
            raw[called].sort(key=lambda row: float(row["t"]))
        for called, rows in self.probes.items():
            known = rows.select("t_ns", value=pl.col("value") / 1e6)
            results[called] = self._mean(known)
            raw[called] = self._raw_probe(known)
            meta[called] = {"UNITS": "ms", "MEAN_VALUE": known["value"].mean()}
        self._computed(results, meta)
        key = " ".join(f"{axis}={label}" for axis, label in (manifest.get("key") or {}).items())
        metadata: dict[str, Any] = {
            "NAME": self.naming.test,
            "TITLE": f"{manifest.get('experiment')} {key}".strip(),
            "NOTE": manifest.get("question"),
            "HOST": "server",
            "HOSTS": ["server"],
            "LOCAL_HOST": "client",
            "TIME": stamp(self._unix_ns(self.t0_ns)),
            "T0": stamp(self._unix_ns(self.t0_ns)),
            "LENGTH": _short(self.length_s),
            "TOTAL_LENGTH": _short(self.total_s),
            "STEP_SIZE": STEP_S,
            "IP_VERSION": 4,
            "TEST_PARAMETERS": self.naming.parameters(),
            "FLENT_VERSION": FLENT_VERSION,
            "DATA_FILENAME": None,
            "SERIES_META": meta,
            "NARROWS": {
                "run_id": manifest["run_id"],
                "rates": "; ".join(sorted({flow.kind for flow in self.flows})) or None,
                "grid": "what a step had, at its end",
            },
        }
        return FlentFile(metadata, self.x_values, results, raw, tuple(self._notes()))

    def _notes(self) -> list[str]:
        """What a person should know who opens the file."""
        said = [f"rates: {kind}" for kind in sorted({flow.kind for flow in self.flows})]
        return said + [
            f"the run has no probe {series!r}: Flent's plots of it stay empty"
            for series in self.naming.missing()
        ]

    def _unix_ns(self, t_ns: float) -> int:
        return self.epoch_ns + round(t_ns)

    def _rate(self, flow: Flow) -> Grid:
        """Mbit/s in each step that the flow lived in."""
        rates = np.diff(flow.until(self.edges_ns)) * 8e-6 / STEP_S
        lives = (self.edges_ns[1:] > flow.start_ns) & (self.edges_ns[:-1] < flow.end_ns)
        return [float(rate) if there else None for rate, there in zip(rates, lives, strict=True)]

    def _raw_rate(self, grid: Grid) -> list[dict[str, Any]]:
        return [
            {"t": self._unix_s(float(end)), "dur": STEP_S, "val": value}
            for end, value in zip(self.edges_ns[1:], grid, strict=True)
            if value is not None
        ]

    def _unix_s(self, t_ns: float) -> float:
        return round(self._unix_ns(t_ns) / NS_PER_S, 6)

    def _socket(self, flow: Flow) -> dict[str, pl.DataFrame]:
        """What the sender's socket said, at most once a step: its last word in it."""
        mine = self.samples.filter(
            (pl.col("flow").cast(pl.String) == flow.label)
            & pl.col("quantity").cast(pl.String).is_in(list(_SOCKET))
            & pl.col("value").is_not_null()
            & pl.col("t_ns").is_between(flow.start_ns, flow.end_ns)
        ).sort("t_ns")
        step = ((pl.col("t_ns") - self.t0_ns) / (STEP_S * NS_PER_S)).ceil()
        socket = {}
        for series, (key, factor) in _SOCKET.items():
            rows = mine.filter(pl.col("quantity") == series)
            if rows.height:
                last = rows.group_by(step=step).agg(pl.col("t_ns").last(), pl.col("value").last() * factor)
                socket[key] = last.sort("t_ns").select("t_ns", "value")
        return socket

    def _raw(self, rows: pl.DataFrame, key: str) -> list[dict[str, Any]]:
        return [{"t": self._unix_s(t), key: value} for t, value in rows.iter_rows()]

    def _raw_probe(self, rows: pl.DataFrame) -> list[dict[str, Any]]:
        """Each probe at the time it was sent; a lost one has no value."""
        return [
            {"t": self._unix_s(t), "seq": n} | ({"lost": True} if value is None else {"val": value})
            for n, (t, value) in enumerate(rows.iter_rows())
        ]

    def _mean(self, rows: pl.DataFrame) -> Grid:
        """Mean of what was measured in each step; None where nothing was."""
        width = STEP_S * NS_PER_S
        step = ((pl.col("t_ns") - self.edges_ns[0]) / width - 1e-9).ceil().cast(pl.Int64) - 1
        means = rows.drop_nulls().group_by(step=step).agg(pl.col("value").mean())
        grid: Grid = [None] * len(self.x_values)
        for at, value in means.iter_rows():
            if 0 <= at < len(grid):
                grid[at] = value
        return grid

    def _computed(self, results: dict[str, Grid], meta: dict[str, dict[str, Any]]) -> None:
        """The sums, averages and indices that the test has."""

        def add(
            called: str, of: Sequence[str], compute: Callable[[list[float]], float | None], unit: str
        ) -> None:
            columns = zip(*(results[each] for each in of), strict=True)
            known = [[value for value in at if value is not None] for at in columns]
            results[called] = [compute(values) if values else None for values in known]
            meta[called] = {"UNITS": unit}

        everything: list[str] = []
        for way, of in self.naming.summed.items():
            if of:
                add(f"TCP {WAYS[way]} avg", of, lambda values: math.fsum(values) / len(values), "Mbits/s")
                add(f"TCP {WAYS[way]} sum", of, math.fsum, "Mbits/s")
                everything += of
                if self.naming.fair:
                    add(f"TCP {WAYS[way]} fairness", of, jain_index, "Idx")
        if self.naming.summed and not self.naming.fair:
            add("TCP totals", everything, math.fsum, "Mbits/s")
        averaged = [called for called in self.naming.averaged if called in results]
        if averaged:
            add("Ping (ms) avg", averaged, lambda values: math.fsum(values) / len(values), "ms")


def _short(seconds: float) -> float | int:
    """Whole seconds as Flent writes them, without a point."""
    rounded = round(seconds, 3)
    return int(rounded) if rounded == int(rounded) else rounded
