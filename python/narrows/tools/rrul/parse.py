"""RRUL's own reading, after Flent: sums and averages of its TCP flows, means of its probes with load and
without.

Reads no text: the parts' own parsers have. A flow's rate is that of `bulk`: bytes that had arrived at the end
of the load over its time. (Flent takes what netperf's sender wrote for uploads, what its receiver read for
downloads, and averages over the steps of a grid.) "avg" of the probes is the mean of the probes' means, as
Flent's average over its grid is where no probe is missing.
"""

from collections.abc import Mapping

import polars as pl

from narrows.plan.items import Composite
from narrows.store.parsers.common import Parsed
from narrows.units import NS_PER_MS

TCP_DIRECTIONS = ("down", "up")


def parse(
    item: str, parts: Mapping[str, Parsed], *, load_from_ns: int, load_to_ns: int, flows: int
) -> Parsed:
    """Figures of the whole and of each probe as its part, and each flow's goodput over
    time.

    `parts` by id; `flows` is how many there are each way: with fewer, there is no sum.
    """
    parsed = Parsed()
    sums = {}
    for way in TCP_DIRECTIONS:
        rates = [
            figure.value
            for part in parts.values()
            for figure in part.metrics
            if figure.name == "bulk_goodput_bps" and figure.direction == way and figure.flow is not None
        ]
        if len(rates) != flows:
            parsed.warnings.append(f"{item}: {len(rates)} of {flows} flows {way} have a rate, so no sum")
            continue
        sums[way] = sum(rates)
        parsed.figure("rrul_tcp_sum_bps", sums[way], "bit/s", way)
        parsed.figure("rrul_tcp_avg_bps", sums[way] / flows, "bit/s", way)
    if len(sums) == len(TCP_DIRECTIONS):
        parsed.figure("rrul_tcp_totals_bps", sum(sums.values()), "bit/s")
    _probes(parsed, item, parts, load_from_ns, load_to_ns)
    for name, part in parts.items():
        for frame in part.samples:
            _goodput(parsed, name, frame)
    return parsed


def _probes(
    parsed: Parsed, item: str, parts: Mapping[str, Parsed], load_from_ns: int, load_to_ns: int
) -> None:
    loaded: list[float | None] = []
    idle: list[float | None] = []
    for name, part in parts.items():
        for frame in part.samples:
            if not frame["quantity"].eq("rtt").any():
                continue
            t = pl.col("t_ns")
            rows = frame.filter(pl.col("quantity") == "rtt")
            for phase, means, which in (
                ("loaded", loaded, (t >= load_from_ns) & (t < load_to_ns)),
                ("idle", idle, t < load_from_ns),
            ):
                mean = rows.filter(which)["value"].mean()
                value = mean / NS_PER_MS if isinstance(mean, float) else None
                means.append(value)
                parsed.figure(f"rrul_ping_{phase}_ms", value, "ms", part=name)
    for phase, means in (("loaded", loaded), ("idle", idle)):
        known = [mean for mean in means if mean is not None]
        if known and len(known) == len(means):
            parsed.figure(f"rrul_ping_{phase}_avg_ms", sum(known) / len(known), "ms")
        else:
            parsed.warnings.append(f"{item}: a probe has no answer ({phase}), so there is no average")


def _goodput(parsed: Parsed, part: str, frame: pl.DataFrame) -> None:
    """Acknowledged bytes between two samples of a flow, over their distance, at the later one."""
    acked = frame.filter(pl.col("quantity") == "tcp_info.bytes_acked").sort("flow", "t_ns")
    if not acked.height:
        return
    span, more = pl.col("t_ns").diff().over("flow"), pl.col("value").diff().over("flow")
    rates = acked.with_columns(rate=more * 8e9 / span, span=span).filter(pl.col("span") > 0)
    for (direction, flow), rows in rates.group_by("direction", "flow", maintain_order=True):
        way = None if direction is None else str(direction)
        parsed.add(
            "throughput", "bit/s", rows["t_ns"], rows["rate"], part=part, direction=way, flow=str(flow)
        )


def read_parts(composite: Composite, parts: Mapping[str, Parsed]) -> Parsed:
    """Figures of a test whose parts were read."""
    options = {name: int(value) for name, value in composite.options.items() if isinstance(value, int)}
    return parse(
        composite.id,
        {name: parts[name] for name in composite.parts if name in parts},
        load_from_ns=options["load_from_ns"],
        load_to_ns=options["load_to_ns"],
        flows=options["flows"],
    )
