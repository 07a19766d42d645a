"""choke: RED against flows that do not react."""

from typing import ClassVar

from narrows.spec.base import REQUIRED
from narrows.tc import options as tc
from narrows.tc.early import Early
from narrows.tc.place import Place
from narrows.units import Rate


class choke(Early):
    """CHOKe: RED that compares each arriving packet with one drawn from the queue and drops both if they are
    of one flow. Counted in packets; min, max and burst default to tc's own rules of thumb from limit."""

    title, colour, order, example = "CHOKe", "#b35806", 11, "limit=1000"
    keeps_time = True
    is_of_packets = True
    also: ClassVar = {"ewma": Place(1, form="B", offset=12)}

    limit: int = tc.count(REQUIRED, 1, highest=128 * 1024 - 1, doc="packets; required")
    min: int | None = tc.count(None, 1, offset=4)
    max: int | None = tc.count(None, 1, offset=8)
    burst: int | None = tc.count(None, None)
    probability: str = tc.probability("2 %", 3)
    bandwidth: str | Rate | None = tc.rate(None, None, doc="default: the link's rate")
    ecn: bool = tc.flag(False, 1, "B", offset=15, mask=1)
