"""What the client prints: one JSON object."""

from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed, known_shape

NS_PER_S = 1e9


def read(ran: CommandRun) -> Parsed:
    """Its figures, and its answers over time."""
    report, parsed = ran.json(), Parsed()
    with known_shape(ran.where, "what my_http_test prints"):
        parsed.figure("my_http_bps", report["bytes"] * 8 / report["seconds"], "bit/s", "down")
        parsed.figure("my_http_loaded_ms", report["loaded_ms"], "ms", "down")
        parsed.figure("my_http_idle_ms", report["idle_ms"], "ms")
        times = [round(t * NS_PER_S) - ran.epoch_ns for t, _ in report["answers"]]
        parsed.add("answer", "ms", times, [ms for _, ms in report["answers"]])
    return parsed
