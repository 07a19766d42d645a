"""Whether the TCP sockets of a run used what its items say: congestion control, ECN, MSS, limit of pacing.

What was seen is of the kernel's own word (`narrows.store.sockets`), and in the manifest. An item of which no
socket was seen is in no contradiction; whoever needs to know says so.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from narrows.plan.items import Command, TcpBulk, TrafficItem, Uses
from narrows.plan.model import Plan

COUNTS = 0.01
"""The least share of the data that the item's sockets sent at all nodes: control connections use what
their host does."""
MOST_OPTION_BYTES = 40
"""The bytes of TCP's options, which TCP_MAXSEG counts and what the kernel says of a socket's MSS does not."""
Seen = Mapping[str, Sequence[Mapping[str, Any]]]
"""By part of the plan: what kinds of sockets it sent through, with their connections and bytes."""


def said(item: TrafficItem) -> Uses | None:
    """What an item says that its sockets use."""
    if isinstance(item, TcpBulk):
        return Uses(cca=item.cca, ecn=True if item.ecn else None)
    return item.uses if isinstance(item, Command) else None


def contradictions(plan: Plan, seen: Seen) -> list[str]:
    """One line for each item whose sockets used another thing than it says."""
    lines, sent = [], dict[str, int]()
    for item in plan.traffic:
        sent[item.item] = sent.get(item.item, 0) + sum(kind["bytes"] for kind in seen.get(item.id, ()))
    for item in plan.traffic:
        wanted, kinds, whole = said(item), seen.get(item.id, ()), sent[item.item]
        for kind in kinds if wanted is not None and whole else ():
            held = {**kind, "ecn": True} if _fell_back(wanted, kind, kinds) else kind
            wrong = [] if wanted is None else _wrong(wanted, held)
            if wrong and kind["bytes"] >= COUNTS * whole:
                node = item.sender if isinstance(item, TcpBulk) else getattr(item, "node", "")
                lines.append(
                    f"{item.id}: {'; '.join(wrong)} ({100 * kind['bytes'] / whole:.0f} % of its data, from "
                    f"{node}, connections: {kind['connections']})"
                )
    return lines


def fallbacks(plan: Plan, seen: Seen) -> list[str]:
    """One line for each item of which some connections went without ECN although it asks for it."""
    lines = []
    for item in plan.traffic:
        kinds = seen.get(item.id, ())
        without = sum(kind["connections"] for kind in kinds if _fell_back(said(item), kind, kinds))
        if without:
            every = sum(kind["connections"] for kind in kinds)
            lines.append(
                f"{item.id}: {without} of {every} connections used no ECN: a SYN sent again asks for none"
            )
    return lines


def _fell_back(wanted: Uses | None, kind: Mapping[str, Any], kinds: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these are connections of an item with ECN whose SYN was lost: Linux sends it again without
    (tcp_ecn_fallback; RFC 3168, 6.1.1.1), where others of the item have it."""
    asks = wanted is not None and wanted.ecn is True
    return asks and kind["ecn"] is False and any(other["ecn"] for other in kinds)


def _wrong(wanted: Uses, kind: Mapping[str, Any]) -> list[str]:
    wrong = []
    if wanted.cca is not None and kind["cca"] != wanted.cca:
        wrong.append(f"says that it uses {wanted.cca}, its sockets used {kind['cca']}")
    if wanted.ecn is not None and kind["ecn"] is not None and kind["ecn"] != wanted.ecn:
        words = ("no ECN", "ECN")
        wrong.append(f"says that it uses {words[wanted.ecn]}, its sockets used {words[kind['ecn']]}")
    mss, pacing = wanted.mss_bytes, wanted.max_pacing_bps
    used = kind["mss_bytes"]
    if mss is not None and used is not None and not mss - MOST_OPTION_BYTES <= used <= mss:
        wrong.append(f"says an MSS of {mss} bytes, its sockets used {used}")
    if pacing is not None and (limit := kind["max_pacing_bps"]) != pacing // 8 * 8:
        seen = "no limit" if limit is None else f"{limit} bit/s"
        wrong.append(f"says pacing at {pacing} bit/s at most, its sockets had {seen}")
    return wrong
