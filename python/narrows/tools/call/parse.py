"""What the two ends of a call wrote: once a second what the program says of itself, and which frames were
taken and shown.

Direction `down` is what the end at the client saw and the end at the server sent; `up` the other way round.
Counts are the programs' own (W3C webrtc-stats), rates are between the first and the last report of an end
that received. How long a frame took is read back from the number in the picture: from when the camera took
it to when it was shown. What a program does not say is not there.
"""

from collections.abc import Sequence
from typing import Any

from narrows.errors import StoreError
from narrows.plan.items import Command
from narrows.store.command_run import CommandRun, read_text
from narrows.store.parsers.common import Parsed, known_shape, strict_json
from narrows.tools.call.counted import counted
from narrows.tools.call.frames import frames
from narrows.tools.iperf3.parse import tapped_datagrams
from narrows.tools.services.parse import ClientLog, of_run
from narrows.units import NS_PER_MS

SHAPE = "what narrows' call client writes"


def parse(
    caller: ClientLog,
    callee: ClientLog | None,
    item: str,
    *,
    start_ns: int | None = None,
    where: str = "call",
) -> Parsed:
    """Figures and series of both directions. `callee`: None where the other end is not known. `start_ns`:
    when the caller was started."""
    parsed = Parsed()
    ends = {"at the client": caller} | ({} if callee is None else {"at the server": callee})
    with known_shape(where, SHAPE):
        for place, log in ends.items():
            if faults := log.of("fault"):
                raise StoreError(f"the call's end {place} failed: {faults[0].get('message')}", where=where)
        if not any(each["state"] == "connected" for each in caller.of("connection")):
            raise StoreError(
                f"the two ends never connected: {_ice(ends)}",
                where=where,
                remedy="is there a way for UDP? see raw/, and give it more time: browsers take seconds",
            )
        connected = next(each for each in caller.of("connection") if each["state"] == "connected")
        if start_ns is not None:
            parsed.figure("call_connected_ms", (caller.t_ns(connected["at_ms"]) - start_ns) / NS_PER_MS, "ms")
        if callee is not None:
            counted(parsed, "down", caller, callee)
            counted(parsed, "up", callee, caller)
            frames(parsed, "down", caller, callee)
            frames(parsed, "up", callee, caller)
        else:
            counted(parsed, "down", caller, None)
        parsed.figure("call_cpu_limited_s", _cpu_limited_s(ends.values()), "s")
    return parsed


def _ice(ends: dict[str, ClientLog]) -> str:
    """How far ICE came at each end."""
    log = {place: [each["state"] for each in end.of("ice")] for place, end in ends.items()}
    return "; ".join(f"ICE {place}: {', '.join(states) or 'not begun'}" for place, states in log.items())


def _cpu_limited_s(ends: Sequence[ClientLog] | Any) -> float | None:
    """The time of the end that was limited longest."""
    known = []
    for log in ends:
        sent = [state["sent"] for state in log.of("state") if state["sent"]]
        limited = (sent[-1].get("limited_s") or {}).get("cpu") if sent else None
        known += [] if limited is None else [limited]
    return max(known) if known else None


def read(ran: CommandRun) -> Parsed:
    """Reads what the caller wrote, whose callee wrote beside it."""
    item = ran.item.id
    callee = next(
        (
            e
            for e in ran.plan.traffic
            if isinstance(e, Command) and e.tool == "call-callee" and e.item == ran.item.item
        ),
        None,
    )
    other = None if callee is None else _told(ran, callee.id)
    parsed = parse(of_run(ran), other, item, start_ns=ran.start_ns, where=ran.where)
    for way, tapped in tapped_datagrams(ran.flows, ran.plan, item).items():
        if tapped.sees_all:
            parsed.figure("call_packets_dropped", float(tapped.dropped), "packets", way)
    return parsed


def _told(ran: CommandRun, end: str) -> ClientLog:
    """What the other end wrote until the run ended; it need not have come to its own end."""
    lines = []
    for number, text in enumerate(read_text(ran.raw, f"{end}.stdout").splitlines(), start=1):
        try:
            line = strict_json(text)
        except ValueError:
            line = None
        if not isinstance(line, dict):
            raise StoreError(
                f"{end} wrote what is no JSON object: {text[:120]}", where=f"raw/{end}.stdout:{number}"
            )
        lines.append(line)
    return ClientLog(tuple(lines), {}, ran.wall_epoch_ns)
