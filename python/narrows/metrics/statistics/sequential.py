"""Enough repetitions and no more: a sequential stopping rule for a quantile.

Definition: after each repetition, the q-quantile (0.5 or 0.95) of the values so far and its 95 % confidence
interval by order statistics (`narrows.metrics.statistics.interval`) are computed. It is resolved when there
are at least n values and the interval reaches no further from the estimate, on either side, than the bound:
an absolute one in the values' unit, or a relative one as share of the estimate; with both, either is enough.
At m values without that it stops with "not resolved", which is an answer: the estimate and its interval are
what m repetitions can say.

The order statistics need 6 values for a median and 72 for p95 (95 %); with m below that a rule can only end
as not resolved, and says so in `reason`. Looking after each value makes the interval cover a little less
often than its nominal 95 %; a larger n makes this smaller.

A failed repetition gives a missing value; it does not count.

Unit: that of the values. Source: the rule of the thesis' Prudentia (10 to 30 trials until the 95 % interval
of the median is within 0.5 or 1.5 Mbit/s); J.-Y. Le Boudec, Performance Evaluation, theorem 2.1, for the
interval.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from narrows.metrics.statistics.arrays import Values, clean
from narrows.metrics.statistics.interval import Interval, quantile_interval


class State(Enum):
    """What a rule says after the values so far."""

    CONTINUE = "continue"
    RESOLVED = "resolved"
    NOT_RESOLVED = "not resolved"


@dataclass(frozen=True)
class Rule:
    """When to stop."""

    at_least: int
    at_most: int
    absolute: float | None = None
    relative: float | None = None
    quantile: float = 0.5
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 2 <= self.at_least <= self.at_most:
            raise ValueError(
                f"at least {self.at_least}, at most {self.at_most} values: it takes 2 <= least <= most"
            )
        bounds = [bound for bound in (self.absolute, self.relative) if bound is not None]
        if not bounds or any(not bound > 0 for bound in bounds):
            raise ValueError("the rule needs an absolute or a relative bound above zero")
        if not (0 < self.quantile < 1 and 0 < self.confidence < 1):
            raise ValueError(
                f"quantile {self.quantile}, confidence {self.confidence}: each is between 0 and 1"
            )


@dataclass(frozen=True)
class Decision:
    """What the rule found; `reason` says it in words."""

    state: State
    n: int
    estimate: float | None
    interval: Interval | None
    reach: float | None  # how far the interval reaches from the estimate
    bound: float | None  # how far it may
    reason: str


def smallest_n(quantile: float, confidence: float = 0.95) -> int:
    """The fewest values with which the quantile has an interval at all."""
    tail = (1.0 - confidence) / 2.0
    # the smallest value must be below the quantile, and the largest above, each with probability >= 1 - tail
    needed = max(np.log(tail) / np.log1p(-quantile), np.log(tail) / np.log(quantile))
    return int(np.ceil(needed - 1e-9))


def decide(values: Values, rule: Rule) -> Decision:
    """What the rule says of the values so far, in any order."""
    x = clean(values)
    n = int(x.size)
    stop = State.NOT_RESOLVED if n >= rule.at_most else State.CONTINUE
    if n < 2:
        return Decision(stop, n, None, None, None, None, f"{n} of at least {rule.at_least} values")
    estimate = float(np.quantile(x, rule.quantile))
    interval = quantile_interval(x, rule.quantile, rule.confidence)
    bound = max(
        rule.absolute if rule.absolute is not None else 0.0,
        rule.relative * abs(estimate) if rule.relative is not None else 0.0,
    )
    if interval is None:
        least = smallest_n(rule.quantile, rule.confidence)
        reason = f"{n} values; an interval of the {rule.quantile:g}-quantile needs {least}"
        return Decision(stop, n, estimate, None, None, bound, reason)
    reach = max(interval.high - estimate, estimate - interval.low)
    within = f"the interval reaches {reach:g} from {estimate:g}, the bound is {bound:g}"
    if n < rule.at_least:
        within = f"{n} of at least {rule.at_least} values; {within}"
        return Decision(State.CONTINUE, n, estimate, interval, reach, bound, within)
    return Decision(State.RESOLVED if reach <= bound else stop, n, estimate, interval, reach, bound, within)
