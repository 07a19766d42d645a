"""Figures of a whole test that need more than one series: scores of a path, RRUL's summary, stability.

As in `narrows.scoring.any_latency` the definitions are kept and the samples are given, whichever tool loaded
the link:

- AIM (`narrows.metrics.latency.aim`) of a probe's round trips before the load and under both loads, and of
  the download; with the loss that the probe saw, and as Cloudflare scores where loss was not measured;
- QoO, IQB and the bufferbloat grade (`narrows.metrics.latency.qoo` and its neighbours) of the same round
  trips and of what the tool's own packets carried on average. Each takes the latency that its text means: QoO
  and grade under load, IQB at rest, where M-Lab's data has the least of a test. QoO is by the draft's example
  of a requirement: it has none for an application;
- RRUL (`narrows.metrics.latency.rrul`) of flows and probes while both directions were loaded at once; a tool
  that loads one way after the other has none;
- stability and confidence (`narrows.metrics.latency.responsiveness_stability`) of the goodput of the tool's
  own packets and of RPM, a third party's round trips as foreign, the tool's own connections' as self.

Unit: named with each figure. Confidence: low 0, medium 1, high 2.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from narrows.metrics.latency import bufferbloat_grade, qoo
from narrows.metrics.latency import iqb as barometer
from narrows.metrics.latency.aim import aim_scores
from narrows.metrics.latency.cloudflare import LAST_POINTS, last_median
from narrows.metrics.latency.jitter import jitter
from narrows.metrics.latency.responsiveness import DRAFT_08, DRAFT_09, FOREIGN, SELF, Parameters
from narrows.metrics.latency.responsiveness_stability import Confidence, assess, is_stable_go
from narrows.metrics.latency.rrul import PING, TCP_DOWN, TCP_UP, rrul
from narrows.metrics.statistics.arrays import Floats, clean
from narrows.metrics.statistics.columns import aligned, ascending
from narrows.scoring.any_latency import Delays, Value
from narrows.units import NS_PER_MS, NS_PER_S

CLOUDFLARE_PING_NS = 400_000_000
STEP_NS = 200_000_000
AIM = "@cloudflare/speedtest 1.14.1"
FLENT = "Flent 2.3, step 0.2 s"
GO = "goresponsiveness"
POINTS = {Confidence.LOW: 0.0, Confidence.MEDIUM: 1.0, Confidence.HIGH: 2.0}
Window = tuple[int, int]


def aim_values(
    idle: Delays | None, down: Delays, up: Delays, download_bps: float | None, lost: float | None
) -> list[Value]:
    """Points of each experience; none where one of its measurements is missing. `lost`: share of probes."""
    if idle is None:
        return []
    rest = clean(idle.delay_ns) / NS_PER_MS
    loaded = [clean(way.thinned(CLOUDFLARE_PING_NS).delay_ns) / NS_PER_MS for way in (down, up)]
    values = []
    for version, loss in ((f"{AIM}, loss of the probe", lost), (f"{AIM}, loss not measured", None)):
        scores = aim_scores(
            float(np.median(rest)) if rest.size > 1 else None,
            last_median(loaded[0]),
            last_median(loaded[1]),
            jitter(idle.delay_ns / NS_PER_MS),
            download_bps,
            loss,
        )
        n = int(min(LAST_POINTS, loaded[0].size) + min(LAST_POINTS, loaded[1].size))
        for experience, score in scores.items():
            if score is not None:
                values.append(Value(f"aim_{experience}_points", version, float(score.points), "1", n))
    return values


def path_values(
    idle: Delays | None,
    down: Delays,
    up: Delays,
    rates_bps: tuple[float | None, float | None],
    lost: float | None,
) -> list[Value]:
    """QoO, IQB and the bufferbloat grade; what lacks an input has no row. `rates_bps`: down and up."""
    loaded = [way.delay_ns / NS_PER_MS for way in (down, up)]
    both = clean(np.concatenate(loaded))
    rest = np.empty(0) if idle is None else clean(idle.delay_ns) / NS_PER_MS
    known = [rate for rate in rates_bps if rate is not None]
    least = min(known) if len(known) == len(rates_bps) else None
    needed = qoo.qoo(both, lost, least, qoo.EXAMPLE)
    values = [Value("qoo", f"{qoo.VERSION}, by its example of a requirement", needed, "%", int(both.size))]
    at_rest = float(rest.min()) if rest.size else None
    for use, share in barometer.iqb(*rates_bps, at_rest, lost).items():
        values.append(Value(f"iqb_{use}", barometer.VERSION, share, "1", int(rest.size)))
    step = bufferbloat_grade.grade(rest, *loaded)
    mark = None if step is None else float(step)
    values.append(Value("bufferbloat_grade", bufferbloat_grade.VERSION, mark, "1", int(both.size)))
    return [value for value in values if value.value is not None]


def rrul_values(
    flows: Mapping[tuple[str, str], tuple[Floats, Floats]], probes: Mapping[str, Delays], window: Window
) -> list[Value]:
    """Sums and averages while both ways are loaded. `flows`: times and payload bytes of the packets of each
    (direction, flow); a step of 0.2 s without any counts as 0.
    """
    begin, end = window
    steps = int((end - begin) // STEP_NS)
    if steps < 2 or not probes:
        return []
    frames = []
    for (way, name), (t_ns, size) in flows.items():
        t_ns, size = aligned(t_ns=t_ns, payload_bytes=size)
        index = ((t_ns - begin) // STEP_NS).astype(np.int64)
        inside = (index >= 0) & (index < steps)
        rate = np.bincount(index[inside], weights=size[inside], minlength=steps) * 8.0 * NS_PER_S / STEP_NS
        at = begin + np.arange(steps, dtype=np.int64) * STEP_NS
        frames.append(_rows(TCP_DOWN if way == "down" else TCP_UP, name, at, rate))
    for name, delays in probes.items():
        present = ~np.isnan(delays.delay_ns)
        ms = delays.delay_ns[present] / NS_PER_MS
        frames.append(_rows(PING, name, delays.t_ns[present].astype(np.int64), ms))
    found = rrul(pl.concat(frames), 0, begin / NS_PER_S, steps * STEP_NS / NS_PER_S)
    units = {"tcp": "bit/s", "ping": "ms"}
    values = []
    for name in ("tcp_down_sum", "tcp_down_avg", "tcp_up_sum", "tcp_up_avg", "tcp_totals", "ping_avg",
                 "ping_idle_avg"):  # fmt: skip
        value = getattr(found, name)
        kind = name.partition("_")[0]
        n = sum(series.loaded.n for (of, _), series in found.series.items() if of.startswith(kind))
        values.append(Value(f"rrul_{name}", FLENT, value, units[kind], n))
    return [value for value in values if value.value is not None]


def _rows(kind: str, name: str, t_ns: np.ndarray, value: Floats) -> pl.DataFrame:
    return pl.DataFrame({"t_ns": t_ns, "value": value}).select(
        pl.lit(kind).alias("kind"), pl.lit(name).alias("name"), "t_ns", pl.col("value").cast(pl.Float64)
    )


def stability_values(
    t_ns: Floats, payload_bytes: Floats, foreign: Delays, own: Delays, window: Window
) -> list[Value]:
    """When goodput and RPM became stable after the load began, and the confidence, of both drafts; and when
    goresponsiveness finds the goodput stable. Packets in order of time.
    """
    t_ns, payload_bytes = aligned(t_ns=t_ns, payload_bytes=payload_bytes)
    ascending(t_ns, "t_ns of the packets")
    if t_ns.size < 2:
        return []
    probes = _probes(foreign, own)
    values: list[Value] = []
    for draft in (DRAFT_08, DRAFT_09):
        spans = _interval_bytes(t_ns, payload_bytes, window, draft.interval_ns)
        if spans.size:
            values += _assessed(spans, probes, draft, window[0])
        if draft is DRAFT_08 and spans.size:
            stable = next((n for n in range(spans.size) if is_stable_go(spans[: n + 1])), None)
            at = None if stable is None else (stable + 1) * draft.interval_s
            values.append(Value("rpm_goodput_stable_after", GO, at, "s", int(spans.size)))
    return [value for value in values if value.value is not None]


def _probes(foreign: Delays, own: Delays) -> pl.DataFrame:
    """Probes that were completed: each part of a foreign one takes a round trip."""
    frames = []
    for kind, series in ((FOREIGN, foreign), (SELF, own)):
        done = ~np.isnan(series.delay_ns)
        ms = pl.Series("ms", series.delay_ns[done] / NS_PER_MS, dtype=pl.Float64)
        part = ms if kind == FOREIGN else pl.Series("ms", [None] * len(ms), dtype=pl.Float64)
        end = (series.t_ns[done] + series.delay_ns[done]).astype(np.int64)
        columns: dict[str, pl.Series | Sequence[str] | np.ndarray] = {
            "t_ns": end, "kind": [kind] * len(ms), "tcp_ms": part, "tls_ms": part, "http_ms": ms,
        }  # fmt: skip
        frames.append(pl.DataFrame(columns, schema_overrides={"kind": pl.String}))
    return pl.concat(frames).sort("t_ns", maintain_order=True)


def _interval_bytes(t_ns: Floats, size: Floats, window: Window, interval_ns: int) -> Floats:
    begin, end = window
    count = int((end - begin) // interval_ns)
    low, high = np.searchsorted(t_ns, [begin, begin + count * interval_ns])
    index = ((t_ns[low:high] - begin) // interval_ns).astype(np.int64)
    return np.asarray(np.bincount(index, weights=size[low:high], minlength=count), dtype=np.float64)


def _assessed(spans: Floats, probes: pl.DataFrame, draft: Parameters, start_ns: int) -> Iterator[Value]:
    found = assess(spans, probes, draft, start_ns)
    n, version = found.intervals, draft.version
    for what, at, sure in (
        ("goodput", found.goodput_stable_at, found.goodput_confidence),
        ("responsiveness", found.responsiveness_stable_at, found.responsiveness_confidence),
    ):
        after = None if at is None else (at + 1) * draft.interval_s
        yield Value(f"rpm_{what}_stable_after", version, after, "s", n)
        yield Value(f"rpm_{what}_confidence", version, POINTS[sure], "1", n)
    count = found.result.foreign_probes + found.result.self_probes
    yield Value("rpm_at_the_end", version, found.result.rpm, "1/min", count)
