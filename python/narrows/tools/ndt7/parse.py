"""NDT7: the measurement messages that a client printed, both ends'.

Reads our client's JSON lines, the Go client's `-format json` and our runner of npm's `@m-lab/ndt7`: all carry
messages of the protocol (spec v0.11: AppInfo, TCPInfo, BBRInfo, Origin, Test), wrapped as
`{"Key": "measurement", "Value": {…}}` or bare. Lines without a message (starting, connected, complete, the
closing summary) are not measurements. Rates are computed here from the messages, not taken from a summary.
"""

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from narrows.errors import StoreError
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed, known_shape, strict_json
from narrows.store.parsers.tcp_info import has_value, kernel_name, unit
from narrows.store.tap import flow_label
from narrows.units import NS_PER_US, US_PER_MS, US_PER_S

DIRECTIONS = {"download": "down", "upload": "up"}
ORIGINS = ("client", "server")
SHORTEST_US = 25_000
"""The protocol's shortest distance of measurements. The last message of a test can follow closer; the
bytes of one write over a few microseconds are no rate, so such a message counts with the next."""
_BBR = {
    "BW": ("bw", "bytes/s"), "MinRTT": ("min_rtt", "us"), "PacingGain": ("pacing_gain", "1"),
    "CwndGain": ("cwnd_gain", "1"), "ElapsedTime": ("elapsed_time", "us"),
}  # fmt: skip
Message = dict[str, Any]


def messages(text: str, *, where: str = "ndt7") -> list[Message]:
    """All measurement messages, in their order. Anything that is not JSON is an error with its line."""
    found: list[Message] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            value = strict_json(line)
        except ValueError as error:
            raise StoreError(
                f"not JSON ({error}): {line.strip()[:200]}",
                where=f"{where}:{number}",
                remedy="the client printed something else; its stderr is in raw/ too",
            ) from None
        message = _message(value, where=f"{where}:{number}")
        if message is not None:
            found.append(message)
    return found


def _message(value: Any, *, where: str) -> Message | None:
    if not isinstance(value, dict):
        raise StoreError(f"not a JSON object: {str(value)[:100]}", where=where)
    key = str(value.get("Key", value.get("event", ""))).lower()
    if key in ("error", "failure"):
        raise StoreError(f"the client reports an error: {json.dumps(value)[:300]}", where=where)
    inner = value.get("Value", value.get("message", value))
    if not isinstance(inner, dict) or not any(part in inner for part in ("AppInfo", "TCPInfo", "BBRInfo")):
        return None
    message = dict(inner)
    for name, outer in (("Origin", "origin"), ("Test", "test")):
        message[name] = str(message.get(name) or value.get(name) or value.get(outer) or "").lower()
    if "monotonic_ns" in value:  # our own client stamps its lines
        message["monotonic_ns"] = int(value["monotonic_ns"])
    if message["Test"] not in DIRECTIONS:
        raise StoreError(f"message of test '{message['Test']}', not download or upload", where=where)
    if message["Origin"] not in ORIGINS:
        raise StoreError(f"message from '{message['Origin']}', neither client nor server", where=where)
    return message


def elapsed_us(message: Message) -> int | None:
    """Time of a message since its test began."""
    for part in ("AppInfo", "TCPInfo", "BBRInfo"):
        value = (message.get(part) or {}).get("ElapsedTime")
        if value is not None:
            return int(value)
    return None


def parse(text: str, *, starts_ns: dict[str, int | None], epoch_ns: int, where: str = "ndt7") -> Parsed:
    """Series and figures of all tests in the output.

    `starts_ns`: when the download ("down") and the upload ("up") began; a message's time is that plus its
    ElapsedTime. Where the client stamps its lines with CLOCK_MONOTONIC, the start is known better: the least
    stamp − ElapsedTime of a test's messages of one end (the least, because a stamp can only be late).
    """
    with known_shape(where, "what an NDT7 client prints"):
        return _parsed(messages(text, where=where), starts_ns, epoch_ns, where)


def _parsed(
    all_messages: list[Message], starts_ns: dict[str, int | None], epoch_ns: int, where: str
) -> Parsed:
    parsed = Parsed()
    if not all_messages:
        raise StoreError("the client printed no measurement", where=where)
    for test, direction in DIRECTIONS.items():
        by_origin = {
            origin: [m for m in all_messages if m["Test"] == test and m["Origin"] == origin]
            for origin in ORIGINS
        }
        if any(by_origin.values()):
            _figures(parsed, direction, by_origin["client"], by_origin["server"])
        for origin, chosen in by_origin.items():
            start_ns = _stamped_start_ns(chosen, epoch_ns)
            start_ns = starts_ns.get(direction) if start_ns is None else start_ns
            _series(parsed, origin, direction, chosen, start_ns)
    return parsed


def _stamped_start_ns(chosen: list[Message], epoch_ns: int) -> int | None:
    """When one end's clock of the test began, from the client's stamps; None without any."""
    starts = []
    for message in chosen:
        us = elapsed_us(message)
        if us is not None and "monotonic_ns" in message:
            starts.append(message["monotonic_ns"] - epoch_ns - us * NS_PER_US)
    return min(starts, default=None)


