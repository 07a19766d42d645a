"""Tables of a hop whose tap is lean (`drops`): from sums per interval, and from drops and marks one by one.

Of packets that passed unmarked only sums are known: there is no histogram of sojourn times and no percentile,
and of flows only those appear that lost a packet or were marked.
"""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from narrows.plan.model import Hop
from narrows.store import schema, tap
from narrows.store.items import FlowItems
from narrows.store.queue_table import leaving_ns
from narrows.units import NS_PER_MS

PACKETS_SCALE = 1000.0


def interval_name(interval_ns: int) -> str:
    """As in the names of series: 10ms, 250us, 1s."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if interval_ns % size == 0:
            return f"{interval_ns // size}{unit}"
    return f"{interval_ns}ns"


def totals(intervals: NDArray[Any]) -> dict[str, int]:
    """Sums over all intervals, under the names of the agent's totals; no marks where none are seen."""
    names = [f"{what}_{unit}" for what in ("arrived", "departed", "dropped") for unit in ("packets", "bytes")]
    names += ["marked_packets"] if sees_marks(intervals) else []
    return {name: int(intervals[name].sum(dtype=np.int64)) for name in names}


def sees_marks(intervals: NDArray[Any]) -> bool:
    """Whether the tap saw the packets' ECN bits; one writer sees them of all or of none."""
    return not bool(np.any(intervals["marked_packets"] == tap.UNKNOWN_MARKS))


