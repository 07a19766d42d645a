"""The figures of identify: rate, base RTT and the longest wait of each way. The verdict is in `verdict`."""

from narrows.errors import StoreError
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed
from narrows.tools.identify import features, records


def parse(text: str, *, where: str = "identify") -> Parsed:
    try:
        report = records.read(text)
    except records.NoRecords as error:
        raise StoreError(str(error), where=where) from None
    parsed = Parsed()
    if len(report.rtt_s):
        parsed.figure("identify_base_rtt_ms", float(report.rtt_s.min()) * 1e3, "ms")
    for way in report.ways:
        found = features.of(report, way)
        if not found.is_outrun:
            parsed.figure("identify_rate_bps", found.rate_bps, "bit/s", way)
        if found.buffer_s is not None:
            parsed.figure("identify_buffer_ms", found.buffer_s * 1e3, "ms", way)
    return parsed


def read(ran: CommandRun) -> Parsed:
    return parse(ran.stdout(), where=ran.where)