def last(chosen: Sequence[Message], part: str, field: str) -> int | None:
    """The last value that a message has of a field."""
    for message in reversed(chosen):
        value = (message.get(part) or {}).get(field)
        if value is not None:
            return int(value)
    return None


def _figures(parsed: Parsed, direction: str, client: list[Message], server: list[Message]) -> None:
    if direction == "down":
        received, elapsed = last(client, "AppInfo", "NumBytes"), last(client, "AppInfo", "ElapsedTime")
        sent, resent = last(server, "TCPInfo", "BytesSent"), last(server, "TCPInfo", "BytesRetrans")
        if sent and resent is not None:
            parsed.figure("ndt7_retransmission_ratio", resent / sent, "1", direction)
    else:
        received, elapsed = last(server, "TCPInfo", "BytesReceived"), last(server, "TCPInfo", "ElapsedTime")
    if received is not None and elapsed:
        parsed.figure("ndt7_throughput_bps", received * 8.0 * US_PER_S / elapsed, "bit/s", direction)
        parsed.figure("ndt7_elapsed_s", elapsed / US_PER_S, "s", direction)
    else:
        parsed.warnings.append(
            f"NDT7 {direction}: no rate, the receiver's last message has no bytes or no time"
        )
    min_rtt = last(server, "TCPInfo", "MinRTT")
    if min_rtt is not None:
        parsed.figure("ndt7_min_rtt_ms", min_rtt / US_PER_MS, "ms", direction)
    rtts = [m["TCPInfo"]["RTT"] for m in server if (m.get("TCPInfo") or {}).get("RTT") is not None]
    if rtts:
        parsed.figure("ndt7_rtt_mean_ms", sum(rtts) / len(rtts) / US_PER_MS, "ms", direction)


def _series(parsed: Parsed, end: str, direction: str, chosen: list[Message], start_ns: int | None) -> None:
    points: dict[tuple[str, str], list[tuple[int, float]]] = {}
    before: tuple[int, int] | None = None
    untimed = 0
    for message in chosen:
        us = elapsed_us(message)
        if us is None or start_ns is None:
            untimed += 1
            continue
        at = start_ns + us * NS_PER_US
        for field, value in (message.get("TCPInfo") or {}).items():
            name = kernel_name(field)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number and has_value(name, value):
                points.setdefault((f"tcp_info.{name}", unit(name)), []).append((at, value))
        for field, value in (message.get("BBRInfo") or {}).items():
            if field in _BBR:
                points.setdefault((f"bbr_info.{_BBR[field][0]}", _BBR[field][1]), []).append((at, value))
        app = message.get("AppInfo") or {}
        if app.get("NumBytes") is not None and app.get("ElapsedTime") is not None:
            bytes_, time_us = int(app["NumBytes"]), int(app["ElapsedTime"])
            points.setdefault(("app_info.num_bytes", "bytes"), []).append((at, bytes_))
            points.setdefault(("app_info.elapsed_time", "us"), []).append((at, time_us))
            since = before or (0, 0)
            if time_us - since[1] >= SHORTEST_US:
                rate = (bytes_ - since[0]) * 8.0 * US_PER_S / (time_us - since[1])
                points.setdefault(("throughput", "bit/s"), []).append((at, rate))
                before = (bytes_, time_us)
    if untimed:
        parsed.warnings.append(
            f"NDT7 {direction}, {end}: {untimed} messages without a time are left out of the series"
        )
    for (name, its_unit), values in points.items():
        parsed.add(
            name, its_unit, [t for t, _ in values], [v for _, v in values], part=end, direction=direction
        )


def read(ran: CommandRun) -> Parsed:
    text = ran.stdout()
    starts = starts_of(messages(text, where=ran.where), ran.flows, ran.start_ns)
    return parse(text, starts_ns=starts, epoch_ns=ran.epoch_ns, where=ran.where)


def starts_of(
    messages: list[Message], flows: pl.DataFrame, item_start_ns: int | None
) -> dict[str, int | None]:
    """When download and upload began.

    A test's first packet at the bottleneck, found by the client's address in ConnectionInfo, else (one
    test only) the item's start. The measurement clock of the protocol starts after the handshake, one or
    two base RTTs later; so do the stamps made from it.
    """
    starts: dict[str, int | None] = {}
    for message in messages:
        direction = DIRECTIONS[message["Test"]]
        connection = message.get("ConnectionInfo") or {}
        if starts.get(direction) is None:
            starts[direction] = _first_packet_ns(flows, connection.get("Client"), connection.get("Server"))
    if len(starts) == 1:
        for direction, at in starts.items():
            starts[direction] = item_start_ns if at is None else at
    return starts


def _first_packet_ns(flows: pl.DataFrame, client: str | None, server: str | None) -> int | None:
    if not client or not server or not flows.height:
        return None
    ends = []
    for text in (client, server):
        host, _, port = text.rpartition(":")
        if not port.isdigit():
            return None
        ends.append((host.strip("[]"), int(port)))
    labels = [flow_label("tcp", *ends[0], *ends[1]), flow_label("tcp", *ends[1], *ends[0])]
    first = flows.filter(pl.col("label").is_in(labels))["first_ns"].min()
    return int(first) if isinstance(first, int) else None
