"""Responsiveness of one stored test, in all three variants, from the same probes.

Each variant takes the probes completed in the last MAD intervals of its own length before the test's end:
4 s for draft-08, 20 s for draft-09. goresponsiveness looks for stability before it files the interval that
has just ended (networkQuality.go: IsStable, then Interval), so its 4 s end 1 s before the test does.
Formulas: `narrows.metrics.latency.responsiveness` and `narrows.metrics.latency.goresponsiveness`. The probes'
pace and the test's end are those of the variant that the client followed, so a figure of another variant is
"what its formula says of these probes".

Unit: round trips per minute (1/min). Sources: see the modules named.
"""

from dataclasses import dataclass

import polars as pl

from narrows.metrics.latency.goresponsiveness import GoResponsiveness, goresponsiveness
from narrows.metrics.latency.responsiveness import (
    DRAFT_08,
    DRAFT_09,
    FOREIGN,
    SELF,
    Responsiveness,
    responsiveness_of,
)
from narrows.units import NS_PER_MS

PARTS = ("tcp", "tls", "http")
GO_INTERVAL_NS = DRAFT_08.interval_ns
GO_WINDOW_NS = DRAFT_08.mad * GO_INTERVAL_NS


@dataclass(frozen=True)
class Variants:
    """What each variant says; None where there are too few probes."""

    draft_08: Responsiveness
    draft_09: Responsiveness
    go: GoResponsiveness


def probe_table(samples: pl.DataFrame, item: str, direction: str | None) -> pl.DataFrame:
    """The probes of one test from a run's `samples`: t_ns (completion), kind, tcp_ms, tls_ms, http_ms.

    In order of t_ns; `tls_ms` is per round trip, and null without TLS.
    """
    own = samples.filter(
        (pl.col("item").cast(pl.String) == item)
        & pl.col("part").is_null()
        & pl.col("direction").cast(pl.String).eq_missing(pl.lit(direction, dtype=pl.String))
    ).select("t_ns", series=pl.col("quantity").cast(pl.String), ms=pl.col("value") / NS_PER_MS)
    tables = []
    for kind in (FOREIGN, SELF):
        # A probe's parts have one time; two probes of one time are told apart by their order.
        parts = [
            own.filter(pl.col("series") == f"{kind}_{part}")
            .sort("t_ns", maintain_order=True)
            .with_columns(n=pl.int_range(pl.len()).over("t_ns"))
            .select("t_ns", "n", pl.col("ms").alias(f"{part}_ms"))
            for part in PARTS
        ]
        table = parts[2]
        for part in parts[:2]:
            table = table.join(part, on=("t_ns", "n"), how="left")
        tables.append(table.select("t_ns", pl.lit(kind).alias("kind"), *(f"{part}_ms" for part in PARTS)))
    return pl.concat(tables).sort("t_ns", maintain_order=True)


def rpm_variants(probes: pl.DataFrame, end_ns: int) -> Variants:
    """All variants at the test's end; `probes` as from `probe_table`."""

    def last(window_ns: int, before_ns: int = end_ns) -> pl.DataFrame:
        return probes.filter((pl.col("t_ns") >= before_ns - window_ns) & (pl.col("t_ns") < before_ns))

    recent = last(GO_WINDOW_NS, end_ns - GO_INTERVAL_NS)
    foreign = recent.filter(pl.col("kind") == FOREIGN)
    # Its foreign time is the whole probe's. With TLS 1.3 the handshake is one round trip, as in the table.
    total = foreign.select(pl.sum_horizontal("tcp_ms", "tls_ms", "http_ms"))
    return Variants(
        draft_08=responsiveness_of(last(DRAFT_08.mad * DRAFT_08.interval_ns), DRAFT_08),
        draft_09=responsiveness_of(last(DRAFT_09.mad * DRAFT_09.interval_ns), DRAFT_09),
        go=goresponsiveness(total.to_series(), recent.filter(pl.col("kind") == SELF)["http_ms"]),
    )
