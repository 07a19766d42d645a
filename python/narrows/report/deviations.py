"""Known deviations from a physical testbed, and known bias, computed from the plans and manifests of the
runs.

Only what the runs themselves say is listed: a deviation that does not apply to them is left out.
"""

from collections import Counter
from collections.abc import Sequence

from narrows.comparing.conditions import rate_text
from narrows.comparing.repetitions import SEED, independent, warning
from narrows.figures.topology import time_text
from narrows.runs.observed import Observed
from narrows.store.manifest import stamp

MOST_NAMED = 4
"""Conditions that are named in one sentence."""


def deviations(runs: Sequence[Observed]) -> list[str]:
    """One sentence or two each, the general ones first."""
    if not runs:
        return []
    found: list[str] = []
    engines = {str(r.manifest.get("engine", "")) for r in runs}
    if any(e.startswith("uml") for e in engines):
        found += _virtual(runs)
    if any(e.startswith("netns") for e in engines):
        found.append(
            "Runs of engine netns share this host's clock and processor: load of the machine can change "
            "their numbers."
        )
    found.append(
        "All nodes are namespaces of one kernel, joined by veth pairs: there is no network card, no driver "
        "queue (BQL) and no wire. Client, router and server run the same kernel version."
    )
    if any(r.link.pairs for r in runs):
        found.append(
            "The base RTT of a Dumbbell is all on the way back: netem delays the acknowledgements. TCP sees "
            "round trips only, so nothing it does depends on it; one-way delays are not those of a real path."
        )
    found += _offloads(runs)
    found += _line(runs)
    if told := list(dict.fromkeys(change for r in runs for change in r.link.changes)):
        found.append(
            f"The link changes while traffic flows ({'; '.join(told)}): a rate in a figure is that of the "
            "start."
        )
    found += _taps(runs)
    if any(r.tested and r.configured_bps("down") for r in runs):
        found.append(
            "The speed test's rate is payload per time; the shaper counts Ethernet and IP headers too, so "
            "a full link reads as 95.6 % of its rate at 1500-byte MTU. What the test calls its least round "
            "trip is not latency under load."
        )
    found += _equal(runs)
    found += _captures(runs)
    warned = Counter(warning for run in runs for warning in run.warnings)
    found += [f"Warning of {count} run{'s' if count > 1 else ''}: {w}" for w, count in sorted(warned.items())]
    return found


def _equal(runs: Sequence[Observed]) -> list[str]:
    """Repetitions that are none."""
    _, groups = independent(runs)
    if not groups:
        return []
    named = [" ".join(f"{a}={group[0].key[a]}" for a in group[0].key if a != SEED) for group in groups]
    some = "; ".join(name or "all" for name in named[:MOST_NAMED])
    shown = some + (f"; and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else "")
    return [f"Warning: {warning(groups, shown)}."]


def _captures(runs: Sequence[Observed]) -> list[str]:
    """How a packet of a capture is found in the tables."""
    times = [t for r in runs if r.plan.captures and (t := r.manifest.get("t0_unix_ns")) is not None]
    if not times:
        return []
    shown = " to ".join(dict.fromkeys((stamp(min(times)), stamp(max(times)))))
    return [
        f"Captures (raw/*.pcapng) are stamped with the run's own clock, whose t = 0 is {shown} "
        "(t0_unix_ns of the manifest). Hosts leave TCP and UDP checksums to a card, which a veth pair has "
        "not: analysers that check them call them wrong, wherever they are captured. They are not."
    ]


def _virtual(runs: Sequence[Observed]) -> list[str]:
    found = [
        "Time is virtual: computing takes no time, so no node is ever too slow for its packets, and no "
        "interrupt is coalesced. A real router's limits must be declared (see timer latency)."
    ]
    latencies = {
        None if t is None else (t.min_ns, t.max_ns) for r in runs for t in [r.plan.machine.timer_latency]
    }
    late = sorted(x for x in latencies if x is not None)
    if late:
        spans = ", ".join(f"{time_text(a)} to {time_text(b)}" for a, b in late)
        found.append(
            f"In some runs timer interrupts reach the kernel late by a seeded, uniform amount ({spans}): a "
            f"model of a router's timer latency, not a measurement of one."
        )
    if None in latencies:
        found.append(
            "In runs without a declared timer latency every timer fires exactly on time, as on no real "
            "machine."
        )
    return found


def _offloads(runs: Sequence[Observed]) -> list[str]:
    off = on = False
    for run in runs:
        gso = run.link.offloads.get("gso")
        off |= gso is False
        on |= gso is True
    if on:
        return ["Segmentation offloads are on in some runs: the queue holds super-packets of up to 64 KB."]
    if off:
        return [
            "Segmentation and receive offloads are off, so the bottleneck queues single packets, as a wire "
            "does; hosts with offloads send in larger bursts."
        ]
    return []


def _line(runs: Sequence[Observed]) -> list[str]:
    limited = sorted({r.link.line_rate_bps for r in runs if r.link.line_rate_bps})
    line = []
    if limited:
        line.append(
            f"The line rate of {', '.join(rate_text(v) for v in limited)} is made by netem on the path "
            f"node, not by a port."
        )
        if any(r.link.rate_down_bps and r.link.rate_down_bps >= min(limited) for r in runs):
            line.append(
                "Where the shaped rate reaches the line rate, both queues can hold packets: the "
                "bottleneck's sojourn is then not the whole delay."
            )
    if any(not r.link.line_rate_bps for r in runs):
        line.append("Runs without a line rate have infinitely fast ports: a burst leaves the shaper at once.")
    return line


def _taps(runs: Sequence[Observed]) -> list[str]:
    none = [r for r in runs if all(h.tap == "off" for h in r.plan.hops)]
    if len(none) == len(runs):
        return ["No run has a tap: there is no per-packet truth of the queue."]
    if none:
        return [f"{len(none)} of {len(runs)} runs have no tap: figures from the tap leave them out."]
    return []
