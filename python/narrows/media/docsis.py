"""DOCSIS upstream: a MAP each so many ms says who sends, and a modem asks for what it has.

A request goes with the next MAP, alone where the modem was idle and on top of its data where it was not
(piggy-backed); what it asked for it may send `grant_maps` later. Collisions of requests are not drawn.
"""

from __future__ import annotations

from narrows.media.schedule import Schedule, Turn
from narrows.units import NS_PER_S

HEADER_BYTES = 24
"""Ethernet header and checksum, and DOCSIS' own header."""


def schedule(rate_bps: int, map_ns: int, grant_maps: int) -> Schedule:
    """The way up."""
    size = rate_bps * map_ns // (8 * NS_PER_S)
    return Schedule(
        (Turn(map_ns, size),), map_ns, splits=True, overhead_bytes=HEADER_BYTES, grant_turns=grant_maps
    )
