"""fq: fair queueing with pacing."""

from narrows.spec import parsers as p
from narrows.tc import options as tc
from narrows.tc.limit import U32, Limit
from narrows.tc.options import Bytes, QueuePackets, Time
from narrows.tc.place import Place, Value
from narrows.tc.qdisc import Qdisc
from narrows.units import Rate


def _buckets(raw: bytes) -> Value:
    """As a power of two."""
    power = Place(8).number(raw)
    return None if power is None else float(1 << int(power))


class fq(Qdisc):
    """Fair queueing with pacing, as hosts use it. Its timers have slack: they go off with whatever else
    does."""

    colour, order = "#000000", 16
    is_per_flow = True

    limit: QueuePackets = tc.packets(10000, 1)
    flow_limit: int = tc.count(100, 2)
    quantum: Bytes = tc.quantum(3, frames=2)
    initial_quantum: Bytes = tc.quantum(4, lowest=1, frames=10)
    maxrate: str | Rate | None = tc.rate(None, 7)
    buckets: int = tc.count(1024, Place(reader=_buckets), lowest=2, highest=262144, power=True)
    orphan_mask: int = tc.count(1023, 10)
    pacing: bool = tc.flag(True, 5, off="nopacing")
    refill_delay: Time = tc.timer("40 ms", 9, p.positive)
    low_rate_threshold: str | Rate = tc.rate("550 kbit/s", 11)
    ce_threshold: Time = tc.time(None, 12)
    timer_slack: Time = tc.option(p.positive, None, Limit(1, U32, "ns"), 13, doc="default: 10 µs")
    horizon: Time = tc.time("10 s", 14)
    horizon_drop: bool = tc.flag(True, 15, "B", off="horizon_cap")

    def check(self) -> None:
        if self["maxrate"] is not None and not self["pacing"]:
            self.fail(
                "maxrate is of paced flows, and pacing is off: it would never act", "leave one of them out"
            )
