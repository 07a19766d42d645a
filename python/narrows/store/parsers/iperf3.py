"""`iperf3 --json`, of the client. Rates are TCP (or UDP) payload, as iperf3 counts.

Knows versions 3.7 to 3.18; the server's output, where the client carries it, is not read.
"""

from __future__ import annotations

import json
from typing import Any

from narrows.errors import StoreError
from narrows.store.parsers.common import Parsed
from narrows.store.tap import flow_label

INTERRUPTED = "interrupt - the client has terminated"
"""What a client says that was stopped by the plan (`stop=`): its report is whole but for the receiver's."""


def parse(
    text: str, item: str, *, start_ns: int | None, client_sends: str = "up", where: str = "iperf3"
) -> Parsed:
    """`client_sends` is the direction of what the client sends; `start_ns` when the item started.

    iperf3's intervals count from the first connection's start, which is later than `start_ns` by the control
    connection's round trips; the stamps of the series carry that error (a few round trips).
    """
    try:
        report = json.loads(text)
    except ValueError as error:
        shown = text.strip().splitlines()[:1] or ["nothing"]
        raise StoreError(
            f"iperf3 did not write JSON ({error}); it wrote: {shown[0][:200]}",
            where=where,
            remedy="run iperf3 with --json, or see its stderr in raw/",
        ) from None
    said = report.get("error") if isinstance(report, dict) else report
    interrupted = said == INTERRUPTED
    if said is not None and not interrupted:
        raise StoreError(f"iperf3 reports an error: {said}", where=where)
    if "end" not in report or "start" not in report:
        raise StoreError("iperf3's report has no 'start' or no 'end'", where=where)
    test = report["start"].get("test_start", {})
    client_receives = "down" if client_sends == "up" else "up"
    both = bool(test.get("bidir"))
    direction = client_receives if test.get("reverse") else client_sends
    parsed = Parsed()
    suffixes = [("", direction)] if not both else [("", client_sends), ("_bidir_reverse", client_receives)]
    for suffix, way in suffixes:
        _figures(parsed, report["end"], suffix, way, interrupted)
        _intervals(parsed, report, suffix, way, item, start_ns)
    return parsed


def _figures(parsed: Parsed, end: dict[str, Any], suffix: str, direction: str, interrupted: bool) -> None:
    sent = end.get(f"sum_sent{suffix}") or {}
    received = end.get(f"sum_received{suffix}") or {}
    if interrupted and not received.get("bytes"):
        received = {}  # the other side's count never came: 0 here is not a measurement
    udp = end.get(f"sum{suffix}") or {}
    parsed.figure("iperf3_goodput_bps", received.get("bits_per_second"), "bit/s", direction)
    parsed.figure("iperf3_sent_bps", sent.get("bits_per_second"), "bit/s", direction)
    parsed.figure("iperf3_retransmits", sent.get("retransmits"), "packets", direction)
    if "jitter_ms" in udp:
        lost = udp.get("lost_percent")
        parsed.figure("iperf3_jitter_ms", udp.get("jitter_ms"), "ms", direction)
        parsed.figure("iperf3_loss_ratio", None if lost is None else lost / 100, "1", direction)


def _intervals(
    parsed: Parsed, report: dict[str, Any], suffix: str, direction: str, item: str, start_ns: int | None
) -> None:
    if start_ns is None:
        parsed.warnings.append(f"{item}: start unknown, its intervals are left out")
        return
    labels = {}
    for connection in report["start"].get("connected", []):
        ends = (connection["local_host"], connection["local_port"], connection["remote_host"],
                connection["remote_port"])  # fmt: skip
        labels[connection["socket"]] = flow_label("tcp", *ends)
    series: dict[tuple[str, str, str | None], list[tuple[int, float | None]]] = {}

    def note(name: str, unit: str, flow: str | None, part: dict[str, Any], key: str) -> None:
        if key in part:
            at = start_ns + round(part["end"] * 1e9)
            series.setdefault((name, unit, flow), []).append((at, part[key]))

    for interval in report.get("intervals", []):
        total = interval.get(f"sum{suffix}")
        if total:
            note("throughput", "bit/s", None, total, "bits_per_second")
            note("retransmits", "packets", None, total, "retransmits")
        for stream in interval.get("streams", []):
            if suffix and bool(stream.get("sender")):
                continue
            flow = labels.get(stream.get("socket"))
            note("throughput", "bit/s", flow, stream, "bits_per_second")
            note("retransmits", "packets", flow, stream, "retransmits")
            note("tcp_info.rtt", "us", flow, stream, "rtt")
            note("tcp_info.snd_cwnd_bytes", "bytes", flow, stream, "snd_cwnd")
    for (name, unit, flow), points in series.items():
        parsed.add(
            name,
            unit,
            [t for t, _ in points],
            [v for _, v in points],
            source=item,
            direction=direction,
            flow=flow,
        )
