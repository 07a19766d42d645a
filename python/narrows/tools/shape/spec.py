"""The adaptive shaper on a Home's router."""

import re
from collections.abc import Sequence
from typing import Any

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.parsers import Wrong
from narrows.spec.traffic import Time, Traffic


def _places(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (str, list, tuple)):
        raise Wrong(f"{value!r} is no place to probe", '"@server:80" (TCP) or "@server" (ICMP)')
    texts = (value,) if isinstance(value, str) else tuple(value)
    for text in texts:
        if not isinstance(text, str) or not re.fullmatch(r"@(server|client)(:\d{1,5})?", text):
            raise Wrong(f"{text!r} is no place to probe", '"@server:80" (TCP) or "@server" (ICMP)')
    return texts


class shape(Traffic):
    """What `narrows shape` runs, on the home router of a Home that has CAKE: its bandwidth follows the ISP's
    rate. It begins at the bandwidth that CAKE is set to, before t = 0, and runs to the end."""

    ways: str | Sequence[str] = option(
        p.words("down", "up"), default=("down", "up"), doc="which of the router's queues it sets"
    )
    share: str = option(p.percent, default="95 %", doc="of the ISP's rate, when that is met")
    probe: str | Sequence[str] = option(
        _places,
        default=(),
        doc='"@server:80" (TCP) or "@server" (ICMP): asked where no traffic tells a delay',
    )
    log_interval: Time = option(p.positive, default="50 ms")

    def check(self) -> None:
        super().check()
        if not 50 <= self["share"] <= 100:
            self.fail(f"share: from 50 % to 100 %, not {self['share']:g} %", '"95 %"')
        if self["share"] != int(self["share"]):
            self.fail(f"share: whole percent, not {self['share']:g} %", '"95 %"')
        if self["log_interval"].ns < 10_000_000:
            self.fail(f"log_interval: at least 10 ms, not {self['log_interval']}")
