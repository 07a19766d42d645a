"""`iperf3 --json`, of the client. Rates are TCP (or UDP) payload, as iperf3 counts.

Knows versions 3.7 to 3.18; the server's output, where the client carries it, is not read. With an omitted
start (`-O`) iperf3's sums and retransmissions leave it out; its intervals are all kept, in one timeline:
iperf3 itself counts the time of the measured intervals from zero again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from narrows.errors import StoreError
from narrows.plan.model import Plan
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed, known_shape, read_json
from narrows.store.tap import flow_label

INTERRUPTED = "interrupt - the client has terminated"
"""What a client says that was stopped by the plan (`stop=`): its report is whole but for the receiver's."""

BIDIR = "_bidir_reverse"
"""What iperf3 appends to the names of sums of what the client receives in a bidirectional test."""


WRITTEN_AT_ONCE = 0.5
"""A sender that took less than this share of the receiver's time filled its buffer; the rest went later."""

ON_ITS_WAY = 0.05
"""Without a tap: more than this share of the datagrams not yet there at the end leaves the loss open."""
CONTRADICTED = 0.01
"""A loss that differs by more from the tap's, while datagrams were on their way, is only of the first."""

SHAPE = "the JSON of iperf3 3.7 to 3.18"
SUMS = ("sum_sent", "sum_received", "sum")


_SERIES = (
    ("throughput", "bit/s", "bits_per_second"),
    ("retransmits", "packets", "retransmits"),
    ("tcp_info.rtt", "us", "rtt"),
    ("tcp_info.snd_cwnd_bytes", "bytes", "snd_cwnd"),
)
"""Series, unit, and iperf3's name of it."""


@dataclass(frozen=True)
class Way:
    """One direction of a test: the suffix of its sums, and whether its streams are the client's own
    sending."""

    direction: str
    suffix: str
    is_own: bool | None
    """None: the streams need not be told apart."""


@dataclass(frozen=True)
class Report:
    """A report that is iperf3's, whole, and of a test that took place."""

    data: dict[str, Any]
    is_interrupted: bool
    ways: tuple[Way, ...]

    @property
    def protocol(self) -> str:
        test = self.data["start"].get("test_start") or {}
        return "udp" if test.get("protocol") == "UDP" else "tcp"

    def sums(self, way: Way) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """What was sent, what was received, and the sum of UDP. Empty where iperf3 does not know."""
        end = self.data["end"]
        sent = end.get(f"sum_sent{way.suffix}") or {}
        received = end.get(f"sum_received{way.suffix}") or {}
        if self.is_interrupted and not received.get("bytes"):
            received = {}  # the other side's count never came: 0 here is not a measurement
        return sent, received, end.get(f"sum{way.suffix}") or {}


@dataclass(frozen=True)
class Tapped:
    """What the tap saw of the test's datagrams in one direction, at all its hops."""

    arrived: int
    dropped: int
    sees_all: bool
    """Whether nothing in the path loses packets but the queues that are tapped."""


def report_of(text: str, *, client_sends: str, where: str) -> Report:
    """The report, if the text is one. `client_sends` is the direction of what the client sends."""
    remedy = "run iperf3 with --json, or see its stderr in raw/"
    data = read_json(text, "iperf3", where=where, remedy=remedy)
    said = data.get("error")
    is_interrupted = said == INTERRUPTED
    if said is not None and not is_interrupted:
        raise StoreError(f"iperf3 reports an error: {said}", where=where)
    if not all(isinstance(data.get(part), dict) for part in ("start", "end")):
        raise StoreError("iperf3's report has no 'start' or no 'end'", where=where)
    test, end = data["start"].get("test_start") or {}, data["end"]
    if not isinstance(test, dict) or not all(isinstance(end.get(s) or {}, dict) for s in SUMS):
        raise StoreError(f"this is not {SHAPE}", where=where, remedy="which version of iperf3 wrote it?")
    if not is_interrupted and not any(end.get(name) for name in SUMS):
        raise StoreError("iperf3's report has no sums: no test took place", where=where, remedy=remedy)
    client_receives = "down" if client_sends == "up" else "up"
    ways: tuple[Way, ...]
    # 3.12 does not write test_start.bidir; the sums of the other way tell.
    if any(name.endswith(BIDIR) for name in end):
        ways = (Way(client_sends, "", True), Way(client_receives, BIDIR, False))
    else:
        ways = (Way(client_receives if test.get("reverse") else client_sends, "", None),)
    return Report(data, is_interrupted, ways)


