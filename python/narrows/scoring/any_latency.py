"""Every latency metric on one series of delays under load, whichever tool loaded the link.

Each tool defines its figure on its own samples; here the definition is kept and the samples are given, so
that what is left of a difference between two tools is their way of loading and of sampling. Where a
definition asks for a sampling law (Cloudflare: a ping every 400 ms; freezes: a frame every 33 ms), the series
is thinned to it, and a series that is sparser is taken as it is; the version says so. A metric that a series
cannot give has no row. Versions name the source whose formula it is.

Not here: what needs two series at once (`narrows.scoring.score` pairs foreign and self for RPM), and
throughput (`narrows.scoring.any_throughput`).

Unit: delays come in ns and are given in ms; a lost probe is NaN.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from narrows.metrics.latency.cloudflare import LAST_POINTS, last_median
from narrows.metrics.latency.freezes import freezes
from narrows.metrics.latency.glitches import glitches
from narrows.metrics.latency.goresponsiveness import goresponsiveness
from narrows.metrics.latency.high_delay_share import high_delay_share
from narrows.metrics.latency.ipdv import ipdv_range
from narrows.metrics.latency.jitter import jitter
from narrows.metrics.latency.pdv import pdv_quantile
from narrows.metrics.latency.responsiveness import DRAFT_08, DRAFT_09, Parameters, responsiveness
from narrows.metrics.latency.rfc3550_jitter import rfc3550_jitter
from narrows.metrics.latency.udp_capacity_feedback import UPPER_MS, delay_range_per_feedback
from narrows.metrics.latency.working_latency import working_latency
from narrows.metrics.statistics.arrays import Floats, all_finite, ascends, clean, quantiles, raw
from narrows.metrics.statistics.columns import aligned, ascending, first_of_each
from narrows.metrics.statistics.interquartile_mean import interquartile_mean
from narrows.units import NS_PER_MS

CLOUDFLARE_PING_NS = 400_000_000
FRAME_NS = 33_333_333  # 30 frames/s
MIN_SAMPLES = 2

QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
TYPE_7 = "Hyndman and Fan type 7"
CLOUDFLARE = "@cloudflare/speedtest 1.14.1, one ping per 400 ms"
OOKLA_MODEL = "model of Ookla's description"
NDT7 = "ndt7 0.11"
GO_MEAN, GO_P90 = "goresponsiveness, 5 % trimmed mean", "goresponsiveness, P90"


@dataclass(frozen=True)
class Value:
    """One figure, with the version of its definition and the number of samples it rests on."""

    metric: str
    version: str
    value: float | None
    unit: str
    n: int
    variant: str = ""
    """Which of several versions of one metric it is, in a few words."""


@dataclass(frozen=True)
class Delays:
    """Delays in order of sending; NaN is a lost probe. `interval_ns` is known of isochronous probes only.
    `is_loss_known`: false where some of the NaN were still on their way when the run ended; what counts lost
    probes then has no value."""

    t_ns: Floats
    delay_ns: Floats
    interval_ns: int | None = None
    is_loss_known: bool = True

    def __post_init__(self) -> None:
        if self.t_ns.size != self.delay_ns.size:
            raise ValueError(f"{self.t_ns.size} times but {self.delay_ns.size} delays; each row needs both")
        times = raw(self.t_ns)
        if not all_finite(times) and np.isnan(times).any():
            raise ValueError("a delay has no time; a probe that was lost has the time it was sent at")
        ascending(times, "t_ns")

    def thinned(self, every_ns: int) -> "Delays":
        """The first sample of each interval of that length; a series that is sparser stays as it is."""
        if self.t_ns.size == 0:
            return self
        first = first_of_each(self.t_ns, float(self.t_ns[0]), every_ns)
        return Delays(self.t_ns[first], self.delay_ns[first], is_loss_known=self.is_loss_known)

    def last(self, span_s: float) -> Floats:
        """The delays of the last so many seconds."""
        kept: Floats = self.delay_ns[self.t_ns > self.t_ns[-1] - span_s * 1e9]
        return kept


def latency_values(series: Delays, idle: Delays | None = None) -> list[Value]:
    """All figures of one series; `idle` is the same probe before the load. Fewer than two samples: none."""
    given = series.delay_ns
    if given.size == 0:
        return []
    delay = given / NS_PER_MS
    present = clean(delay)
    n = int(present.size)
    losses = Value("loss_ratio", "lost of sent", float(1.0 - n / given.size), "1", int(given.size))
    if n < MIN_SAMPLES:
        return [losses] if series.interval_ns is not None and series.is_loss_known else []
    ordered = np.sort(present)  # once: each metric below that asks for order statistics finds them in place
    values = [
        *_distribution(ordered),
        Value("latency_mean", "arithmetic mean", float(ordered.mean()), "ms", n),
        Value("latency_interquartile_mean", OOKLA_MODEL, interquartile_mean(ordered), "ms", n),
        Value("high_delay_share", "above 190 ms", high_delay_share(ordered), "1", n),
        Value("latency_shown_min", NDT7, float(ordered[0]), "ms", n),
        Value("pdv_p99.9", "RFC 5481", pdv_quantile(ordered), "ms", n),
        *_cloudflare(series),
        *_rpm(series, ordered),
        *_variation(delay, n),
        *_by_arrival(series),
        *_freezes(series),
    ]
    if series.interval_ns is not None:
        values += [*([losses] if series.is_loss_known else []), *_glitches(series)]
    if idle is not None:
        before = idle.delay_ns / NS_PER_MS
        for name, p in (("working_latency_p50", 0.5), ("working_latency_p95", 0.95)):
            values.append(
                Value(
                    name,
                    "narrows: loaded quantile - idle median",
                    working_latency(ordered, before, p),
                    "ms",
                    n,
                )
            )
    return [value for value in values if value.value is not None]


def _distribution(ordered: Floats) -> Iterator[Value]:
    found = quantiles(ordered, QUANTILES)
    for q, value in zip(QUANTILES, found, strict=True):
        name = {0.0: "min", 1.0: "max"}.get(q, f"p{q * 100:g}")
        yield Value(f"latency_{name}", TYPE_7, float(value), "ms", int(ordered.size))


def _cloudflare(series: Delays) -> Iterator[Value]:
    pings = clean(series.thinned(CLOUDFLARE_PING_NS).delay_ns) / NS_PER_MS
    last = pings[-LAST_POINTS:]
    yield Value("latency_last20_median", CLOUDFLARE, last_median(pings), "ms", int(last.size))
    yield Value("jitter_loaded", CLOUDFLARE, jitter(last), "ms", int(last.size))


def rpm_values(foreign: Delays, own: Delays) -> list[Value]:
    """RPM in all variants, of round trips of a third party (each new connection: TCP, TLS and request take
    one each) and of the tool's own connections; every interval that a version looks back on counts.
    """
    if foreign.t_ns.size == 0 or own.t_ns.size == 0:
        return []
    values = [
        value
        for draft in (DRAFT_08, DRAFT_09)
        for value in _draft(_last(foreign, draft), _last(own, draft), draft)
    ]
    values += _go(foreign.delay_ns / NS_PER_MS, own.delay_ns / NS_PER_MS)
    return [value for value in values if value.value is not None]


def _last(series: Delays, draft: Parameters) -> Floats:
    return series.last(draft.mad * draft.interval_s) / NS_PER_MS


def _go(foreign: Floats, own: Floats) -> list[Value]:
    found = goresponsiveness(foreign * 3.0, own)
    n = int(np.count_nonzero(~np.isnan(foreign)) + np.count_nonzero(~np.isnan(own)))
    return [
        Value("rpm", GO_MEAN, found.mean_rpm, "1/min", n, GO_MEAN),
        Value("rpm", GO_P90, found.p90_rpm, "1/min", n, GO_P90),
    ]


def _draft(foreign: Floats, own: Floats, draft: Parameters) -> list[Value]:
    found = responsiveness(foreign, foreign, foreign, own, draft)
    n = found.foreign_probes + found.self_probes
    return [
        Value("rpm", draft.version, found.rpm, "1/min", n, f"draft -{draft.number}"),
        Value("rpm_foreign", draft.version, found.foreign_rpm, "1/min", found.foreign_probes),
        Value("rpm_self", draft.version, found.loaded_rpm, "1/min", found.self_probes),
    ]


def _rpm(series: Delays, ordered: Floats) -> Iterator[Value]:
    """As if the series were the foreign and the self probes at once."""
    for draft in (DRAFT_08, DRAFT_09):
        last = _last(series, draft)
        yield from (value for value in _draft(last, last, draft) if value.metric == "rpm")
    yield from _go(ordered, ordered)


def _variation(delay: Floats, n: int) -> Iterator[Value]:
    yield Value("jitter", "@cloudflare/speedtest 1.14.1, every sample", jitter(delay), "ms", n)
    yield Value("ipdv_range_p99.9", "RFC 5481", ipdv_range(delay), "ms", n)


def _by_arrival(series: Delays) -> Iterator[Value]:
    """What is defined in the order of arrival: RFC 3550's jitter, and what a UDP capacity test would have
    seen: its delay ranges, and how often it would slow down.
    """
    sent, arrived = aligned(sent_ns=series.t_ns, arrived_ns=series.t_ns + series.delay_ns)
    if not ascends(arrived):
        order = np.argsort(arrived, kind="stable")
        sent, arrived = sent[order], arrived[order]
    delay = (arrived - sent) / NS_PER_MS
    smoothed = rfc3550_jitter(sent, arrived)
    yield Value(
        "jitter", "RFC 3550", None if smoothed is None else smoothed / NS_PER_MS, "ms", int(delay.size)
    )
    ranges = delay_range_per_feedback(arrived, delay, start_ns=int(arrived[0]))
    if ranges is None:
        return
    spans = ranges["delay_range_ms"].to_numpy()
    yield Value("delay_range_max", "RFC 9097, feedback of 50 ms", float(spans.max()), "ms", int(spans.size))
    slows = float(np.count_nonzero(spans > UPPER_MS) / spans.size)
    yield Value("delay_range_slows", f"RFC 9097, range above {UPPER_MS:g} ms", slows, "1", int(spans.size))


def _freezes(series: Delays) -> Iterator[Value]:
    """Freezes of a model video: a packet is a frame, shown when it arrives, a lost one never."""
    frames = series.thinned(FRAME_NS)
    shown = frames.t_ns + frames.delay_ns
    # a frame that a later one has overtaken is not shown
    times = np.maximum.accumulate(shown[~np.isnan(shown)]) / NS_PER_MS if shown.size else shown
    for variant in ("libwebrtc", "prior"):
        found = freezes(np.unique(times), variant)
        if found is None or not found.observed_ms:
            continue
        rate = found.count * 60_000.0 / found.observed_ms
        yield Value(
            "freezes_per_minute", f"{variant}, 30 frames/s of one packet", rate, "1/min", found.frames
        )


def _glitches(series: Delays) -> Iterator[Value]:
    assert series.interval_ns is not None
    rtt, interval_ms = series.delay_ns / NS_PER_MS, series.interval_ns / NS_PER_MS
    found = glitches(rtt, interval_ms)
    # without a loss the two are one: the running median of millions of samples is not worked out twice
    delayed = glitches(rtt, interval_ms, lost_counts=False) if found.lost else found
    for one, version in (
        (found, "narrows 1: 20 ms above 1 s median, or lost"),
        (delayed, "narrows 1: delay only"),
    ):
        if one is found and not series.is_loss_known:
            continue
        yield Value("glitches_per_minute", version, one.per_minute, "1/min", one.probes)
