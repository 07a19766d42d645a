"""Everything but the rows of `queue` that follows from the tap: flows, 10 ms bins, histogram, figures.

What is computed here is the same in the tap modes `packets` and `summary`; `queue_table` writes the packets,
`tap_intervals` does the mode `drops`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from narrows.plan.model import Hop, Plan
from narrows.store import bins, schema, tap
from narrows.store.items import FlowItems, Span
from narrows.store.queue_table import arrival_ns, leaving_ns
from narrows.store.tap_intervals import LeanHop
from narrows.store.whose import Name, Whose, figure_rows, of_part
from narrows.units import NS_PER_MS

MAX_FLOWS_WITH_SERIES = 256


@dataclass(frozen=True)
class TapTables:
    """Frames in the shape of the store's tables."""

    flows: pl.DataFrame
    samples: pl.DataFrame
    sojourn: pl.DataFrame
    metrics: pl.DataFrame
    packets: int


def derive(
    run_id: str, plan: Plan, data: tap.Tap, epoch_ns: int, end_ns: int, spans: dict[str, Span]
) -> TapTables:
    """All tables of all tapped hops."""
    finder = FlowItems(plan, spans)
    flows, samples, sojourn, metrics, packets = [], [], [], [], 0
    for number, hop in enumerate(plan.hops):
        if hop.tap == "off":
            continue
        if hop.tap == "drops":
            lean = LeanHop(run_id, number, hop, data, epoch_ns, end_ns, finder)
            flows.append(lean.flows())
            samples.extend(lean.samples())
            metrics.append(lean.metrics())
            packets += lean.arrived_packets
            continue
        one = _Hop(run_id, number, hop, data, epoch_ns, end_ns, finder)
        packets += int(one.packets.size)
        flows.append(one.flows)
        samples.extend(one.samples())
        sojourn.extend(one.histograms())
        metrics.append(one.metrics())
    return TapTables(
        flows=schema.concat(flows, "flows"),
        samples=schema.concat(samples, "samples"),
        sojourn=schema.concat(sojourn, "sojourn"),
        metrics=schema.concat(metrics, "metrics"),
        packets=packets,
    )


