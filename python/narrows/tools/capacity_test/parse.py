"""The capacity test's own reading: iperf3's report of one direction, after the omitted ramp.

The result is what the receiver's application got after the omitted time over the time after it
(end.sum_received), the retransmissions those of the sender after it (end.sum_sent), as the operator's test
reads them. The series are iperf3's, the ramp included.
"""

from collections.abc import Mapping

from narrows.errors import StoreError
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed, known_shape
from narrows.store.whose import Whose
from narrows.tools.iperf3 import parse as iperf3


def parse(
    text: str,
    item: str,
    *,
    advertised_bps: Mapping[str, float | None],
    start_ns: int | None,
    client_sends: str = "up",
    where: str = "capacity test",
) -> Parsed:
    """`item` is the whole test's; `advertised_bps` the advertised speed by direction."""
    report = iperf3.report_of(text, client_sends=client_sends, where=where)
    if report.protocol != "tcp":
        raise StoreError("a capacity test runs over TCP, this report is of UDP", where=where)
    parsed = Parsed()
    with known_shape(where, iperf3.SHAPE):
        for way in report.ways:
            _figures(parsed, report, way, advertised_bps.get(way.direction))
        iperf3.add_intervals(parsed, report, item, start_ns)
    return parsed


def _figures(parsed: Parsed, report: iperf3.Report, way: iperf3.Way, advertised_bps: float | None) -> None:
    sent, received, _ = report.sums(way)
    rate_bps = received.get("bits_per_second")
    start = report.data["start"]
    parsed.figure("capacity_test_throughput_bps", rate_bps, "bit/s", way.direction)
    if rate_bps is not None and advertised_bps:
        parsed.figure("capacity_test_advertised_share", rate_bps / advertised_bps, "1", way.direction)
    again, size, segment = sent.get("retransmits"), sent.get("bytes"), start.get("tcp_mss_default")
    parsed.figure("capacity_test_retransmits", again, "packets", way.direction)
    if again is not None and size and segment:
        parsed.figure("capacity_test_retransmission_ratio", again * segment / size, "1", way.direction)
    parsed.figure("capacity_test_connections", start["test_start"]["num_streams"], "flows", way.direction)
    parsed.figure("capacity_test_elapsed_s", received.get("seconds"), "s", way.direction)


def read(ran: CommandRun) -> Parsed:
    """Reads the test of one direction; its figures are those of the whole test."""
    test = ran.composite
    speeds = {way: test.options[f"advertised_{way}_bps"] for way in ("down", "up")}
    parsed = parse(
        ran.stdout(),
        test.id,
        advertised_bps={way: None if bps is None else float(bps) for way, bps in speeds.items()},
        start_ns=ran.start_ns,
        client_sends=ran.direction,
        where=ran.where,
    )
    return parsed.of(Whose(test.id))
