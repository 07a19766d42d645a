"""What a stack says of itself over time: qlog (draft main schema 0.3 and its successors, and draft-01's
arrays), as JSON or as JSON text sequences, becomes series under the names of `tcp_info`.

Times are the run's. What a file has no clock for is set by its first packet at the tap. One value is kept in
10 ms, the last, as of the taps' own series. What cannot be read is said, and is no other file's affair.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from narrows.units import NS_PER_MS

SUFFIXES = (".sqlog", ".qlog", ".jsonl", ".json")
BIN_NS = 10_000_000
MOST_WHOLE_BYTES = 100_000_000
"""The most bytes of a JSON that has to be held whole; a sequence is read line by line."""
NO_LIMIT = 2**62
LATEST_BOOT_MS = 1000.0
"""A first time before this is of the connection, one behind it since boot: traffic starts at 3 s."""
_METRICS = {
    "smoothed_rtt": ("tcp_info.rtt", "us", 1e3),
    "min_rtt": ("tcp_info.min_rtt", "us", 1e3),
    "rtt_variance": ("tcp_info.rttvar", "us", 1e3),
    "congestion_window": ("tcp_info.snd_cwnd_bytes", "bytes", 1.0),
    "cwnd": ("tcp_info.snd_cwnd_bytes", "bytes", 1.0),
    "bytes_in_flight": ("tcp_info.bytes_in_flight", "bytes", 1.0),
    "ssthresh": ("tcp_info.snd_ssthresh_bytes", "bytes", 1.0),
    "pacing_rate": ("tcp_info.pacing_rate", "bytes/s", 1 / 8),
}
"""qlog's times are ms and its rate bit/s. `cwnd` is aioquic's word for the congestion window."""
_RTTS = ("smoothed_rtt", "min_rtt", "rtt_variance")
_STATES = {"recovery": 3.0, "recovery_period": 3.0, "persistent_congestion": 4.0}
"""As the kernel counts: TCP_CA_Recovery, TCP_CA_Loss; all others are TCP_CA_Open."""
STATE = ("tcp_info.ca_state", "1")
_WANTED = ("metrics_updated", "congestion_state_updated", "packet_lost", "packet_sent")


@dataclass
class Trace:
    """One connection's log."""

    series: dict[tuple[str, str], dict[int, float]] = field(default_factory=dict)
    """By name and unit: values by time in ns."""
    sent: int = 0
    lost: int = 0
    is_whole: bool = True
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Clocks:
    """What helps to place a log's times."""

    epoch_ns: int
    """CLOCK_MONOTONIC at t = 0."""
    wall_epoch_ns: int
    first_ns: int | None
    """When the tap saw the connection's first packet."""
    base_rtt_ms: float


def files(folder: Path) -> list[Path]:
    """The logs that an end left."""
    return sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.is_file())


def read(path: Path, clocks: Clocks) -> Trace:
    """One file."""
    trace = Trace()
    head: dict[str, Any] = {}
    zero_ns: int | None = None
    for event in _events(path, head, trace):
        name = str(event.get("name", "")).rpartition(":")[2]
        if name == "packet_sent":
            trace.sent += 1
        elif name == "packet_lost":
            trace.lost += 1
        time, data = event.get("time"), event.get("data")
        if not isinstance(time, int | float) or not isinstance(data, dict):
            continue
        if zero_ns is None:
            zero_ns = _zero_ns(float(time), head, clocks)
            if zero_ns is None:
                trace.warnings.append(f"{path.name}: its times have no beginning that is known")
                return trace
        t_ns = zero_ns + round(time * NS_PER_MS)
        if name == "metrics_updated":
            for key, (series, unit, factor) in _METRICS.items():
                value = data.get(key)
                if isinstance(value, int | float) and value < NO_LIMIT:
                    _keep(trace, series, unit, t_ns, value * factor)
        elif name == "congestion_state_updated":
            _keep(trace, *STATE, t_ns, _STATES.get(str(data.get("new")), 0.0))
    _in_ms(trace, path, clocks)
    return trace


def _keep(trace: Trace, series: str, unit: str, t_ns: int, value: float) -> None:
    trace.series.setdefault((series, unit), {})[t_ns - t_ns % BIN_NS] = value


