"""sfb: stochastic fair blue."""

from typing import Any

from narrows.spec.parsers import whole_milliseconds
from narrows.tc import options as tc
from narrows.tc.limit import S32, U16, Limit
from narrows.tc.options import QueuePackets, Time
from narrows.tc.qdisc import Qdisc


def _time(default: str, offset: int, doc: str = "") -> Any:
    """tc takes it as a bare number of milliseconds."""
    within, text = Limit(0, S32, "ms", ours="for ever beyond it"), lambda value: str(value.ns // 10**6)
    return tc.option(whole_milliseconds, default, within, 1, offset=offset, doc=doc, text=text)


def _share(default: str, offset: int) -> Any:
    """In 16 bits."""
    within = Limit(0, 100, "%", ours="a share", finest=100 / U16)
    return tc.share(default, 1, within, offset=offset, scale=100 / U16, grain=0.00153)


class sfb(Qdisc):
    """Stochastic fair blue: a marking probability for each of its bins of flows. Where a flow does not react,
    its packets are held to a rate. Always marks what may be marked."""

    title, colour, order = "SFB", "#5e3c99", 12
    keeps_time = True

    limit: QueuePackets = tc.packets(1000, 1, offset=24)
    rehash: Time = _time("600 s", 0)
    db: Time = _time("60 s", 4, "double buffering before a rehash")
    max: int = tc.count(25, 1, offset=8, doc="packets of a bin")
    target: int = tc.count(20, 1, offset=12, doc="packets of a bin")
    increment: str = _share("0.05 %", 16)
    decrement: str = _share("0.005 %", 20)
    penalty_rate: int = tc.count(10, 1, offset=28, doc="packets per second")
    penalty_burst: int = tc.count(20, 1, offset=32)

    def check(self) -> None:
        self.check_below("target", "max")