def parse(
    text: str,
    item: str,
    *,
    start_ns: int | None,
    client_sends: str = "up",
    where: str = "iperf3",
    tapped: Mapping[str, Tapped] | None = None,
) -> Parsed:
    """`client_sends` is the direction of what the client sends; `start_ns` when the item started; `tapped` by
    direction, of UDP.

    iperf3's intervals count from the first connection's start, which is later than `start_ns` by the control
    connection's round trips; the stamps of the series carry that error (a few round trips).
    """
    report = report_of(text, client_sends=client_sends, where=where)
    parsed = Parsed()
    with known_shape(where, SHAPE):
        for way in report.ways:
            _figures(parsed, report, way, item, (tapped or {}).get(way.direction))
        add_intervals(parsed, report, item, start_ns)
    return parsed


def _figures(parsed: Parsed, report: Report, way: Way, item: str, tapped: Tapped | None) -> None:
    sent, received, udp = report.sums(way)
    parsed.figure("iperf3_goodput_bps", received.get("bits_per_second"), "bit/s", way.direction)
    parsed.figure("iperf3_sent_bps", _sent_bps(parsed, report, way, item), "bit/s", way.direction)
    parsed.figure("iperf3_retransmits", sent.get("retransmits"), "packets", way.direction)
    if report.protocol == "udp" and "jitter_ms" in udp:
        # Of one datagram there is no variation.
        jitter = udp.get("jitter_ms") if (udp.get("packets") or 0) > 1 else None
        parsed.figure("iperf3_jitter_ms", jitter, "ms", way.direction)
        parsed.figure("iperf3_loss_ratio", _loss(parsed, report, way, item, tapped), "1", way.direction)


def _sent_bps(parsed: Parsed, report: Report, way: Way, item: str) -> float | None:
    """What was sent. TCP's is what went into the socket: a rate only if it took as long as what arrived."""
    sent, received, _ = report.sums(way)
    rate, known = sent.get("bits_per_second"), received.get("bits_per_second")
    if report.protocol == "udp" or rate is None or not known:
        return None if rate is None else float(rate)
    there, gone = received.get("bytes") or 0, sent.get("bytes") or 0
    if (sent.get("seconds") or 0.0) < WRITTEN_AT_ONCE * (received.get("seconds") or 0.0):
        written, arrived = f"{gone} bytes in {sent['seconds']:g} s", f"{received['seconds']:g} s"
        parsed.warnings.append(
            f"{item}: iperf3 wrote {written} into its socket and calls it {rate / 1e6:.4g} Mbit/s; {there} "
            f"had arrived after {arrived}, {known / 1e6:.4g} Mbit/s: the rate of sending is not known"
        )
        return None
    return float(rate)


def _loss(parsed: Parsed, report: Report, way: Way, item: str, tapped: Tapped | None) -> float | None:
    """The share of datagrams that were lost.

    A client that receives counts until the test's time is over. What stands in a queue then is not counted
    as lost, and what was dropped behind the last datagram that came is not known to it.

    Where the receiver's intervals are there, it is of those that were not omitted. Where only its sum is
    (an upload), iperf3 counts the losses of the omitted time too, and not its datagrams: these are added.
    """
    _, _, udp = report.sums(way)
    sums = [interval.get(f"sum{way.suffix}") or {} for interval in report.data.get("intervals", [])]
    kept = [one for one in sums if not one.get("omitted")]
    if kept and all("lost_packets" in one for one in kept):
        lost, of = sum(one["lost_packets"] for one in kept), sum(one["packets"] for one in kept)
    else:
        omitted = sum(one.get("packets") or 0 for one in sums if one.get("omitted"))
        lost, of = udp.get("lost_packets"), (udp.get("packets") or 0) + omitted
    if lost is None or not of:
        return None
    if not 0 <= lost <= of:
        parsed.warnings.append(
            f"{item}: iperf3 says that {lost} of {of} datagrams were lost: its loss is not known"
        )
        return None
    loss = float(lost / of)
    sent = report.sums(way)[0].get("packets") or 0
    rest = (sent - of) / sent if sent and not any(one.get("omitted") for one in sums) else 0.0
    if not _says_all(loss, rest, tapped):
        why = (
            f"the tap saw {tapped.dropped} of {tapped.arrived} dropped"
            if tapped
            else "there is no tap to ask"
        )
        parsed.warnings.append(
            f"{item}: iperf3 counted {of} of the {sent} datagrams sent, and {lost} of those as lost "
            f"({loss:.3g}); the others were on their way when its time was over, and {why}: "
            "its loss is not known"
        )
        return None
    return loss


