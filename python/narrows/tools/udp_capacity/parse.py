"""What `narrows-agent udp-capacity client` says: sub-intervals at the receiver, and the reports of the
search.

The result is the best sub-interval's rate (RFC 9097 section 5.3), at the IP layer. Loss and delay variation
are of that same sub-interval: it was chosen for its rate alone.
"""

from typing import Any

from narrows.errors import StoreError
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed, known_shape, read_json
from narrows.units import US_PER_MS

DIRECTIONS = {"download": "down", "upload": "up"}


def parse(text: str, *, epoch_ns: int, where: str = "udp_capacity") -> Parsed:
    """`epoch_ns` is CLOCK_MONOTONIC at t = 0."""
    report = read_json(text, "udp-capacity", where=where)
    parsed = Parsed()
    with known_shape(where, "what udp-capacity writes"):
        length_ns = report["sub_interval_ns"]
        for name, way in DIRECTIONS.items():
            if name in report:
                _direction(parsed, way, report[name], length_ns, epoch_ns)
    if not parsed.metrics:
        raise StoreError("udp-capacity measured nothing", where=where)
    return parsed


def _direction(parsed: Parsed, way: str, test: dict[str, Any], length_ns: int, epoch_ns: int) -> None:
    subs = test["sub_intervals"]
    rates = [bytes_ * 8e9 / length_ns for bytes_, *_ in subs]
    best = rates.index(max(rates))
    if not rates[best]:
        return
    _, datagrams, lost, reordered, duplicated, mean_us, _, most_us = subs[best]
    parsed.figure("udp_capacity_bps", rates[best], "bit/s", way)
    parsed.figure("udp_capacity_mean_bps", sum(rates) / len(rates), "bit/s", way)
    unique = datagrams - duplicated
    parsed.figure("udp_capacity_loss_ratio", lost / (unique + lost), "1", way)
    parsed.figure("udp_capacity_reordered", reordered, "packets", way)
    parsed.figure("udp_capacity_delay_variation_mean_ms", mean_us / US_PER_MS, "ms", way)
    parsed.figure("udp_capacity_delay_variation_max_ms", most_us / US_PER_MS, "ms", way)
    began_ns = int(test["began_ns"]) - epoch_ns
    ends = [began_ns + (n + 1) * length_ns for n in range(len(subs))]
    parsed.add("throughput", "bit/s", ends, rates, direction=way)
    reports = test["reports"]
    times = [int(t_ns) - epoch_ns for t_ns, *_ in reports]
    columns: list[tuple[str, str, list[float | None]]] = [
        ("sending_rate", "bit/s", [rate for _, rate, _, _ in reports]),
        ("anomalies", "packets", [count for _, _, count, _ in reports]),
        ("delay_variation", "ms", [None if us is None else us / US_PER_MS for *_, us in reports]),
    ]
    for series, unit, values in columns:
        parsed.add(series, unit, times, values, direction=way)


def read(ran: CommandRun) -> Parsed:
    return parse(ran.stdout(), epoch_ns=ran.epoch_ns, where=ran.where)
