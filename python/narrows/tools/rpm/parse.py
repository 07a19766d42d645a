"""Responsiveness: the JSON lines of our rpm-client: probes, intervals, summary.

Every probe is kept with its parts at the time of its completion, so that any variant of the metric can be
computed later (`narrows.metrics.latency.rpm_variants`). The figures are the client's own: the draft's formula
over the last MAD intervals of its own length, at the interval where its test ended.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from narrows.errors import StoreError
from narrows.plan.bottlenecks import most_payload_bps
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed
from narrows.units import NS_PER_MS

DIRECTIONS = {"download": "down", "upload": "up", "both": None}
IDLE = "idle"
MAD = 4
"""The draft's moving average distance, in intervals; the client has no other."""
CONFIDENCE = {"low": 0.0, "medium": 1.0, "high": 2.0}
Line = dict[str, Any]


def lines(text: str, *, where: str) -> list[Line]:
    """All lines of the client; anything else is an error with its line."""
    found: list[Line] = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            value = json.loads(line)
        except ValueError as error:
            raise StoreError(
                f"not JSON ({error}): {line.strip()[:200]}",
                where=f"{where}:{number}",
                remedy="the client was cut off or printed something else; its stderr is in raw/ too",
            ) from None
        if not isinstance(value, dict) or not isinstance(value.get("Value"), dict) or "Key" not in value:
            raise StoreError("not a line of narrows' rpm-client", where=f"{where}:{number}")
        found.append(value)
    return found


def parse(
    text: str, *, epoch_ns: int, where: str = "rpm", most_bps: Mapping[str, float | None] | None = None
) -> Parsed:
    """Series and figures. The client's stamps are CLOCK_MONOTONIC; `epoch_ns` is that of t = 0. `most_bps`:
    what each direction of the link can carry."""
    parsed = Parsed()
    read = lines(text, where=where)
    values: dict[str, list[Line]] = {}
    for line in read:
        values.setdefault(str(line["Key"]), []).append(line["Value"])
    try:
        probes = values.get("probe", [])
        _idle(parsed, [p for p in probes if p["test"] == IDLE], epoch_ns)
        for test, direction in DIRECTIONS.items():
            _probes(parsed, [p for p in probes if p["test"] == test], direction, epoch_ns)
            _intervals(parsed, [i for i in values.get("interval", []) if i["test"] == test], epoch_ns)
        if "summary" not in values:
            parsed.warnings.append("rpm: the client was stopped before its summary; its figures are absent")
        for summary in values.get("summary", []):
            for test, figures in summary["tests"].items():
                intervals = [i for i in values.get("interval", []) if i["test"] == test]
                checked = _checked(parsed, test, figures, intervals)
                most = (most_bps or {}).get(DIRECTIONS[test] or "")
                _figures(parsed, test, DIRECTIONS[test], _possible(parsed, test, checked, most))
    except (KeyError, TypeError) as error:
        raise StoreError(f"a line of rpm-client lacks or misuses {error}", where=where) from None
    return parsed


def _completed(probes: Iterable[Line]) -> list[Line]:
    return sorted((p for p in probes if "error" not in p), key=lambda p: p["end_ns"])


def _parts(
    parsed: Parsed, probes: list[Line], direction: str | None, epoch_ns: int, kind: str, of: str | None = None
) -> None:
    """One series for each part of the probes of a kind; TLS per round trip. `of`: a part of the test."""
    times = [p["end_ns"] - epoch_ns for p in probes]
    for part in ("tcp", "tls", "http"):
        if not any(p.get(f"{part}_ns") is not None for p in probes):
            continue
        took = [p.get(f"{part}_ns") for p in probes]
        if part == "tls":
            took = [
                None if ns is None else ns / p["tls_round_trips"] for ns, p in zip(took, probes, strict=True)
            ]
        parsed.add(f"{kind}_{part}", "ns", times, took, part=of, direction=direction)


def _probes(parsed: Parsed, probes: list[Line], direction: str | None, epoch_ns: int) -> None:
    done = _completed(probes)
    for kind in ("foreign", "self"):
        _parts(parsed, [p for p in done if p["kind"] == kind], direction, epoch_ns, kind)


