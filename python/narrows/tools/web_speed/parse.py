"""What `narrows-agent web-speed-client` says: the reading of a modelled web speed test, and its counts.

Names begin with the model's, because each computes its result in its own way.
"""

from itertools import pairwise

from narrows.errors import StoreError
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed, known_shape, read_json

MODELS = ("ookla", "librespeed")
DIRECTIONS = {"download": "down", "upload": "up"}


def parse(text: str, *, epoch_ns: int, where: str = "web_speed") -> Parsed:
    """`epoch_ns` is CLOCK_MONOTONIC at t = 0."""
    report = read_json(text, "web-speed-client", where=where)
    parsed = Parsed()
    with known_shape(where, "what web-speed-client writes"):
        model = report["model"]
        if model not in MODELS:
            raise StoreError(f"a report of an unknown model, {model!r}", where=where)
        idle = report["idle"]
        parsed.figure(f"{model}_model_latency_ms", idle["latency_ms"], "ms")
        parsed.figure(f"{model}_model_jitter_ms", idle["jitter_ms"], "ms")
        _pings(parsed, "idle_ping", idle["pings"], None, epoch_ns)
        for name, direction in DIRECTIONS.items():
            if name not in report:
                continue
            test = report[name]
            parsed.figure(f"{model}_model_throughput_bps", test["result_bps"], "bit/s", direction)
            parsed.figure(f"{model}_model_loaded_latency_ms", test["loaded_latency_ms"], "ms", direction)
            parsed.figure(f"{model}_model_bytes", test["bytes"], "bytes", direction)
            parsed.figure(f"{model}_model_connections", test["connections"][-1][1], "flows", direction)
            spans = list(pairwise(test["samples"]))
            parsed.add(
                "throughput",
                "bit/s",
                [later[0] - epoch_ns for _, later in spans],
                [(later[1] - first[1]) * 8e9 / (later[0] - first[0]) for first, later in spans],
                direction=direction,
            )
            _pings(parsed, "loaded_ping", test["pings"], direction, epoch_ns)
    return parsed


def _pings(
    parsed: Parsed, series: str, points: list[list[float]], direction: str | None, epoch_ns: int
) -> None:
    """At the instant of asking."""
    times = [int(t_ns) - epoch_ns for t_ns, _ in points]
    parsed.add(series, "ms", times, [ms for _, ms in points], direction=direction)


def read(ran: CommandRun) -> Parsed:
    return parse(ran.stdout(), epoch_ns=ran.epoch_ns, where=ran.where)
