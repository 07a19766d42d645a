"""What the two ends of a QUIC stack wrote: a line of JSON for each connection, and their qlogs.

An end that counts says `{"kind": "end", "received_bytes": …, "seconds": …}`, and if it knows `stack`, `cca`,
`sent_packets`, `lost_packets`, `rtt_ms`. Other lines are anybody's. Goodput is the receiver's word; where no
receiver says anything, the rate of the item's IP packets that passed the tap stands in its place, under
another name.
"""

from collections.abc import Iterator
from typing import Any

import polars as pl

from narrows.errors import StoreError
from narrows.headers import ETHERNET_HEADER_BYTES
from narrows.plan.items import Command
from narrows.store.command_run import CommandRun, read_text
from narrows.store.parsers.common import Parsed, known_shape, strict_json
from narrows.tools.iperf3.parse import tapped_datagrams
from narrows.tools.quic import qlog
from narrows.tools.quic.stack import MOST_FILE_BYTES
from narrows.units import NS_PER_MS

SENDERS = {"down": "server", "up": "client"}


def read(ran: CommandRun) -> Parsed:
    """Reads what the client wrote, whose server wrote beside it."""
    parsed = Parsed()
    item = ran.item.id
    servers = [each for each in ran.plan.traffic if isinstance(each, Command) and each.tool == "quic-server"]
    server = next(each for each in servers if each.item == ran.item.item)
    ends = {"client": ran.item, "server": server}
    lines_of = {end: list(_lines(ran, each.id)) for end, each in ends.items()}
    for end, each in ends.items():
        _check_cca(lines_of[end], each)
    passed = _passed(ran)
    ways = [way for way, end in SENDERS.items() if _sends(ran, way, end, passed, lines_of)]
    for way, end in SENDERS.items():
        if ways and way not in ways and ends[end].uses is not None:
            raise StoreError(
                f"{item} is to go {way}, and no data went that way",
                where=ran.where,
                remedy=f"direction={ways[0]!r}, if that is what its programs do",
            )
    for way in ways:
        sender = SENDERS[way]
        receiver = "client" if sender == "server" else "server"
        _received(parsed, lines_of[receiver], way, ran, passed)
        _sent(parsed, lines_of[sender], way)
        traces = _logged(parsed, ends[sender].id, sender, way, ran)
        _lost(parsed, lines_of[sender], traces, way, ran)
    if not ways:
        raise StoreError(
            f"{item} sent nothing that passed the bottleneck",
            where=ran.where,
            remedy=f"see raw/{item}.stderr and raw/{server.id}.stderr",
        )
    parsed.figure("quic_flows", float(len(lines_of["client"])) if lines_of["client"] else None, "flows")
    return parsed


def _lines(ran: CommandRun, end: str) -> Iterator[dict[str, Any]]:
    for line in read_text(ran.raw, f"{end}.stdout").splitlines():
        if not line.startswith("{"):
            continue
        try:
            value = strict_json(line)
        except ValueError:
            continue
        if isinstance(value, dict) and value.get("kind") == "end":
            yield value


def _check_cca(lines: list[dict[str, Any]], end: Command) -> None:
    """A contestant that acts otherwise than it says is no result."""
    wanted = None if end.uses is None else end.uses.cca
    used = {line["cca"] for line in lines if isinstance(line.get("cca"), str)}
    if wanted is not None and used - {wanted}:
        raise StoreError(
            f"{end.id} is to use {wanted}, and says that it used {', '.join(sorted(used))}",
            where=f"raw/{end.id}.stdout",
            remedy="make the program use it (@cca in its words), or say what it uses",
        )


def _passed(ran: CommandRun) -> dict[str, tuple[int, int, int]]:
    """Bytes of IP packets that left the tap, and between which times, by direction; none without a tap."""
    mine = ran.flows.filter(
        (pl.col("item").cast(pl.String) == ran.item.id) & (pl.col("protocol").cast(pl.String) == "udp")
    )
    found = {}
    for way in SENDERS:
        rows = mine.filter(pl.col("direction").cast(pl.String) == way)
        hops = rows["hop"].cast(pl.String).unique().to_list()
        if not hops:
            continue
        # Of several places the last: what passed all of them.
        last = rows.filter(pl.col("hop").cast(pl.String) == hops[-1])
        size = sum(last["departed_bytes"]) - ETHERNET_HEADER_BYTES * sum(last["departed_packets"])
        found[way] = (size, min(last["first_ns"]), max(last["last_ns"]))
    return found


