"""Fits a path profile: the joint distribution of the properties of many sessions (or connections).

The distribution of each property is kept as quantiles, with no family assumed. What goes together is kept as
the correlation of the normal variables behind two properties, from Spearman's rank correlation over the
sessions that have both: r = 2 sin(π ρ / 6). Drawing from it is `narrows.spec.path_profile`'s work.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import stats

from narrows.errors import StoreError
from narrows.headers import ETHERNET_HEADER_BYTES, TCP_IPV4_HEADERS_BYTES
from narrows.spec.path_profile import PROPERTIES, Correlation, PathProfile, Property, cholesky

LEAST = 20
"""With fewer sessions a property has no distribution, and a pair no correlation."""
LEVELS = (0.0, 0.01, *(n / 50 for n in range(1, 50)), 0.99, 1.0)
CONFIDENCE = 0.95

HEADERS_BYTES = ETHERNET_HEADER_BYTES + TCP_IPV4_HEADERS_BYTES
"""Ethernet, IPv4 and TCP with timestamps: the core's capacity is of payload, a shaper's rate of frames."""

OF: dict[str, pl.Expr] = {
    "capacity_bps": pl.col("capacity_bps") * (1 + HEADERS_BYTES / pl.col("mss_bytes")),
    "random_loss": pl.col("lost_segments_low_rtt") / pl.col("data_segments"),
    "reordering": (pl.col("reordered_before") + pl.col("reordered_behind")) / pl.col("data_segments"),
}
"""Properties that are worked out of several columns; the others are columns."""


@dataclass(frozen=True)
class Error:
    """How far a fit from so many sessions may be off, with 95 % confidence."""

    share: float
    """The true share of sessions below any value is within this of the profile's (Dvoretzky, Kiefer,
    Wolfowitz, with Massart's constant)."""


def fit(sessions: pl.DataFrame, name: str, what: str) -> PathProfile:
    """The profile of `sessions` (rows of `narrows.paths.tables`).

    Properties with fewer than 20 values are left out. Raises StoreError when none is left.
    """
    values = sessions.select(OF.get(each, pl.col(each)).cast(pl.Float64).alias(each) for each in PROPERTIES)
    properties = {}
    for each in PROPERTIES:
        known = values[each].drop_nulls().drop_nans()
        if len(known) >= LEAST:
            # six digits: what is behind them is no measurement
            levels = [(level, float(f"{known.quantile(level, 'nearest'):.6g}")) for level in LEVELS]
            properties[each] = Property(tuple(levels), len(known), sessions.height, "measured")
    if not properties:
        raise StoreError(
            f"no property is known of at least {LEAST} of {sessions.height} sessions",
            remedy="more logs, or --of connections, or narrows paths --min-duration with less",
        )
    pairs = [_pair(values, a, b) for a, b in itertools.combinations(properties, 2)]
    return _possible(PathProfile(name, what, properties, tuple(p for p in pairs if p is not None)))


def error_of(known: int) -> Error:
    """How far a distribution from so many sessions may be off."""
    return Error(math.sqrt(math.log(2 / (1 - CONFIDENCE)) / (2 * known)))


def _pair(values: pl.DataFrame, a: str, b: str) -> Correlation | None:
    """None where one of the two is always the same, or too few sessions have both: nothing is known then."""
    both = values.select(a, b).drop_nulls().drop_nans()
    if both.height < LEAST or both[a].n_unique() < 2 or both[b].n_unique() < 2:
        return None
    rho = float(stats.spearmanr(both[a].to_numpy(), both[b].to_numpy()).statistic)
    return Correlation(a, b, round(2 * math.sin(math.pi * rho / 6), 3), both.height)


def interval(correlation: Correlation) -> tuple[float, float] | None:
    """The 95 % interval of a correlation (Fisher's transformation); None where it was not measured."""
    if correlation.known is None:
        return None
    centre = math.atanh(max(min(correlation.value, 0.9999), -0.9999))
    reach = float(stats.norm.ppf((1 + CONFIDENCE) / 2)) / math.sqrt(correlation.known - 3)
    return math.tanh(centre - reach), math.tanh(centre + reach)


def _possible(profile: PathProfile) -> PathProfile:
    """The nearest profile whose correlations can hold together: pairs are of different sessions, so they may
    contradict each other a little. Negative eigenvalues become small positive ones."""
    names = list(profile.properties)
    matrix = np.array(profile.matrix(names))
    try:
        cholesky(matrix.tolist())
        return profile
    except ValueError:
        eigenvalues, vectors = np.linalg.eigh(matrix)
        fixed = vectors @ np.diag(np.maximum(eigenvalues, 0.01)) @ vectors.T
        scale = np.sqrt(np.diag(fixed))
        fixed = fixed / np.outer(scale, scale)
    place = {name: index for index, name in enumerate(names)}
    pairs = tuple(
        Correlation(p.first, p.second, round(float(fixed[place[p.first], place[p.second]]), 3), p.known)
        for p in profile.correlations
    )
    return PathProfile(profile.name, profile.what, profile.properties, pairs)