class _Hop:
    """The packets of one hop and what follows from them."""

    def __init__(
        self, run_id: str, number: int, hop: Hop, data: tap.Tap, epoch_ns: int, end_ns: int, finder: FlowItems
    ) -> None:
        self.run_id, self.hop, self.parts = run_id, hop, finder.parts
        self.bin_count = bins.bin_count(end_ns)
        self.packets = data.of_hop(number)
        self.arrive = arrival_ns(self.packets, epoch_ns)
        self.leave = leaving_ns(self.packets, epoch_ns)
        self.departed = self.packets["outcome"] == tap.DEPARTED
        self.dropped = self.packets["outcome"] == tap.DROPPED
        self.marked = tap.marked(self.packets)
        self.has_headers = tap.has_headers(self.packets)
        known = self.packets["flow"] if self.has_headers else np.empty(0, dtype=np.uint32)
        self.numbers, self.flow_index = tap.numbered(known)
        self.flows = self._flows(data.met_by(number), finder)
        items = dict(self.flows.select("flow", "item").iter_rows())
        self.item_names = sorted({item for item in items.values() if item is not None})
        index = {item: i for i, item in enumerate(self.item_names)}
        by_flow = np.array([index.get(items.get(int(flow)), -1) for flow in self.numbers], dtype=np.int64)
        nothing = np.full(self.packets.size, -1, dtype=np.int64)
        self.item_of_packet = by_flow[self.flow_index] if self.has_headers else nothing

    def _flows(self, first_records: Sequence[tap.Flow], finder: FlowItems) -> pl.DataFrame:
        known = {flow.flow: flow for flow in first_records}
        numbers, inverse = self.numbers, self.flow_index
        if numbers.size == 0:
            return schema.empty("flows")
        size = self.packets["bytes"].astype(np.float64)
        n = numbers.size

        def per_flow(mask: NDArray[np.bool_], weights: NDArray[Any] | None = None) -> NDArray[np.int64]:
            sums = np.bincount(inverse[mask], weights=None if weights is None else weights[mask], minlength=n)
            result: NDArray[np.int64] = sums.astype(np.int64)
            return result

        everything = np.ones(self.packets.size, dtype=bool)
        first, last = np.full(n, np.iinfo(np.int64).max), np.full(n, np.iinfo(np.int64).min)
        np.minimum.at(first, inverse, self.arrive)
        np.maximum.at(last, inverse, self.leave)
        rows = []
        for i, number in enumerate(int(value) for value in numbers):
            flow = known.get(number)
            names: dict[str, Any] = {"flow": number}
            if flow is not None:
                names |= {
                    "label": flow.label, "protocol": flow.protocol, "src": flow.src, "sport": flow.sport,
                    "dst": flow.dst, "dport": flow.dport,
                    "item": finder.of(flow, int(first[i]), int(last[i])),
                }  # fmt: skip
            rows.append(names)
        columns = ("flow", "label", "protocol", "src", "sport", "dst", "dport", "item")
        text = {"label", "protocol", "src", "dst", "item"}
        frame = pl.DataFrame(
            {
                name: pl.Series(
                    [row.get(name) for row in rows], dtype=pl.String if name in text else pl.Int64
                )
                for name in columns
            }
        ).with_columns(
            first_ns=pl.Series(first),
            last_ns=pl.Series(last),
            arrived_packets=pl.Series(per_flow(everything)),
            arrived_bytes=pl.Series(per_flow(everything, size)),
            departed_packets=pl.Series(per_flow(self.departed)),
            departed_bytes=pl.Series(per_flow(self.departed, size)),
            dropped_packets=pl.Series(per_flow(self.dropped)),
            dropped_bytes=pl.Series(per_flow(self.dropped, size)),
            marked_packets=pl.Series(per_flow(self.marked)),
            queued_packets=pl.Series(per_flow(self.packets["outcome"] == tap.QUEUED)),
        )
        constants = {"run_id": self.run_id, "hop": self.hop.hop, "direction": self.hop.direction}
        return schema.conform(frame, "flows", constants)

    def _samples(
        self, quantity: str, unit: str, index: NDArray[np.int64], values: NDArray[np.float64],
        *, item: str | None = None, flow: str | None = None,
    ) -> pl.DataFrame:  # fmt: skip
        frame = pl.DataFrame({"t_ns": index * bins.BIN_NS, "value": values})
        constants = {
            **self._whose(item)._asdict(), "run_id": self.run_id, "direction": self.hop.direction,
            "quantity": quantity, "flow": flow, "unit": unit,
        }  # fmt: skip
        return schema.conform(frame, "samples", constants)

    def _whose(self, part: str | None) -> Whose:
        """What is of all traffic of the hop, or of a part of the plan there."""
        return Whose(hop=self.hop.hop) if part is None else of_part(self.parts[part], self.hop.hop)

    def samples(self) -> list[pl.DataFrame]:
        """Series of 10 ms bins."""
        n = self.bin_count
        every = np.arange(n, dtype=np.int64)
        leave, size, gone = self.leave, self.packets["bytes"], self.departed
        result = [
            self._samples("throughput_10ms", "bit/s", every, bins.throughput(leave[gone], size[gone], n)),
            self._samples("drops_10ms", "packets", every, bins.counts(leave[self.dropped], n)),
        ]
        if self.has_headers:
            result.append(self._samples("marks_10ms", "packets", every, bins.counts(leave[self.marked], n)))
        for i, item in enumerate(self.item_names):
            mine = gone & (self.item_of_packet == i)
            values = bins.throughput(leave[mine], size[mine], n)
            result.append(self._samples("throughput_10ms", "bit/s", every, values, item=item))
        if self.flows.height <= MAX_FLOWS_WITH_SERIES:
            for number, label in self.flows.select("flow", "label").iter_rows():
                mine = gone & (self.packets["flow"] == number)
                if label is None or not np.any(leave[mine] >= 0):
                    continue
                values = bins.throughput(leave[mine], size[mine], n)
                busy = np.flatnonzero(values)
                life = slice(int(busy[0]), int(busy[-1]) + 1) if busy.size else slice(0, 0)
                result.append(
                    self._samples("throughput_10ms", "bit/s", every[life], values[life], flow=label)
                )
        sojourn = self.packets["sojourn_ns"].astype(np.int64)
        for q, grouped in bins.bin_quantiles(leave[gone], sojourn[gone], n).items():
            result.append(
                self._samples(f"sojourn_p{round(q * 100)}_10ms", "ns", grouped.bins, grouped.values)
            )
        for unit in ("bytes", "packets"):
            grouped = bins.maxima(self.arrive, self.packets[f"backlog_{unit}"], n)
            result.append(self._samples(f"backlog_max_{unit}_10ms", unit, grouped.bins, grouped.values))
        return result

    def _parts(self) -> list[tuple[str | None, NDArray[np.bool_]]]:
        """All traffic, then that of each item: packets of t ≥ 0."""
        during = self.leave >= 0
        parts: list[tuple[str | None, NDArray[np.bool_]]] = [(None, during)]
        parts += [(item, during & (self.item_of_packet == i)) for i, item in enumerate(self.item_names)]
        return parts

    def histograms(self) -> list[pl.DataFrame]:
        """Sojourn times of departed packets."""
        result = []
        for item, mine in self._parts():
            h = bins.histogram(self.packets["sojourn_ns"][mine & self.departed].astype(np.int64))
            frame = pl.DataFrame({"lower_ns": h.lower, "upper_ns": h.upper, "packets": h.packets})
            constants = {
                "run_id": self.run_id, "hop": self.hop.hop, "direction": self.hop.direction, "item": item,
            }  # fmt: skip
            result.append(schema.conform(frame, "sojourn", constants))
        return result

    def metrics(self) -> pl.DataFrame:
        """Figures of the whole run, t ≥ 0."""
        rows: list[tuple[Name, float, str]] = []
        for item, mine in self._parts():
            gone = mine & self.departed
            counts = {"tap_arrived": mine, "tap_departed": gone, "tap_dropped": mine & self.dropped}
            size = float(self.packets["bytes"][gone].sum(dtype=np.int64))
            found = [(name, float(np.count_nonzero(those)), "packets") for name, those in counts.items()]
            found.append(("tap_departed_bytes", size, "bytes"))
            if self.has_headers:
                found.append(("tap_marked", float(np.count_nonzero(mine & self.marked)), "packets"))
                ecn_in = self.packets["tos_in"][mine] & tap.ECN_MASK
                found += [
                    (f"tap_arrived_{name}", float(np.count_nonzero(ecn_in == bits)), "packets")
                    for bits, name in tap.ECN_NAMES.items()
                ]
            sojourn = np.sort(self.packets["sojourn_ns"][gone].astype(np.int64))
            if sojourn.size:
                for percent in (50, 90, 95, 99):
                    value = bins.quantile(sojourn, percent / 100) / NS_PER_MS
                    found.append((f"sojourn_p{percent}_ms", value, "ms"))
                found.append(("sojourn_max_ms", float(sojourn[-1]) / NS_PER_MS, "ms"))
                found.append(("sojourn_mean_ms", float(sojourn.mean()) / NS_PER_MS, "ms"))
            whose = self._whose(item)
            rows += [(Name(name, self.hop.direction, whose), value, unit) for name, value, unit in found]
        return schema.conform(figure_rows(rows), "metrics", {"run_id": self.run_id})
