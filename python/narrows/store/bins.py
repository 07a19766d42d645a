"""Reduces the packets of one hop to time bins, quantiles and a histogram of sojourn times.

Pure functions on arrays. Percentiles are order statistics (nearest rank, RFC 2330 section 11.3): each is a
sojourn time that some packet really had.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BIN_NS = 10_000_000
QUANTILES = (0.50, 0.95, 0.99)
SUB_BUCKET_BITS = 6  # 64 buckets to each power of two

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def bin_count(end_ns: int) -> int:
    """Bins that cover [0, end)."""
    return max(0, -(-end_ns // BIN_NS))


def throughput(t_ns: Ints, bytes_: NDArray[Any], bins: int) -> Floats:
    """bit/s in each bin from bytes that departed at t; a bin without departures is 0, which is its value."""
    inside = (t_ns >= 0) & (t_ns < bins * BIN_NS)
    sums = np.bincount(t_ns[inside] // BIN_NS, weights=bytes_[inside].astype(np.float64), minlength=bins)
    result: Floats = (sums * (8.0 * 1e9 / BIN_NS)).astype(np.float64)
    return result


def counts(t_ns: Ints, bins: int) -> Floats:
    """Events in each bin."""
    inside = (t_ns >= 0) & (t_ns < bins * BIN_NS)
    result: Floats = np.bincount(t_ns[inside] // BIN_NS, minlength=bins).astype(np.float64)
    return result


@dataclass(frozen=True)
class Grouped:
    """One value per non-empty bin."""

    bins: Ints
    values: Floats


def maxima(t_ns: Ints, values: NDArray[Any], bins: int) -> Grouped:
    """The largest value in each bin that has any."""
    inside = (t_ns >= 0) & (t_ns < bins * BIN_NS)
    index = t_ns[inside] // BIN_NS
    largest = np.full(bins, -1.0)
    np.maximum.at(largest, index, values[inside].astype(np.float64))
    filled = np.flatnonzero(largest >= 0)
    return Grouped(filled, largest[filled])


def bin_quantiles(t_ns: Ints, values: Ints, bins: int) -> dict[float, Grouped]:
    """Nearest-rank quantiles in each bin that has values."""
    inside = (t_ns >= 0) & (t_ns < bins * BIN_NS)
    index, inside_values = t_ns[inside] // BIN_NS, values[inside]
    order = np.lexsort((inside_values, index))
    index, inside_values = index[order], inside_values[order]
    filled, starts, sizes = np.unique(index, return_index=True, return_counts=True)
    result = {}
    for q in QUANTILES:
        rank = np.maximum(np.ceil(q * sizes).astype(np.int64), 1) - 1
        result[q] = Grouped(filled, inside_values[starts + rank].astype(np.float64))
    return result


def quantile(sorted_values: Ints, q: float) -> float:
    """Nearest-rank quantile of sorted values, of which there is at least one."""
    rank = max(int(np.ceil(q * sorted_values.size)), 1) - 1
    return float(sorted_values[rank])


@dataclass(frozen=True)
class Histogram:
    """Packets with lower ≤ value < upper; only buckets that have any."""

    lower: Ints
    upper: Ints
    packets: Ints


def histogram(values: Ints) -> Histogram:
    """Buckets of one unit up to 128, then 64 to each power of two."""
    v = values.astype(np.int64)
    exponent = np.frexp(np.maximum(v, 1).astype(np.float64))[1].astype(np.int64) - 1  # floor(log2)
    shift = np.maximum(exponent - SUB_BUCKET_BITS, 0)
    lower = (v >> shift) << shift
    # Each lower edge belongs to one shift, so the pair is found again from the edge alone.
    edges, first, packets = np.unique(lower, return_index=True, return_counts=True)
    width = np.int64(1) << shift[first]
    return Histogram(edges.astype(np.int64), edges + width, packets.astype(np.int64))