def _says_all(loss: float, rest: float, tapped: Tapped | None) -> bool:
    """Whether the loss of those counted is that of all; `rest` is the share that was not counted."""
    if rest <= CONTRADICTED:
        return True
    if tapped is None or not tapped.arrived:
        return rest <= ON_ITS_WAY
    more = tapped.dropped / tapped.arrived - loss
    return more <= CONTRADICTED and (not tapped.sees_all or more >= -CONTRADICTED)


def tapped_datagrams(flows: pl.DataFrame, plan: Plan, item: str) -> dict[str, Tapped]:
    """What the tap saw of an item's datagrams, by direction. Fragments are not datagrams: then nothing."""
    mine = flows.filter(
        (pl.col("item").cast(pl.String) == item) & (pl.col("protocol").cast(pl.String) == "udp")
    )
    found = {}
    for way in ("down", "up"):
        rows = mine.filter(pl.col("direction").cast(pl.String) == way)
        is_counted = rows["arrived_packets"].null_count() == 0 and rows["sport"].null_count() == 0
        if not rows.height or not is_counted:
            continue
        by_hop = rows.group_by("hop").agg(pl.col("arrived_packets").sum())
        arrived = max(by_hop["arrived_packets"].to_list())  # the first hop's: behind it some are missing
        link = getattr(plan.link, way)
        loses = [link.loss_percent, *(change.loss_percent for change in link.changes)]
        found[way] = Tapped(arrived, int(rows["dropped_packets"].sum()), not any(loses))
    return found


def intervals(report: Report) -> Iterator[tuple[float, dict[str, Any], bool]]:
    """Each interval, the seconds from the test's start to where iperf3's count of it begins, and whether it
    is the first after the omitted time."""
    omit_s = float(report.data["start"].get("test_start", {}).get("omit") or 0)
    was_omitted = False
    for interval in report.data.get("intervals", []):
        is_omitted = bool((interval.get("sum") or {}).get("omitted"))
        yield 0.0 if is_omitted else omit_s, interval, was_omitted and not is_omitted
        was_omitted = is_omitted


def _rate_bps(part: dict[str, Any], is_first: bool) -> float | None:
    """What an interval says, or a stream in it.

    When the omitted time ends, iperf3 counts bytes from zero but forgets to move the interval's beginning if
    no report falls due just before: its rate is then too low by the last omitted interval. Bytes and end are
    right.
    """
    if is_first and part["end"] > 0:
        return float(part["bytes"]) * 8 / float(part["end"])
    rate: float | None = part["bits_per_second"]
    return rate


def add_intervals(parsed: Parsed, report: Report, item: str, start_ns: int | None) -> None:
    """The series of a report: of each stream, and of all together (flow NULL)."""
    if start_ns is None:
        parsed.warnings.append(f"{item}: start unknown, its intervals are left out")
        return
    labels = {}
    for connection in report.data["start"].get("connected", []):
        ends = (connection["local_host"], connection["local_port"], connection["remote_host"],
                connection["remote_port"])  # fmt: skip
        labels[connection["socket"]] = flow_label(report.protocol, *ends)
    series: dict[tuple[str, str, str | None, str], list[tuple[int, float | None]]] = {}

    def note(way: Way, flow: str | None, part: dict[str, Any], since_s: float, is_first: bool) -> None:
        at = start_ns + round((since_s + part["end"]) * 1e9)
        for name, unit, key in _SERIES:
            if key in part:
                value = _rate_bps(part, is_first) if key == "bits_per_second" else part[key]
                series.setdefault((name, unit, flow, way.direction), []).append((at, value))

    for since_s, interval, is_first in intervals(report):
        for way in report.ways:
            if total := interval.get(f"sum{way.suffix}"):
                note(way, None, total, since_s, is_first)
            for stream in interval.get("streams", []):
                if way.is_own is None or bool(stream.get("sender")) == way.is_own:
                    note(way, labels.get(stream.get("socket")), stream, since_s, is_first)
    for (name, unit, flow, direction), points in series.items():
        parsed.add(name, unit, [t for t, _ in points], [v for _, v in points], direction=direction, flow=flow)


def read(ran: CommandRun) -> Parsed:
    return parse(
        ran.stdout(),
        ran.item.id,
        start_ns=ran.start_ns,
        client_sends=ran.direction,
        where=ran.where,
        tapped=tapped_datagrams(ran.flows, ran.plan, ran.item.id),
    )
