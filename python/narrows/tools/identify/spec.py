"""What the queue is that cannot be seen: the agent's identify client against its server."""

from collections.abc import Sequence

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import DEFAULT_JITTER, Time, Traffic


class identify(Traffic):
    """Probe trains that show rate, buffer, AQM, queues of flows and the discipline of the bottleneck, each
    way. The truth is what the experiment set; `narrows identify results/NAME` holds the answer against it."""

    ways: str | Sequence[str] = option(p.words("down", "up"), default=("down", "up"))
    mode: str = option(p.choice("whole", "quick"), default="whole")
    most_rate: str = option(p.rate, default="2 Gbit/s", doc="nothing is sent faster")
    cleared: bool = option(
        p.flag,
        default=False,
        doc="the server sends with TOS 0, as after a network that clears code points and ECN",
    )
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)
    port: int | None = option(p.optional(p.port), default=None, doc="default: 24603")
    time_limit: Time = option(p.positive, default="90 s")

    def check(self) -> None:
        super().check()
        if self["most_rate"].bps < 1_000_000:
            self.fail("most_rate: at least 1 Mbit/s")
