"""`<probe>.csv` of our isochronous UDP probe and ICMP echo: seq,sent_ns,server_ns,received_ns.

RTT and one-way delays in ns at the instant of sending. A lost probe has an RTT of NULL. One that was still on
its way when the run ended is not lost: then the loss is not known, and has no figure. Does not judge whether
the two ends' clocks agree: in virtual time and on one host they are one clock.
"""

import polars as pl

from narrows.store.parsers.common import Parsed, read_csv

COLUMNS = {"seq": pl.Int64(), "sent_ns": pl.Int64(), "server_ns": pl.Int64(), "received_ns": pl.Int64()}


def parse(
    text: str, item: str, *, toward_server: str = "up", settled: bool = True, where: str = "probe"
) -> Parsed:
    """`toward_server` is the direction in which the requests travel; `settled`: nothing was on its way when
    the run ended."""
    frame = read_csv(text, COLUMNS, where=where).sort("seq")
    back = "down" if toward_server == "up" else "up"
    parsed = Parsed()
    server, received = frame["server_ns"], frame["received_ns"]
    parsed.add("rtt", "ns", frame["sent_ns"], received - frame["sent_ns"])
    count, returned = frame.height, int(received.is_not_null().sum())
    came = int(server.is_not_null().sum())
    # A stamp without an answer proves that the log holds what the server saw, not only what came back.
    # Then each loss is known to be on one way; else a lost probe says nothing about the two ways.
    ways_known = came > returned
    forth = frame if ways_known else frame.filter(pl.col("server_ns").is_not_null())
    reached = frame.filter(pl.col("server_ns").is_not_null())
    for part, there, direction in (
        (forth, ("server_ns", "sent_ns"), toward_server),
        (reached, ("received_ns", "server_ns"), back),
    ):
        parsed.add("owd", "ns", part["sent_ns"], part[there[0]] - part[there[1]], direction=direction)
    parsed.figure("probe_sent", count, "packets")
    parsed.figure("probe_received", returned, "packets")
    if not count:
        parsed.warnings.append(f"{item}: sent no probe")
    elif returned < count and not settled:
        parsed.figure("probe_unanswered", count - returned, "packets")
        parsed.warnings.append(
            f"{item}: {count - returned} of {count} probes were unanswered when the run ended, with packets "
            "still on their way: its loss is not known"
        )
        return parsed
    else:
        parsed.figure("probe_loss_ratio", 1 - returned / count, "1")
    if ways_known:
        parsed.figure("probe_loss_ratio", 1 - came / count, "1", toward_server)
        parsed.figure("probe_loss_ratio", 1 - returned / came, "1", back)
    return parsed
