"""What an end of a call counted, once a second, as series and figures of a direction."""

from collections import Counter
from itertools import pairwise
from typing import Any

from narrows.store.parsers.common import Parsed
from narrows.tools.services.parse import ClientLog
from narrows.units import NS_PER_MIN, NS_PER_S

State = dict[str, Any]
Points = list[tuple[int, State]]


def counted(parsed: Parsed, way: str, receiver: ClientLog, sender: ClientLog | None) -> None:
    """Adds those of a direction in which something came; nothing of one in which nothing did."""
    got = _states(receiver, "received")
    if len(got) < 2:
        return
    _received(parsed, way, got)
    heard = _states(receiver, "heard")
    if len(heard) >= 2:
        concealed = _per(heard[-1], heard[0], "concealed", "samples", 1.0)
        parsed.figure("call_concealed_share", concealed, "1", way)
    if sender is not None:
        sent = _states(sender, "sent")
        if len(sent) >= 2:
            _sent(parsed, way, sent)


def _states(log: ClientLog, what: str) -> Points:
    lines = [line for line in log.of("state") if line.get(what)]
    return [(t, line[what]) for t, line in zip(log.times(lines), lines, strict=True)]


def _received(parsed: Parsed, way: str, got: Points) -> None:
    times = [t for t, _ in got]
    for field, series, unit in (
        ("height", "call_height", "1"),
        ("frame_rate", "call_frame_rate", "1/s"),
        ("bytes", "call_bytes", "bytes"),
        ("lost", "call_lost", "packets"),
        ("freezes", "call_freezes", "freezes"),
    ):
        parsed.add(series, unit, times, [one.get(field) for _, one in got], direction=way)
    parsed.add("call_rate", "bit/s", times[1:], _rates(got), direction=way)
    buffers = [_per(b, a, "buffer_s", "buffered", 1e3) for a, b in pairwise(got)]
    parsed.add("call_jitter_buffer", "ms", times[1:], buffers, direction=way)
    if heights := Counter(one["height"] for _, one in got if one.get("height")):
        parsed.figure("call_height", heights.most_common(1)[0][0], "1", way)
    (first_ns, begun), (last_ns, last) = got[0], got[-1]
    minutes = (last_ns - first_ns) / NS_PER_MIN
    if minutes > 0:
        parsed.figure("call_frame_rate", _over(last, begun, "decoded", 60 * minutes), "1/s", way)
        parsed.figure("call_freezes_per_min", _over(last, begun, "freezes", minutes), "1/min", way)
        parsed.figure("call_frozen_share", _over(last, begun, "frozen_s", 60 * minutes), "1", way)
        parsed.figure("call_received_bps", _over(last, begun, "bytes", 60 * minutes / 8), "bit/s", way)
    for field, name in (
        ("packets", "call_packets_received"),
        ("lost", "call_packets_lost"),
        ("again", "call_packets_again"),
        ("fec", "call_packets_fec"),
    ):
        parsed.figure(name, last.get(field), "packets", way)
    whole = (last.get("packets") or 0) + (last.get("lost") or 0)
    if whole and last.get("lost") is not None:
        parsed.figure("call_loss_ratio", max(0, last["lost"]) / whole, "1", way)
    parsed.figure("call_nacks", last.get("nacks"), "messages", way)
    parsed.figure("call_plis", last.get("plis"), "messages", way)
    parsed.figure("call_jitter_buffer_ms", _per(got[-1], got[0], "buffer_s", "buffered", 1e3), "ms", way)


def _sent(parsed: Parsed, way: str, sent: Points) -> None:
    times = [t for t, _ in sent]
    targets = [one.get("target_bps") for _, one in sent]
    parsed.add("call_target", "bit/s", times, targets, direction=way)
    parsed.add("call_sent_rate", "bit/s", times[1:], _rates(sent), direction=way)
    known = [target for target in targets if target is not None]
    if known:
        parsed.figure("call_target_bps", sum(known) / len(known), "bit/s", way)
    (first_ns, begun), (last_ns, last) = sent[0], sent[-1]
    if last_ns > first_ns:
        parsed.figure(
            "call_sent_bps", _over(last, begun, "bytes", (last_ns - first_ns) / NS_PER_S / 8), "bit/s", way
        )
    parsed.figure("call_quantiser", _per(sent[-1], sent[0], "qp_sum", "encoded", 1.0), "1", way)


def _rates(points: Points) -> list[float | None]:
    """In bit/s, between each two."""
    return [
        8 * (b["bytes"] - a["bytes"]) * NS_PER_S / (t - before) if t > before else None
        for (before, a), (t, b) in pairwise(points)
    ]


def _over(last: State, first: State, field: str, time: float) -> float | None:
    """How much a count grew, over a time."""
    if last.get(field) is None:
        return None
    return float((last[field] - (first.get(field) or 0)) / time)


def _per(
    last: tuple[int, State], first: tuple[int, State], field: str, count: str, factor: float
) -> float | None:
    """How much a sum grew for each of what a count grew by."""
    ends = (last[1].get(field), first[1].get(field) or 0, last[1].get(count), first[1].get(count) or 0)
    if ends[0] is None or ends[2] is None or ends[2] <= ends[3]:
        return None
    return float(factor * (ends[0] - ends[1]) / (ends[2] - ends[3]))
