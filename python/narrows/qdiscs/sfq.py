"""sfq: stochastic fair queueing."""

from collections.abc import Mapping
from typing import Any, ClassVar

from narrows.spec.parsers import count, size, whole_seconds
from narrows.tc import options as tc
from narrows.tc.early import Early
from narrows.tc.limit import Limit
from narrows.tc.options import Bytes, Number, QueuePackets, Time
from narrows.tc.place import Place
from narrows.tc.qdisc import QueueContext
from narrows.units import Rate

OURS = "what the kernel keeps"


class sfq(Early):
    """Stochastic fair queueing; with redflowlimit also RED per flow."""

    title, colour, marker, order = "SFQ", "#009e73", "D", 6
    is_per_flow = keeps_time = True
    held = "redflowlimit"
    also: ClassVar = {"ewma": Place(form="B", offset=40)}

    limit: QueuePackets = tc.packets(127, (), offset=8, lowest=2)
    perturb: Time = tc.option(
        *(whole_seconds, "0 s", Limit(0, 2_147_483, "s"), (), "i"), offset=4,
        doc="new hash every so often; 0 s: never", text=lambda value: str(value.ns // 10**9) if value else "",
    )  # fmt: skip
    quantum: Bytes = tc.quantum(())
    depth: int = tc.count(127, (), offset=20, highest=127, ours=OURS)
    divisor: int = tc.count(1024, (), offset=12, highest=65536)
    flows: int = tc.count(127, (), offset=16, highest=65408, ours=OURS)
    headdrop: bool = tc.flag(False, (), offset=24)
    redflowlimit: Bytes = tc.option(size, None, None, None)
    min: Bytes = tc.option(size, None, None, Place((), "B", offset=32))
    max: Bytes = tc.option(size, None, None, Place((), "B", offset=36))
    avpkt: Bytes = tc.option(size, None, None, None)
    burst: int | None = tc.option(count(), None, None, None)
    probability: str | None = tc.probability(None, (), 44)
    ecn: bool = tc.flag(False, (), "B", offset=43, mask=1)
    harddrop: bool = tc.flag(False, (), "B", offset=43, mask=2)

    def check(self) -> None:
        divisor = self["divisor"]
        if divisor & (divisor - 1):
            self.fail(f"divisor: {divisor} is not a power of two", "such as 1024")
        red = [n for n in ("min", "max", "avpkt", "burst", "probability") if self[n] is not None]
        red += [n for n in ("ecn", "harddrop") if self[n]]
        if red and self["redflowlimit"] is None:
            self.fail(f"{red[0]} works only with redflowlimit", 'add redflowlimit="100 KB"')
        self.check_ecn("harddrop")

    def check_together(self, values: Mapping[str, Any], context: QueueContext) -> None:
        """No more flows than hash buckets and packets, and no more packets than depth × flows."""
        flows = min(values["flows"], values["divisor"])
        if "flows" in self.given and values["flows"] > min(values["divisor"], values["limit"]):
            most = min(values["divisor"], values["limit"])
            self.fail(
                f"flows: the kernel keeps {most} of {values['flows']}: no more than divisor and limit",
                f"flows={most}, or a larger divisor and limit",
            )
        if values["limit"] > values["depth"] * flows:
            self.fail(
                f"limit: the kernel keeps {values['depth'] * flows} of {values['limit']}: depth × flows",
                f"at most {values['depth'] * flows}, or more flows",
            )
        super().check_together(values, context)

    def asked(self, context: QueueContext, shaped_to: Rate | None) -> dict[str, Number]:
        kept = super().asked(context, shaped_to)
        return kept | {"flows": min(self["flows"], self["divisor"], self.settled(context)["limit"])}