def _events(path: Path, head: dict[str, Any], trace: Trace) -> Iterator[dict[str, Any]]:
    """Those that matter, in order; `head` is filled with what the log says before them."""
    with path.open(errors="replace") as file:
        first = file.readline().lstrip("\x1e")
        document = _parsed(first)
        if document is not None and "traces" not in document:
            head |= document.get("trace") or {}
            for line in file:
                if any(word in line for word in _WANTED):
                    event = _parsed(line.lstrip("\x1e"))
                    if event is None:
                        trace.is_whole = False
                        trace.warnings.append(f"{path.name}: it breaks off")
                        return
                    yield event
            return
        if path.stat().st_size > MOST_WHOLE_BYTES:
            trace.is_whole = False
            trace.warnings.append(
                f"{path.name}: JSON of {path.stat().st_size} bytes is not read; as JSON-SEQ it would be"
            )
            return
        whole = document if document is not None else _parsed(first + file.read())
    if whole is None:
        trace.is_whole = False
        trace.warnings.append(f"{path.name}: no JSON, or it breaks off")
        return
    for one in whole.get("traces") or ():
        if isinstance(one, dict):
            head |= one
            yield from _of_trace(one)


def _of_trace(trace: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Events as objects, also where draft-01 has them as arrays under the names of their fields."""
    fields = [str(name).lower() for name in trace.get("event_fields") or ()]
    for event in trace.get("events") or ():
        if isinstance(event, list) and len(event) == len(fields):
            named = dict(zip(fields, event, strict=True))
            time = named.get("time", named.get("relative_time"))
            name = f"{named.get('category')}:{named.get('event', named.get('event_type'))}"
            yield {"time": time, "name": name, "data": named.get("data")}
        elif isinstance(event, dict):
            yield event


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _zero_ns(first_ms: float, head: dict[str, Any], clocks: Clocks) -> int | None:
    """The run's time of the log's zero."""
    common = head.get("common_fields") or {}
    reference = common.get("reference_time")
    if isinstance(reference, dict) and isinstance(reference.get("wall_clock_time"), str):
        return _wall_ns(reference["wall_clock_time"]) - clocks.wall_epoch_ns
    if isinstance(reference, str):
        try:
            reference = float(reference)
        except ValueError:
            reference = None
    base_ms = float(reference) if isinstance(reference, int | float) else 0.0
    if (base_ms + first_ms) * NS_PER_MS > clocks.wall_epoch_ns / 2:
        return round(base_ms * NS_PER_MS) - clocks.wall_epoch_ns
    if base_ms + first_ms > LATEST_BOOT_MS:
        return round(base_ms * NS_PER_MS) - clocks.epoch_ns
    return None if clocks.first_ns is None else clocks.first_ns - round(first_ms * NS_PER_MS)


def _wall_ns(text: str) -> int:
    """RFC 3339, with as many digits of a second as Python does not read."""
    whole, _, rest = text.partition(".")
    digits = rest.rstrip("Zz").partition("+")[0]
    seconds = datetime.fromisoformat(f"{whole.rstrip('Zz')}+00:00").timestamp()
    return int(seconds) * 10**9 + int(f"{digits:0<9}"[:9] if digits else 0)


def _in_ms(trace: Trace, path: Path, clocks: Clocks) -> None:
    """qlog's RTTs are ms; what is far below the path's own RTT as ms, and not as seconds, is seconds."""
    named = {_METRICS[name][0]: name for name in _RTTS}
    smooth = trace.series.get(("tcp_info.rtt", "us"), {})
    rtts = sorted(trace.series.get(("tcp_info.min_rtt", "us"), smooth).values())
    if not rtts or not clocks.base_rtt_ms:
        return
    middle_ms = rtts[len(rtts) // 2] / 1e3
    if middle_ms < 0.5 * clocks.base_rtt_ms <= 1e3 * middle_ms:
        for (series, _), values in trace.series.items():
            if series in named:
                for t_ns in values:
                    values[t_ns] *= 1e3
        trace.warnings.append(f"{path.name}: its RTTs are seconds, where qlog has ms; they are read as such")
