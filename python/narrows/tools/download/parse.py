"""What the download's client wrote (`client/run.mjs`): once a second the bytes that it has received."""

from itertools import pairwise

from narrows.errors import StoreError
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed, known_shape
from narrows.tools.services.parse import ClientLog, of_run


def parse(log: ClientLog, *, start_ns: int | None, where: str = "download") -> Parsed:
    """Figures and series. `start_ns` is when the client was started."""
    parsed = Parsed()
    if faults := log.of("fault"):
        raise StoreError(f"the download failed: {faults[0].get('message')}", where=where)
    with known_shape(where, "what narrows' download client writes"):
        states = log.of("state")
        times = log.times(states)
        received = [state["received"] for state in states]
        if not states or not received[-1]:
            raise StoreError("the download received nothing", where=where)
        rates = [8e9 * (b - a) / (u - t) for (t, a), (u, b) in pairwise(zip(times, received, strict=True))]
        parsed.add("download_rate", "bit/s", times[1:], rates, direction="down")
        last, end_ns = log.end["state"], log.t_ns(log.end["at_ms"])
        if start_ns is not None and end_ns > start_ns:
            rate = 8e9 * last["received"] / (end_ns - start_ns)
            parsed.figure("download_goodput_bps", rate, "bit/s", "down")
            if last["batches"]:
                parsed.figure("download_barrier_share", last["waited_ms"] * 1e6 / (end_ns - start_ns), "1")
        parsed.figure("download_bytes", last["received"], "bytes", "down")
        parsed.figure("download_chunks", last["chunks"], "chunks")
        parsed.figure("download_batches", last["batches"], "batches")
    return parsed


def read(ran: CommandRun) -> Parsed:
    return parse(of_run(ran), start_ns=ran.start_ns, where=ran.where)
