"""What Cloudflare's own client says (`client/run.mjs`): its summary, scores and
requests.

Every figure is the client's own, under its own names' meaning; `narrows.metrics.latency.cloudflare` and
others compute the same of any samples. Its stamps are the guest's wall clock in whole ms, taken when a
request was over.
"""

from typing import Any

from narrows.errors import StoreError
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed, known_shape, read_json
from narrows.units import NS_PER_MS

_FIGURES = (
    ("download", "cloudflare_bandwidth_bps", "bit/s", "down"),
    ("upload", "cloudflare_bandwidth_bps", "bit/s", "up"),
    ("latency", "cloudflare_latency_ms", "ms", None),
    ("jitter", "cloudflare_jitter_ms", "ms", None),
    ("downLoadedLatency", "cloudflare_loaded_latency_ms", "ms", "down"),
    ("upLoadedLatency", "cloudflare_loaded_latency_ms", "ms", "up"),
    ("downLoadedJitter", "cloudflare_loaded_jitter_ms", "ms", "down"),
    ("upLoadedJitter", "cloudflare_loaded_jitter_ms", "ms", "up"),
)
_REQUEST_SERIES = (
    ("bps", "request_rate", "bit/s"),
    ("duration_ms", "request_duration", "ms"),
    ("bytes", "request_bytes", "bytes"),
)


def parse(text: str, *, wall_epoch_ns: int, where: str = "cloudflare") -> Parsed:
    """`wall_epoch_ns` is the guest's wall clock at t = 0."""
    report = read_json(text, "the Cloudflare client", where=where)
    parsed = Parsed()
    with known_shape(where, "what narrows' Cloudflare client writes"):
        summary = report["summary"]
        for key, name, unit, direction in _FIGURES:
            value = summary.get(key)
            # Without any request that counts the client says 0, as if it had measured it.
            if value is not None and not (value == 0 and key in ("download", "upload")):
                parsed.figure(name, value, unit, direction)
        for use, score in report["scores"].items():
            parsed.figure(f"cloudflare_{use}_points", score["points"], "1")
        for key, direction in (("download", "down"), ("upload", "up")):
            requests = report[key]
            times = [_t_ns(request["at_ms"], wall_epoch_ns) for request in requests]
            for field, series, unit in _REQUEST_SERIES:
                values = [_number(request[field]) for request in requests]
                parsed.add(series, unit, times, values, direction=direction)
        for phase, direction_of in (("idle", None), ("down", "down"), ("up", "up")):
            points = report["pings"][phase]
            times = [_t_ns(at_ms, wall_epoch_ns) for at_ms, _ in points]
            values = [_number(ms) for _, ms in points]
            series = "idle_ping" if phase == "idle" else "loaded_ping"
            parsed.add(series, "ms", times, values, direction=direction_of)
    if not parsed.metrics:
        raise StoreError("the Cloudflare client measured nothing", where=where)
    return parsed


def _t_ns(at_ms: float, wall_epoch_ns: int) -> int:
    return round(at_ms * NS_PER_MS) - wall_epoch_ns


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def read(ran: CommandRun) -> Parsed:
    """Reads what a command that ran has written. The guest boots at the plan's wall clock, with
    CLOCK_MONOTONIC at 0."""
    return parse(ran.stdout(), wall_epoch_ns=ran.plan.wall_clock_ns + ran.epoch_ns, where=ran.where)
