"""What the kernel is to keep of qdiscs and classes, beside the words that `tc` is told."""

from __future__ import annotations

from narrows.plan.model import Asked
from narrows.spec.shapers import Shaper
from narrows.tc.options import Number, number


def qdisc(node: str, iface: str, at: str, kind: str, options: dict[str, Number]) -> Asked:
    """A qdisc, of which that is asked."""
    return Asked(node=node, iface=iface, what="qdisc", at=at, kind=kind, options=options)


def of_shaper(shaper: Shaper) -> dict[str, Number]:
    """The options of HTB's class and of TBF that do not depend on the link."""
    names = ("overhead", "mpu", "linklayer", "limit", "peakrate", "mtu")
    given = {name: shaper.values.get(name) for name in names}
    made = {name: number(value) for name, value in given.items() if value is not None}
    if made["linklayer"] == "adsl":
        made["linklayer"] = "atm"
    return made