class LeanHop:
    """One hop in the mode `drops`; the same tables as of any other hop."""

    def __init__(
        self, run_id: str, number: int, hop: Hop, data: tap.Tap, epoch_ns: int, end_ns: int, finder: FlowItems
    ) -> None:
        self.run_id, self.hop, self.end_ns = run_id, hop, end_ns
        self.intervals = data.intervals[data.intervals["hop"] == number]
        self.t_ns = self.intervals["start_ns"].astype(np.int64) - epoch_ns
        self.packets = data.of_hop(number)
        self.leave = leaving_ns(self.packets, epoch_ns)
        self.known = {flow.flow: flow for flow in data.met_by(number)}.values()
        self.finder = finder

    @property
    def arrived_packets(self) -> int:
        return totals(self.intervals)["arrived_packets"]

    def flows(self) -> pl.DataFrame:
        """What was dropped and marked of each flow; all other counts are not known (NULL)."""
        if not self.known:
            return schema.empty("flows")
        numbers, place = tap.numbered(self.packets["flow"])
        n = numbers.size
        first, last = np.full(n, np.iinfo(np.int64).max), np.full(n, np.iinfo(np.int64).min)
        np.minimum.at(first, place, self.leave)
        np.maximum.at(last, place, self.leave)
        dropped = self.packets["outcome"] == tap.DROPPED
        of_dropped = place[dropped]
        packets = np.bincount(of_dropped, minlength=n)
        size = np.bincount(of_dropped, weights=self.packets["bytes"][dropped], minlength=n)
        marked = np.bincount(place[tap.marked(self.packets)], minlength=n)
        rows = []
        at = {int(number): i for i, number in enumerate(numbers)}
        for flow in self.known:
            i = at.get(flow.flow)
            if i is None:
                continue
            rows.append(
                {
                    "flow": flow.flow, "label": flow.label, "protocol": flow.protocol, "src": flow.src,
                    "sport": flow.sport, "dst": flow.dst, "dport": flow.dport,
                    "item": self.finder.of(flow, int(first[i]), int(last[i])),
                    "dropped_packets": int(packets[i]),
                    "dropped_bytes": int(size[i]),
                    "marked_packets": int(marked[i]),
                }
            )  # fmt: skip
        if not rows:
            return schema.empty("flows")
        frame = pl.DataFrame(rows, infer_schema_length=None)
        nothing = [name for name, dtype in frame.schema.items() if dtype == pl.Null]
        constants = {"run_id": self.run_id, "hop": self.hop.hop, "direction": self.hop.direction}
        return schema.conform(frame.drop(nothing), "flows", constants)

    def samples(self) -> list[pl.DataFrame]:
        """Series per interval. An interval without a record saw nothing: counts of 0, an empty queue."""
        length = self.hop.tap_interval_ns
        name = interval_name(length)
        n = max(0, -(-self.end_ns // length))
        inside = (self.t_ns >= 0) & (self.t_ns < n * length)
        at = self.t_ns[inside] // length
        found = self.intervals[inside]
        every = np.arange(n, dtype=np.int64) * length

        def filled(field: str, scale: float = 1.0) -> NDArray[np.float64]:
            values = np.zeros(n)
            values[at] = found[field] * scale
            return values

        # series, unit, field, what it is multiplied by
        table = [
            ("throughput", "bit/s", "departed_bytes", 8e9 / length),
            ("arrivals", "packets", "arrived_packets", 1.0),
            ("departures", "packets", "departed_packets", 1.0),
            ("drops", "packets", "dropped_packets", 1.0),
        ]
        if sees_marks(found):
            table.append(("marks", "packets", "marked_packets", 1.0))
        for kind in ("min", "mean", "max"):
            scale = 1 / PACKETS_SCALE if kind == "mean" else 1.0
            field = "packets_mean_x1000" if kind == "mean" else f"packets_{kind}"
            table.append((f"backlog_{kind}_bytes", "bytes", f"bytes_{kind}", 1.0))
            table.append((f"backlog_{kind}_packets", "packets", field, scale))
        series = [
            self._series(f"{what}_{name}", unit, every, filled(field, scale))
            for what, unit, field, scale in table
        ]
        passed = found[found["departed_packets"] > 0]
        times = self.t_ns[inside][found["departed_packets"] > 0]
        mean = passed["sojourn_sum_ns"] / np.maximum(passed["departed_packets"], 1)
        series.append(self._series(f"sojourn_mean_{name}", "ns", times, mean))
        series.append(
            self._series(f"sojourn_max_{name}", "ns", times, passed["sojourn_max_ns"].astype(np.float64))
        )
        return series

    def _series(
        self, quantity: str, unit: str, t_ns: NDArray[np.int64], values: NDArray[np.float64]
    ) -> pl.DataFrame:
        frame = pl.DataFrame({"t_ns": t_ns, "value": values})
        constants = {
            "run_id": self.run_id, "hop": self.hop.hop, "direction": self.hop.direction,
            "quantity": quantity, "unit": unit,
        }  # fmt: skip
        return schema.conform(frame, "samples", constants)

    def metrics(self) -> pl.DataFrame:
        """Figures of the whole run, from the interval in which t = 0 lies."""
        found = self.intervals[self.t_ns >= 0]
        sums = totals(found)
        rows = [
            ("tap_arrived", float(sums["arrived_packets"]), "packets"),
            ("tap_departed", float(sums["departed_packets"]), "packets"),
            ("tap_dropped", float(sums["dropped_packets"]), "packets"),
            ("tap_departed_bytes", float(sums["departed_bytes"]), "bytes"),
        ]
        if "marked_packets" in sums:
            rows.append(("tap_marked", float(sums["marked_packets"]), "packets"))
        if sums["departed_packets"]:
            mean = float(found["sojourn_sum_ns"].sum(dtype=np.float64)) / sums["departed_packets"]
            rows.append(("sojourn_max_ms", float(found["sojourn_max_ns"].max()) / NS_PER_MS, "ms"))
            rows.append(("sojourn_mean_ms", mean / NS_PER_MS, "ms"))
        frame = pl.DataFrame(rows, schema=["quantity", "value", "unit"], orient="row")
        constants = {"run_id": self.run_id, "hop": self.hop.hop, "direction": self.hop.direction}
        return schema.conform(frame, "metrics", constants)
