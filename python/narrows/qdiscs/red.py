"""red: random early detection."""

from typing import ClassVar

from narrows.tc import options as tc
from narrows.tc.early import Early
from narrows.tc.options import Bytes, QueueBytes
from narrows.tc.place import Place
from narrows.units import Rate


class red(Early):
    """Random early detection. min, max and burst default to tc's own rules of thumb from limit and avpkt."""

    title, colour, order, example = "RED", "#7a1f5c", 10, 'limit="1 MB"'
    keeps_time = True
    is_own_limit = True
    # tc_red_xstats: marked
    tells: ClassVar = {"marks": (12,)}
    also: ClassVar = {"ewma": Place(1, form="B", offset=12)}

    limit: QueueBytes = tc.queue_size('"400 KB" or "1 BDP"', 1)
    min: Bytes = tc.size(None, 1, offset=4)
    max: Bytes = tc.size(None, 1, offset=8)
    avpkt: Bytes = tc.size("1000 B", None)
    burst: int | None = tc.count(None, None)
    probability: str = tc.probability("2 %", 3)
    bandwidth: str | Rate | None = tc.rate(None, None, doc="default: the link's rate")
    adaptive: bool = tc.flag(False, 1, "B", offset=15, mask=4)
    ecn: bool = tc.flag(False, 1, "B", offset=15, mask=1)
    harddrop: bool = tc.flag(False, 1, "B", offset=15, mask=2)
    nodrop: bool = tc.flag(False, 4, mask=8)

    def check(self) -> None:
        super().check()
        self.check_ecn("harddrop", "nodrop")
