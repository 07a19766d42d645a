"""When a run of long flows may end: `until_settled`, which stops them once a metric no longer moves.

It may be called without keeping the result. What else a run must have for it is checked by
`narrows.plan.settling`; the rule itself is carried out by the agent while the run goes on.
"""

from collections.abc import Sequence
from typing import Any

from narrows.spec.base import SpecObject, option
from narrows.spec.parsers import Wrong, optional, percent, positive, words
from narrows.units import Duration

Time = str | Duration | None
METRICS = ("jain", "shares", "goodput")


def _share(value: Any) -> float:
    """`"1 %"` as 0.01; neither nothing nor everything."""
    share = percent(value) / 100
    if not 0 < share < 1:
        raise Wrong(
            f"{value!r}: a metric moves less than that " + ("never" if share <= 0 else "always"), '"1 %"'
        )
    return share


class until_settled(SpecObject):
    """`until_settled("jain", window="20 min", at_most="3 h")`: the bulk flows are stopped once the metric
    moved less than `within` of its value over the last `window`, and at their own end if it never does.

    The metrics are of what each flow delivered since the flow tap's warm-up: Jain's index of all flows, the
    share of each CCA, the mean goodput of all together. Several must all have settled. All times are of the
    measuring, which begins after the warm-up.
    """

    positional = ("metric",)
    may_stand_alone = True

    metric: str | Sequence[str] = option(words(*METRICS), doc='"jain", "shares", "goodput", or several')
    within: str = option(_share, default="1 %", doc="of the metric's value")
    window: Time = option(positive, doc='"20 min"')
    at_least: Time = option(optional(positive), default=None, doc="None: one window")
    at_most: Time = option(optional(positive), default=None, doc="None: until the flows end by themselves")

    def check(self) -> None:
        window, least, most = (self[name] for name in ("window", "at_least", "at_most"))
        if least is not None and least < window:
            self.fail(
                f"at_least={least} is less than the window of {window}, before which nothing can settle",
                f'leave it out, or at_least="{window.scaled(2)}"',
            )
        soonest = least or window
        if most is not None and most <= soonest:
            self.fail(
                f"at_most={most} leaves nothing to decide: {soonest} are measured in any case",
                f'at_most="{soonest.scaled(2)}", or a shorter window',
            )
