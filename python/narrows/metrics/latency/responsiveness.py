"""Responsiveness under working conditions (RPM), as the IETF draft computes it from one window of probes.

Definition (draft-ietf-ippm-responsiveness-08 and -09, "Aggregating the Measurements"): with TM the
single-sided trimmed mean that keeps the lowest TMP = 95 % of the samples,

    foreign = 60000 / ((TM(tcp_f) + TM(tls_f) + TM(http_f)) / 3)       new connections
    loaded  = 60000 / TM(http_l)                                       requests on the loaded connections
    RPM     = (foreign + loaded) / 2

Without TLS the foreign mean is over tcp_f and http_f. A TLS handshake time is divided by its round trips
first. -08 and -09 share these formulas; of their parameters only the interval differs (1 s and 5 s), and so
does the span of the probes that count: the last MAD = 4 intervals are 4 s in -08 and 20 s in -09.

The trimmed mean keeps floor(0.95 n) samples (the draft does not say how to round): the largest value always
goes, and one sample gives nothing. Foreign and loaded are reported apart, because fair queueing parts them.
Stability and confidence: `narrows.metrics.latency.responsiveness_stability`. The variant that
goresponsiveness computes averages times before it inverts and reads very differently:
`narrows.metrics.latency.goresponsiveness`.

Unit: round trips per minute (1/min); times in ms.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from narrows.metrics.statistics.arrays import Values, clean, partitioned, raw
from narrows.units import MS_PER_MINUTE, NS_PER_S

FOREIGN, SELF = "foreign", "self"


@dataclass(frozen=True)
class Parameters:
    """The draft's parameters, under its names."""

    number: str
    """Which draft, of two digits."""
    interval_s: float  # ID
    mad: int = 4  # intervals in a moving average, and moving averages in a stability decision
    tmp_percent: int = 95  # what the trimmed mean keeps
    sdt: float = 0.05  # tolerated standard deviation, share of the current value
    inp: int = 1  # connections at the start
    inc: int = 1  # connections added per interval
    mnp: int = 16  # most connections
    mps: int = 100  # most probes per second
    ptc: float = 0.05  # share of capacity that probes may take

    @property
    def version(self) -> str:
        """The draft's name."""
        return f"draft-ietf-ippm-responsiveness-{self.number}"

    @property
    def interval_ns(self) -> int:
        """Interval duration in ns."""
        return round(self.interval_s * NS_PER_S)


DRAFT_08 = Parameters("08", interval_s=1.0)
DRAFT_09 = Parameters("09", interval_s=5.0)


@dataclass(frozen=True)
class Responsiveness:
    """RPM and its parts; each is None where its probes are too few. Counts are of probes before trimming."""

    rpm: float | None
    foreign_rpm: float | None
    loaded_rpm: float | None
    foreign_probes: int
    self_probes: int
    tls: bool


def trimmed_mean(values: Values, keep_percent: int = 95) -> float | None:
    """Mean of the lowest floor(n x keep_percent / 100) samples; None where that keeps none."""
    if not 0 < keep_percent <= 100:
        raise ValueError(f"trimmed mean that keeps {keep_percent} %: it must be in 1..100")
    x = clean(values)
    keep = x.size * keep_percent // 100
    if keep == 0:
        return None
    return float(np.mean(partitioned(x, keep - 1)[:keep]))


def responsiveness(
    tcp_f_ms: Values,
    tls_f_ms: Values | None,
    http_f_ms: Values,
    http_l_ms: Values,
    parameters: Parameters = DRAFT_09,
) -> Responsiveness:
    """RPM of the probes given; tls_f_ms None is the TCP-only case, not a handshake of zero."""
    parts = [clean(tcp_f_ms), *([] if tls_f_ms is None else [clean(tls_f_ms)]), clean(http_f_ms)]
    loaded = clean(http_l_ms)
    means = [trimmed_mean(part, parameters.tmp_percent) for part in parts]
    loaded_mean = trimmed_mean(loaded, parameters.tmp_percent)
    known = [mean for mean in means if mean is not None]
    foreign_rpm = _per_minute(sum(known) / len(means)) if len(known) == len(means) else None
    loaded_rpm = _per_minute(loaded_mean)
    both = None if foreign_rpm is None or loaded_rpm is None else (foreign_rpm + loaded_rpm) / 2.0
    return Responsiveness(
        rpm=both,
        foreign_rpm=foreign_rpm,
        loaded_rpm=loaded_rpm,
        foreign_probes=int(parts[-1].size),
        self_probes=int(loaded.size),
        tls=tls_f_ms is not None,
    )


def responsiveness_of(probes: pl.DataFrame, parameters: Parameters = DRAFT_09) -> Responsiveness:
    """RPM of a probe table: kind ("foreign", "self"), tcp_ms, tls_ms, http_ms, perhaps tls_round_trips.

    A table whose foreign probes all lack tls_ms is the TCP-only case; one where only some do is refused.
    """
    if kinds := set(probes["kind"].unique().to_list()) - {FOREIGN, SELF}:
        raise ValueError(f'probe kind {sorted(map(str, kinds))}: it is "foreign" or "self"')
    foreign = probes.filter(pl.col("kind") == FOREIGN)
    complete = foreign.filter(pl.col("tcp_ms").is_not_null() & pl.col("http_ms").is_not_null())
    tls = raw(complete["tls_ms"])
    if "tls_round_trips" in complete.columns:
        tls = tls / raw(complete["tls_round_trips"])
    missing = int(np.isnan(tls).sum())
    if 0 < missing < tls.size:
        raise ValueError(
            f"{missing} of {tls.size} foreign probes have no TLS time; a test has TLS or has not"
        )
    return responsiveness(
        complete["tcp_ms"],
        None if missing else tls,
        complete["http_ms"],
        probes.filter(pl.col("kind") == SELF)["http_ms"],
        parameters,
    )


def _per_minute(mean_ms: float | None) -> float | None:
    return MS_PER_MINUTE / mean_ms if mean_ms else None