def _idle(parsed: Parsed, probes: list[Line], epoch_ns: int) -> None:
    done = _completed(probes)
    _parts(parsed, done, None, epoch_ns, "foreign", IDLE)
    if handshakes := sorted(p["tcp_ns"] for p in done):
        middle = len(handshakes) // 2
        median = (handshakes[middle] + handshakes[-middle - 1]) / 2
        parsed.figure("rpm_idle_tcp_ms", median / NS_PER_MS, "ms")


def _intervals(parsed: Parsed, intervals: list[Line], epoch_ns: int) -> None:
    times = [i["end_ns"] - epoch_ns for i in intervals]
    for test in ("download", "upload"):
        direction, name = DIRECTIONS[test], f"{test}_bytes"
        if any(name in i for i in intervals):
            parsed.add("interval_bytes", "bytes", times, [i[name] for i in intervals], direction=direction)
    for test in {i["test"] for i in intervals}:
        connections = [i["connections"] for i in intervals]
        parsed.add("connections", "1", times, connections, direction=DIRECTIONS[test])


def _checked(parsed: Parsed, test: str, figures: Line, intervals: list[Line]) -> Line:
    """The figures without those that its own intervals contradict.

    The draft's goodput is a mean over the last MAD intervals, and its confidence is that of the moment at
    which the goodput was stable first. Where nothing arrives any more, neither says anything of the path.
    """
    checked = dict(figures)
    last = intervals[-MAD:]
    moved = [sum(i.get(f"{way}_bytes") or 0 for way in ("download", "upload")) for i in last]
    silent, rate, word = moved.count(0), _rate(figures["goodput_bps"]), figures["goodput_confidence"]
    if silent:
        checked["goodput_confidence"] = "low"
        fault = f"rpm {test}: nothing arrived in {silent} of its last {len(last)} intervals"
        if silent == len(last):
            checked["goodput_bps"] = None
            parsed.warnings.append(
                f"{fault}: its goodput of {rate} with {word} confidence is no rate of the path and is left "
                f"out{_before(intervals)}"
            )
        else:
            parsed.warnings.append(
                f"{fault}: its goodput of {rate} is a mean over them, and its {word} confidence counts as low"
            )
    if figures["rpm"] is None:
        checked["responsiveness_confidence"] = "low"  # of no value nothing is certain
    return checked


def _possible(parsed: Parsed, test: str, figures: Line, most_bps: float | None) -> Line:
    """Without a goodput that the link cannot have carried: an upload counts what its sockets took, and a
    buffer that grows takes more than leaves it."""
    goodput = figures["goodput_bps"]
    if goodput is None or most_bps is None or goodput <= most_bps:
        return figures
    parsed.warnings.append(
        f"rpm {test}: its goodput of {_rate(goodput)} is more than the {_rate(most_bps)} that the link can "
        "carry, so it is of buffers and is left out"
    )
    return figures | {"goodput_bps": None, "goodput_confidence": "low"}


def _before(intervals: list[Line]) -> str:
    """What the last interval with data said, for a message."""
    known = [i for i in intervals if any(i.get(f"{way}_bytes") for way in ("download", "upload"))]
    return f"; while data still came it said {_rate(known[-1]['goodput_bps'])}" if known else ""


def _rate(bps: float | None) -> str:
    return "none" if bps is None else f"{bps / 1e6:.4g} Mbit/s"


def _figures(parsed: Parsed, test: str, direction: str | None, figures: Line) -> None:
    if figures.get("error") is not None:
        parsed.warnings.append(f"rpm {test}: {figures['error']}; the figures are of what was measured before")
    for name, key, unit in (
        ("rpm", "rpm", "1/min"),
        ("rpm_foreign", "foreign_rpm", "1/min"),
        ("rpm_loaded", "loaded_rpm", "1/min"),
        ("rpm_goodput_bps", "goodput_bps", "bit/s"),
        ("rpm_connections", "connections", "1"),
        ("rpm_intervals", "intervals", "1"),
    ):
        parsed.figure(name, figures[key], unit, direction)
    for kind in ("foreign", "self"):
        parsed.figure(f"rpm_{kind}_probes", figures[f"{kind}_probes"]["completed"], "probes", direction)
    for name in ("goodput", "responsiveness"):
        parsed.figure(f"rpm_{name}_confidence", CONFIDENCE[figures[f"{name}_confidence"]], "1", direction)


def read(ran: CommandRun) -> Parsed:
    most = {way: most_payload_bps(ran.plan, way) for way in ("down", "up")}
    return parse(ran.stdout(), epoch_ns=ran.epoch_ns, where=ran.where, most_bps=most)
