"""A measured link: opportunities to send so many bytes, each at its time. Those of one instant are one."""

from __future__ import annotations

from collections.abc import Sequence

from narrows.media.schedule import Schedule, Turn

MAHIMAHI_BYTES = 1504
MAHIMAHI_OVERHEAD_BYTES = 4
"""mm-link counts what its tun device hands it: the IP packet and four bytes."""


def schedule(at: Sequence[tuple[int, int]], repeat_ns: int, *, splits: bool, overhead_bytes: int) -> Schedule:
    """Times in nanoseconds that never fall, each with the bytes that may be sent then."""
    summed: list[list[int]] = []
    for at_ns, size in at:
        if summed and summed[-1][0] == at_ns:
            summed[-1][1] += size
        else:
            summed.append([at_ns, size])
    turns, last = [], 0
    for at_ns, size in summed:
        turns.append(Turn(at_ns - last, size))
        last = at_ns
    return Schedule(tuple(turns), repeat_ns, splits=splits, overhead_bytes=overhead_bytes)
