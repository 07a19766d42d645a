"""Realtime Response Under Load, with classes of service and best effort only, as Flent 2.3 defines them."""

from collections.abc import Sequence
from typing import ClassVar

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import DEFAULT_JITTER, Time, Traffic, duration_needs_time
from narrows.spec.under_test import UnderTest
from narrows.units import Duration, Rate, Size


class AnyRrul(Traffic):
    """What both tests share: probes alone, then with TCP flows both ways, then alone again."""

    is_stopped = True

    flows: int = option(p.count(1, 64), default=4, doc="TCP flows each way")
    cca: str = option(p.cca, default="cubic")
    ecn: bool = option(p.flag, default=False)
    delay: Time = option(p.positive, default="5 s", doc="probes alone, before the load and after it")
    duration: Time = option(p.positive, default="60 s", doc="of the load")
    step: Time = option(p.positive, default="200 ms", doc="interval of the probes and of the flows' series")
    payload: str | Size = option(p.size, default="64 B", doc="of a UDP probe")
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)

    classes: ClassVar[tuple[str, ...]] = ()
    """The classes of the TCP flows, spread evenly over them."""

    def check(self) -> None:
        super().check()
        duration_needs_time(self)
        for name in ("delay", "duration"):
            if self["step"] > self[name]:
                self.fail(
                    f"step ({self['step']}) is more than {name} ({self[name]})", f"at most {self[name]}"
                )
        if self["flows"] % len(self.classes):
            self.fail(
                f"{self['flows']} flows do not spread evenly over {', '.join(self.classes)}",
                f"flows={len(self.classes)}, {2 * len(self.classes)}, … up to 64; or rrul_be()",
            )

    def probes(self) -> dict[str, str]:
        """The UDP probes by name, with their class."""
        raise NotImplementedError

    def whole(self) -> Duration:
        """From the first probe to the last."""
        return Duration(self["duration"].ns + 2 * self["delay"].ns)

    def takes(self, rates: Sequence[Rate]) -> tuple[int, int] | None:
        return self.whole().ns, self.whole().ns


class rrul(AnyRrul):
    """Flent's rrul: one TCP flow each way per class (BE, BK, CS5, EF; with more flows, as many of each), UDP
    probes in EF, BK and BE, and ICMP echo."""

    classes = ("BE", "BK", "CS5", "EF")

    def probes(self) -> dict[str, str]:
        return {"EF": "EF", "BK": "BK", "BE": "BE"}


class rrul_be(AnyRrul):
    """Flent's rrul_be: four TCP flows each way, three UDP probes, and ICMP echo, all best effort. With
    another number of flows it is Flent's rrul_be_nflows, which has one UDP probe."""

    classes = ("BE",)

    def probes(self) -> dict[str, str]:
        return {f"BE{n}": "BE" for n in (1, 2, 3)} if self["flows"] == 4 else {"BE": "BE"}


UNDER_TEST = {
    "rrul_be": UnderTest(
        rrul_be, {"duration": "20 s", "delay": "2 s"}, {"60s": {"duration": "60 s"}, "16": {"flows": 16}}
    ),
    "rrul": UnderTest(rrul, {"duration": "20 s", "delay": "2 s"}, {"60s": {"duration": "60 s"}}),
}
