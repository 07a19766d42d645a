"""What the kernel is to keep of each option of a queue, as numbers, beside the words that `tc` is told.

Times are in ns, sizes in bytes, rates in bit/s, shares in percent, switches 0 and 1. What only makes tc work
out other options (RED's avpkt, burst and bandwidth, and redflowlimit) is not kept as such: of it the weight
of the average is asked, `ewma`.
"""

from __future__ import annotations

from typing import Any

from narrows.plan import tc_limits
from narrows.plan.model import Asked
from narrows.plan.qdiscs import QueueContext, own_quantum, values_of
from narrows.spec.queues import Qdisc, cake, dualpi2, own_qdisc, prio, sfq
from narrows.spec.shapers import Shaper
from narrows.units import Duration, Rate, Size

Options = dict[str, int | float | str]
_ONLY_FOR_TC = ("avpkt", "burst", "bandwidth", "redflowlimit")


def of_queue(queue: Qdisc, context: QueueContext, bandwidth: Rate | None) -> Options:
    """The options of a queue; `bandwidth` is what CAKE shapes to."""
    if isinstance(queue, prio):
        bands = len(queue.queues())
        return {"bands": bands, "priomap": bands - 1}
    if isinstance(queue, own_qdisc):
        return {}
    options: Options = {}
    values = values_of(queue, context)
    for name, value in values.items():
        said = own_quantum(queue, name, context) if value is None else value
        if said is not None and not (name in _ONLY_FOR_TC and not isinstance(queue, cake)):
            options[name] = number(said)
    if isinstance(queue, cake):
        options["bandwidth"] = 0 if bandwidth is None else bandwidth.bps
        options["ack_filter"] = 2 if options.pop("ack_filter_aggressive") else options["ack_filter"]
    if isinstance(queue, dualpi2):
        del options["nqb"]  # a filter
    if isinstance(queue, sfq):
        options["flows"] = min(queue["flows"], queue["divisor"], values["limit"])
    early = tc_limits.early(queue.kind(), values, context.rate_bps)
    if early is not None and early.halvings is not None:
        options |= {"min": early.low, "max": early.high, "ewma": early.halvings}
    return options


def number(value: Any) -> int | float | str:
    """A value of an option as a number of its base unit; a word stays one."""
    if isinstance(value, Duration):
        return value.ns
    if isinstance(value, Size):
        return value.bytes
    if isinstance(value, Rate):
        return value.bps
    if isinstance(value, bool):
        return int(value)
    kept: int | float | str = value
    return kept


def qdisc(node: str, iface: str, at: str, kind: str, options: Options) -> Asked:
    """A qdisc, of which that is asked."""
    return Asked(node=node, iface=iface, what="qdisc", at=at, kind=kind, options=options)


def of_shaper(shaper: Shaper) -> Options:
    """The options of HTB's class and of TBF that do not depend on the link."""
    names = ("overhead", "mpu", "linklayer", "limit", "peakrate", "mtu")
    given = {name: shaper.values.get(name) for name in names}
    made = {name: number(value) for name, value in given.items() if value is not None}
    if made["linklayer"] == "adsl":
        made["linklayer"] = "atm"
    return made
