"""RRUL and RRUL best effort, summarised per class as Flent defines the test.

Definition (Flent 2.3, tests/rrul.conf, rrul_be.conf): 5 s of probes alone, 60 s with load, 5 s alone; four
TCP flows each way, three UDP probes and one ICMP probe. The flows are of BE (CS0), BK (CS1), CS5 and EF in
`rrul`, its UDP probes of EF, BK and BE; in `rrul_be` all are best effort. Flent's "sum" and "avg" add or
average the streams at each instant of a common grid (step 0.2 s); over a whole phase these are the sum and
the mean of the streams' own means, which is what is computed here, so no interpolation enters.

The load phase is [start + delay, start + delay + length), as Flent's CDFs cut it; Flent's text summary
takes the whole series, its edges included, and reads lower rates. Idle is what came before the load.
Flent's UDP probe is isochronous with irtt and closed-loop without it: name which one the samples are from.

Unit: that of the values (bit/s for TCP, ms for probes).
"""

from dataclasses import dataclass, field

import polars as pl

from narrows.metrics.statistics.distribution import Distribution, distribution
from narrows.units import NS_PER_S

DELAY_S = 5.0
LENGTH_S = 60.0
TCP_DOWN, TCP_UP, PING = "tcp_down", "tcp_up", "ping"
KINDS = (TCP_DOWN, TCP_UP, PING)
MIN_SAMPLES = 2


@dataclass(frozen=True)
class Series:
    """One stream or probe: its distribution under load and, of probes, before it."""

    kind: str
    name: str
    loaded: Distribution
    idle: Distribution


@dataclass(frozen=True)
class Rrul:
    """Every series by (kind, name), and Flent's sums and averages; None unless every series has samples."""

    series: dict[tuple[str, str], Series] = field(default_factory=dict)
    tcp_down_sum: float | None = None
    tcp_down_avg: float | None = None
    tcp_up_sum: float | None = None
    tcp_up_avg: float | None = None
    tcp_totals: float | None = None
    ping_avg: float | None = None
    ping_idle_avg: float | None = None


def rrul(
    samples: pl.DataFrame, start_ns: int = 0, delay_s: float = DELAY_S, length_s: float = LENGTH_S
) -> Rrul:
    """Summary of rows kind ("tcp_down", "tcp_up", "ping"), name (class or probe), t_ns, value."""
    if unknown := set(samples["kind"].unique().to_list()) - set(KINDS):
        raise ValueError(f"kind {sorted(map(str, unknown))}: it is one of {', '.join(KINDS)}")
    load = start_ns + round(delay_s * NS_PER_S)
    end = load + round(length_s * NS_PER_S)
    series: dict[tuple[str, str], Series] = {}
    for key, rows in samples.group_by("kind", "name", maintain_order=True):
        kind, name = str(key[0]), str(key[1])
        t = pl.col("t_ns")
        series[kind, name] = Series(
            kind,
            name,
            loaded=distribution(rows.filter((t >= load) & (t < end))["value"]),
            idle=distribution(rows.filter((t >= start_ns) & (t < load))["value"]),
        )
    down, up, ping = (_means(series, kind, "loaded") for kind in KINDS)
    idle = _means(series, PING, "idle")
    return Rrul(
        series=series,
        tcp_down_sum=_sum(down),
        tcp_down_avg=_mean(down),
        tcp_up_sum=_sum(up),
        tcp_up_avg=_mean(up),
        tcp_totals=_sum(None if down is None or up is None else down + up),
        ping_avg=_mean(ping),
        ping_idle_avg=_mean(idle),
    )


def _means(series: dict[tuple[str, str], Series], kind: str, phase: str) -> list[float] | None:
    """Means of all series of a kind; None if any has fewer than two samples: a sum without one of its parts
    is wrong."""
    parts: list[Distribution] = [getattr(one, phase) for (of, _), one in series.items() if of == kind]
    means = [part.mean for part in parts if part.mean is not None and part.n >= MIN_SAMPLES]
    return means if means and len(means) == len(parts) else None


def _sum(means: list[float] | None) -> float | None:
    return None if means is None else sum(means)


def _mean(means: list[float] | None) -> float | None:
    return None if means is None else sum(means) / len(means)
