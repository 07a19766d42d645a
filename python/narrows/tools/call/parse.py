"""What a call's end wrote (`client/run.mjs`): once a second what came in and went out.

Height is the one that was received in most seconds. Freezes are the browser's own count (freezeCount of W3C
webrtc-stats: an interval of frames of at least max(3 δ, δ + 150 ms), δ the mean interval), over the time
between the first and the last report.
"""

from __future__ import annotations

from collections import Counter

from narrows.errors import StoreError
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed, known_shape
from narrows.tools.services.parse import Told, of_run
from narrows.units import NS_PER_MIN


def parse(told: Told, item: str, *, where: str = "call") -> Parsed:
    """Figures and series of the end at the client."""
    parsed = Parsed()
    if faults := told.of("fault"):
        raise StoreError(f"the call failed: {faults[0].get('message')}", where=where)
    with known_shape(where, "what narrows' call client writes"):
        if not any(each["state"] == "connected" for each in told.of("connection")):
            raise StoreError("the two ends never connected", where=where)
        states = [state for state in told.of("state") if state["received"] and state["sent"]]
        times = told.times(states)
        for side, field, series, unit, way in (
            ("received", "height", "call_height", "1", "down"),
            ("received", "frame_rate", "call_frame_rate", "1/s", "down"),
            ("received", "bytes", "call_bytes", "bytes", "down"),
            ("sent", "target_bps", "call_target", "bit/s", "up"),
        ):
            parsed.add(
                series, unit, times, [state[side][field] for state in states], source=item, direction=way
            )
        heights = Counter(state["received"]["height"] for state in states if state["received"]["height"])
        if heights:
            parsed.figure("call_height", heights.most_common(1)[0][0], "1", "down")
        rates = [s["received"]["frame_rate"] for s in states if s["received"]["frame_rate"] is not None]
        if rates:
            parsed.figure("call_frame_rate", sum(rates) / len(rates), "1/s", "down")
        last = states[-1] if states else None
        if last is not None:
            first_ns, last_ns = times[0], times[-1]
            freezes = last["received"]["freezes"]
            if freezes is not None and last_ns > first_ns:
                begun = states[0]["received"]["freezes"] or 0
                a_minute = (freezes - begun) / ((last_ns - first_ns) / NS_PER_MIN)
                parsed.figure("call_freezes_per_min", a_minute, "1/min", "down")
            parsed.figure("call_packets_lost", last["received"]["lost"], "packets", "down")
            limited = last["sent"]["limited_s"] or {}
            parsed.figure("call_cpu_limited_s", limited.get("cpu"), "s")
    return parsed


def read(ran: CommandRun) -> Parsed:
    """Of a command that ran."""
    return parse(of_run(ran), ran.item.id, where=ran.where)
