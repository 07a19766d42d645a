"""Every throughput metric on one record of packets that left the bottleneck, whichever tool sent them.

The tools count at different layers and times; here all are given the same packets, so what differs is the
definition. A definition that counts requests (Cloudflare's) is given the stream cut into blocks of a
request's size, one after the other: a model of a client that asks for the next when it has the last.

Unit: bit/s of what `payload_bytes` counts; RFC 9097's counts IP packets.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from narrows.metrics.rate.best_sub_interval import best_sub_interval
from narrows.metrics.rate.capacity_test import capacity_test
from narrows.metrics.rate.instantaneous_throughput import BIN_NS, instantaneous_throughput
from narrows.metrics.rate.request_percentile import request_percentile_bps
from narrows.metrics.statistics.arrays import Floats
from narrows.metrics.statistics.columns import aligned, ascending
from narrows.metrics.statistics.stability import coefficient_of_variation
from narrows.scoring.any_latency import Value
from narrows.units import NS_PER_S

MANY = 1_000_000
INTERVAL_NS = 1_000_000_000
OMITTED_S = (0, 1, 2, 3, 5)
REQUEST_BYTES = (100_000, 1_000_000, 10_000_000)


def throughput_values(
    t_ns: Floats, payload_bytes: Floats, ip_bytes: Floats, connection: Floats, window: tuple[int, int]
) -> list[Value]:
    """All figures of packets in order of time, during a window; none with fewer than two packets in it."""
    t_ns, payload_bytes, ip_bytes, connection = aligned(
        t_ns=t_ns, payload_bytes=payload_bytes, ip_bytes=ip_bytes, connection=connection
    )
    ascending(t_ns, "t_ns of the packets")
    start, stop = window
    low, high = np.searchsorted(t_ns, [start, stop])
    t, size, whole, which = (column[low:high] for column in (t_ns, payload_bytes, ip_bytes, connection))
    if t.size < 2 or stop <= start:
        return []
    n = int(t.size)
    mean = float(size.sum()) * 8.0 * NS_PER_S / (stop - start)
    values = [
        Value("throughput_mean", "ndt7 0.11: bytes over elapsed time", mean, "bit/s", n),
        *_capacity(t, size, which, window),
        *request_values(t, size),
    ]
    best = best_sub_interval(t, whole, start, stop)
    if best is not None:
        values.append(
            Value(
                "throughput_best_second", "RFC 9097, IP layer", best.capacity_bps, "bit/s", best.sub_intervals
            )
        )
    _, bins = instantaneous_throughput(t, size, start, stop)
    variation = coefficient_of_variation(bins)
    name = f"coefficient of variation, bins of {BIN_NS // 1_000_000} ms"
    values.append(Value("throughput_variation", name, variation, "1", int(bins.size)))
    return [value for value in values if value.value is not None]


def numbered(names: Floats) -> tuple[int, NDArray[np.int64]]:
    """How many different names there are, and each one's place among them in order."""
    whole = names.astype(np.int64)
    if names.size and whole.min() >= 0 and whole.max() < MANY and bool((whole == names).all()):
        known = np.bincount(whole) > 0  # numbers of flows: no sort is needed
        return int(np.count_nonzero(known)), (np.cumsum(known) - 1)[whole]
    different, place = np.unique(names, return_inverse=True)
    return int(different.size), place.astype(np.int64)


def _capacity(t: Floats, size: Floats, which: Floats, window: tuple[int, int]) -> Iterator[Value]:
    start, stop = window
    seconds = int((stop - start) // INTERVAL_NS)
    if seconds < 1:
        return
    count, place = numbered(which)
    # packets of each second stand together, because times ascend
    cuts = np.searchsorted(t, start + np.arange(seconds + 1) * INTERVAL_NS)
    by_second = [
        np.bincount(place[low:high], weights=size[low:high], minlength=count)
        for low, high in pairwise(cuts.tolist())
    ]
    cells = np.stack(by_second, axis=1).reshape(-1)
    row, begin = np.repeat(np.arange(count), seconds), np.tile(np.arange(seconds), count)
    for omit_s in OMITTED_S:
        found = capacity_test(row.astype(np.float64), begin.astype(np.float64), begin + 1.0, cells, omit_s)
        if found is not None:
            variant = f"{omit_s} s omitted"
            name = f"iperf3: intervals of 1 s, {variant}"
            yield Value("throughput_after_omit", name, found.rate_bps, "bit/s", found.intervals, variant)


def request_values(t: Floats, size: Floats) -> Iterator[Value]:
    """The 90th percentile of the rates of blocks of each size, small ones first."""
    if t.size == 0:
        return
    total = np.cumsum(size)
    for request in REQUEST_BYTES:
        count = int(total[-1] // request)
        if count < 2:
            continue
        done = t[np.minimum(np.searchsorted(total, np.arange(1, count + 1) * float(request)), t.size - 1)]
        took = np.diff(np.concatenate(([t[0]], done)))
        took, rate = took[took > 0], request * 8.0 * NS_PER_S / took[took > 0]
        value = request_percentile_bps(rate, took / 1e6)
        variant = f"{request // 1000} kB"
        name = f"@cloudflare/speedtest 1.14.1, blocks of {variant} in turn"
        yield Value("throughput_p90_requests", name, value, "bit/s", int(rate.size), variant)
