"""Gives the fragments of IP datagrams to their item.

Only a datagram's first fragment has ports, and the tap's records carry neither ports nor IP id of any: all
fragments of two addresses and a protocol are one flow. What is left to judge by is the pair of addresses and
the time: a fragment is of the one item between these addresses that may send datagrams above the MTU and runs
then. Where two of them run at once the item is None, and a warning says how many packets that leaves out.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from narrows.plan.items import UdpProbe
from narrows.plan.model import Plan
from narrows.store import tap
from narrows.store.items import Span, endpoints
from narrows.store.queue_table import arrival_ns

SLACK_NS = 1_000_000_000
"""How long after its end an item's datagrams may still arrive at a queue while another item runs."""
NOBODY = -1
UDP_HEADER, IP_HEADER = 8, 20


def assign(data: tap.Tap, plan: Plan, spans: Mapping[str, Span], epoch_ns: int) -> tuple[tap.Tap, list[str]]:
    """The tap with every flow of fragments split by item, and a warning for each direction and hop in which
    some are of no one item. A tap without fragments comes back as it is.
    """
    if not any(flow.fragments for flow in data.flows):
        return data, []
    packets, flows, warnings = data.packets.copy(), [], []
    number = max(flow.flow for flow in data.flows)
    for flow in data.flows:
        if not flow.fragments:
            flows.append(flow)
            continue
        mine = np.flatnonzero(packets["flow"] == flow.flow)  # at every hop, not only where it was met first
        at_ns = arrival_ns(packets[mine], epoch_ns)
        items = _candidates(plan, flow)
        fits, many = _fitting(items, spans, at_ns)
        for row in np.unique(fits):
            number += 1
            packets["flow"][mine[fits == row]] = number
            flows.append(replace(flow, flow=number, item=None if row == NOBODY else items[row]))
        if many:
            hop = plan.hops[flow.hop]
            count = np.count_nonzero(fits == NOBODY)
            warnings.append(
                f"hop {hop.hop} {hop.direction}: {count} of {mine.size} fragments ({flow.label}) are of no "
                f"one item: {' and '.join(sorted(many))} ran at once between the same addresses, and "
                "a fragment carries no port. Their item is NULL, and the tap's figures of these lack them"
            )
    return replace(data, flows=tuple(flows), packets=packets), warnings


def _candidates(plan: Plan, flow: tap.Flow) -> list[str]:
    """Items between the flow's addresses whose datagrams can be longer than the MTU."""
    fits = {
        item
        for item, end in endpoints(plan)
        if end.protocol == flow.protocol and end.address in (flow.src, flow.dst)
    }
    whole = {
        item.id
        for item in plan.traffic
        if isinstance(item, UdpProbe) and item.payload_bytes + UDP_HEADER + IP_HEADER <= plan.link.mtu_bytes
    }
    return sorted(fits - whole)


def _fitting(
    items: list[str], spans: Mapping[str, Span], at_ns: NDArray[np.int64]
) -> tuple[NDArray[np.int64], set[str]]:
    """Place of each fragment's item among the items, and those between which it is open for some."""
    if not items:
        return np.full(at_ns.size, NOBODY), set()
    started = np.zeros((len(items), at_ns.size), dtype=bool)
    running = np.zeros_like(started)
    for row, item in enumerate(items):
        span = spans.get(item, Span(None, None))
        started[row] = True if span.start_ns is None else at_ns >= span.start_ns
        running[row] = started[row] & (True if span.end_ns is None else at_ns <= span.end_ns + SLACK_NS)
    # After the end of all of them a fragment that waited long may be of any that had started.
    possible = np.where(running.any(axis=0), running, started)
    count = possible.sum(axis=0)
    fits = np.where(count == 1, possible.argmax(axis=0), NOBODY)
    contested = possible[:, count > 1]
    return fits, {item for row, item in enumerate(items) if contested[row].any()}
