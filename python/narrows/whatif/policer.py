"""A policer's rate and bucket, by what had passed when it dropped. Pure.

A policer drops when its bucket is empty. So at each loss the same is missing from it, if it is refilled at
its own rate: with too low a rate more seems to be missing each time, with too high a one less. The rate at
which the losses agree best is its rate, and what is missing then is its bucket. Within a recovery what passed
is not known to the byte: it is left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from narrows.whatif.capacity import HEADERS_BYTES, Value
from narrows.whatif.tables import Floats, Pair

RATES = np.geomspace(0.9, 1.6, 577)
"""Rates that are tried, as parts of what was acknowledged."""
AGREE = 0.08
"""Losses at which what is missing differs by more than this (median) are of no policer."""
SURELY = 0.04
"""So little where `narrows paths` does not say that it is one."""
LEAST_EVENTS = 4
ACK_PACKETS = 2.5
"""Between the last ACK before a loss and the loss: an ACK's two, and what is less than a packet."""


@dataclass(frozen=True)
class Policer:
    """Rate in frames, bucket in bytes."""

    rate_bps: Value
    burst_bytes: Value


def policer_of(pair: Pair) -> Policer | None:
    """The policer of a path, None where losses do not come as one's do, or `narrows paths` knows that there
    is none."""
    largest = max(pair.connections, key=lambda row: row["payload_bytes"])
    before = np.flatnonzero(pair.sacked[1:] & ~pair.sacked[:-1])
    if largest["policed"] == 0 or len(before) < LEAST_EVENTS:
        return None
    packet = pair.mss + HEADERS_BYTES
    passed = np.cumsum(pair.acked) * packet / pair.mss
    # Bytes a second, of the time in which there was something to send.
    active = largest["throughput_bps"] / 8 * packet / pair.mss
    rates = RATES * max(active, passed[-1] / (pair.t[-1] - pair.t[0]))
    buckets, spreads = np.array([_bucket(pair, passed, rate, before) for rate in rates]).T
    best = int(spreads.argmin())
    if spreads[best] > (AGREE if largest["policed"] == 1 else SURELY) or buckets[best] < 2 * packet:
        return None
    near = spreads <= max(1.5 * spreads[best], 0.01)
    why = f"{len(before)} losses find the same missing from a bucket, to {spreads[best]:.1%}"
    return Policer(
        *(
            Value(float(of[best]), float(of[near].min()), float(of[near].max()), why)
            for of in (8 * rates, buckets + ACK_PACKETS * packet)
        )
    )


def _bucket(pair: Pair, passed: Floats, rate: float, before: NDArray[np.int64]) -> tuple[float, float]:
    """What is missing at losses (median) with a rate in bytes/s, and how far losses differ from it."""
    level = passed - rate * pair.t
    missing = level - np.minimum.accumulate(np.where(pair.sacked, np.inf, level))
    middle = float(np.median(missing[before]))
    return middle, float(np.median(np.abs(missing[before] - middle))) / max(middle, pair.mss)