def _sends(
    ran: CommandRun,
    way: str,
    end: str,
    passed: dict[str, tuple[int, int, int]],
    lines_of: dict[str, list[dict[str, Any]]],
) -> bool:
    """Whether data went that way, and not acknowledgements alone."""
    receiver = lines_of["client" if end == "server" else "server"]
    if any(line.get("received_bytes") for line in receiver):
        return True
    if receiver or way not in passed:
        return False
    return passed[way][0] >= 0.2 * sum(size for size, *_ in passed.values())


def _received(
    parsed: Parsed,
    lines: list[dict[str, Any]],
    way: str,
    ran: CommandRun,
    passed: dict[str, tuple[int, int, int]],
) -> None:
    with known_shape(ran.where, "what an end of quic() writes"):
        rates = [8 * line["received_bytes"] / line["seconds"] for line in lines if line["seconds"]]
        if rates:
            parsed.figure("quic_goodput_bps", sum(rates), "bit/s", way)
            parsed.figure("quic_bytes", sum(line["received_bytes"] for line in lines), "bytes", way)
            return
    if way in passed:
        size, first_ns, last_ns = passed[way]
        if last_ns > first_ns:
            parsed.figure("quic_tap_bps", 8e9 * size / (last_ns - first_ns), "bit/s", way)


def _sent(parsed: Parsed, lines: list[dict[str, Any]], way: str) -> None:
    """What the sender says of its packets at the end."""
    counts = [line["sent_packets"] for line in lines if "sent_packets" in line]
    parsed.figure("quic_sent_packets", float(sum(counts)) if counts else None, "packets", way)
    rtts = [line["rtt_ms"] for line in lines if "rtt_ms" in line]
    parsed.figure("quic_rtt_ms", sum(rtts) / len(rtts) if rtts else None, "ms", way)


def _logged(parsed: Parsed, end: str, name: str, way: str, ran: CommandRun) -> list[qlog.Trace]:
    """The sender's qlogs as series."""
    traces = []
    udp = ran.flows.filter(
        (pl.col("item").cast(pl.String) == ran.item.id) & (pl.col("direction").cast(pl.String) == way)
    )
    labels = udp["label"].cast(pl.String).unique().to_list()
    clocks = qlog.Clocks(
        ran.epoch_ns,
        ran.wall_epoch_ns,
        udp["first_ns"].min() if udp.height else ran.start_ns,  # type: ignore[arg-type]
        _base_rtt_ms(ran),
    )
    files = qlog.files(ran.raw / end) if (ran.raw / end).is_dir() else []
    for path in files:
        trace = qlog.read(path, clocks)
        if path.stat().st_size >= MOST_FILE_BYTES:
            trace.is_whole = False
            trace.warnings.append(f"{path.name}: cut off at {MOST_FILE_BYTES} bytes")
        parsed.warnings += [f"{end}: {warning}" for warning in trace.warnings]
        flow = labels[0] if len(labels) == 1 == len(files) else path.stem
        for (series, unit), values in sorted(trace.series.items()):
            times = sorted(values)
            parsed.add(
                series, unit, times, [values[t] for t in times],
                part=name, direction=way, flow=flow,
            )  # fmt: skip
        traces.append(trace)
    rtts = sorted(v for each in traces for v in each.series.get(("tcp_info.rtt", "us"), {}).values())
    if rtts:
        parsed.figure("quic_rtt_p50_ms", rtts[len(rtts) // 2] / 1e3, "ms", way)
    return traces


def _base_rtt_ms(ran: CommandRun) -> float:
    link = ran.plan.link
    return (link.down.delay_ns + link.up.delay_ns) / NS_PER_MS


def _lost(
    parsed: Parsed, lines: list[dict[str, Any]], traces: list[qlog.Trace], way: str, ran: CommandRun
) -> None:
    """The stack's count of its losses beside the queue's; which packets they were nobody can say of
    encrypted ones, so what is wrong is wrong by at least so many."""
    counts = [line["lost_packets"] for line in lines if "lost_packets" in line]
    if counts:
        lost = sum(counts)
    elif traces and all(each.is_whole for each in traces):
        lost = sum(each.lost for each in traces)
    else:
        return
    parsed.figure("quic_lost_packets", float(lost), "packets", way)
    tapped = tapped_datagrams(ran.flows, ran.plan, ran.item.id).get(way)
    if tapped is not None and tapped.sees_all:
        parsed.figure("quic_spurious_packets", float(max(0, lost - tapped.dropped)), "packets", way)
        parsed.figure("quic_unnoticed_packets", float(max(0, tapped.dropped - lost)), "packets", way)
