"""What the shaper says of itself in JSON lines: the rate set, the ISP's as it was met, what waits beyond."""

import json

from narrows.errors import StoreError
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed, known_shape

WAYS = ("down", "up")
SERIES = (
    ("shaper_rate", "bit/s", "rate_bps"),
    ("shaper_capacity", "bit/s", "capacity_bps"),
    ("shaper_queue_beyond", "ms", "queue_beyond_ms"),
)


def parse(text: str, *, epoch_ns: int, where: str = "shape") -> Parsed:
    """`epoch_ns` is CLOCK_MONOTONIC at t = 0."""
    parsed = Parsed()
    with known_shape(where, "what narrows-shape writes"):
        try:
            lines = [json.loads(line) for line in text.splitlines() if line]
        except json.JSONDecodeError as error:
            raise StoreError(f"not JSON lines: {error}", where=where) from None
        states = [line for line in lines if line["event"] == "state"]
        if not states:
            raise StoreError("the shaper has said nothing", where=where)
        times = [int(line["monotonic_ns"]) - epoch_ns for line in states]
        for way in WAYS:
            if way not in states[0]:
                continue
            for series, unit, key in SERIES:
                values: list[float | None] = [line[way][key] for line in states]
                parsed.add(series, unit, times, values, direction=way)
    return parsed


def read(ran: CommandRun) -> Parsed:
    return parse(ran.stdout(), epoch_ns=ran.epoch_ns, where=ran.where)
