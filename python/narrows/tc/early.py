"""Random early detection: what tc and the kernel make of its options, in every qdisc that has it.

tc (tc_red.c) takes by default a quarter of the limit as max, a third of max as min, and a third of
2 min + max in average packets as burst. It turns them into a filter of at most 31 halvings, and the rate into
a table of idle time. The kernel (red_check_params) wants max, shifted by the halvings, in 32 bits.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from narrows.tc.options import Number, Words
from narrows.tc.qdisc import Qdisc, QueueContext
from narrows.units import Rate, Size


@dataclass(frozen=True)
class Rule:
    """Its thresholds, and the weight of its average, 2^-halvings."""

    low: int
    high: int
    halvings: int | None
    wrong: tuple[str, str] | None
    """What tc or the kernel refuses, and what they take."""


class Early(Qdisc):
    """A qdisc with RED."""

    held: ClassVar[str] = "limit"
    """The option that limits its queue."""
    is_of_packets: ClassVar[bool] = False
    is_own_limit: ClassVar[bool] = False
    """The limit is beside the rule: max may be above it, and is three times min where only that is given."""

    def check(self) -> None:
        self.check_below("min", "max")

    def check_together(self, values: Mapping[str, Any], context: QueueContext) -> None:
        rule = self.rule(values, context)
        if rule is not None and rule.wrong is not None:
            self.fail(*rule.wrong)

    def words(self, context: QueueContext) -> Words:
        words = super().words(context)
        if context.rate is not None and "bandwidth" in self.options:
            words.setdefault("bandwidth", context.rate.tc())
        return words

    def asked(self, context: QueueContext, shaped_to: Rate | None) -> dict[str, Number]:
        """The weight is kept of avpkt, burst and bandwidth, which only make tc work out others."""
        made = super().asked(context, shaped_to)
        rule = self.rule(self.settled(context), context)
        if rule is not None and rule.halvings is not None:
            made |= {"min": rule.low, "max": rule.high, "ewma": rule.halvings}
        return made

    def rule(self, values: Mapping[str, Any], context: QueueContext) -> Rule | None:
        """RED's rule as tc and the kernel have it; None where there is no RED."""

        def given(name: str) -> int:
            value = values.get(name)
            return value.bytes if isinstance(value, Size) else int(value or 0)

        name = self.held
        if values[name] is None:
            return None
        limit, average = given(name), 1 if self.is_of_packets else given("avpkt") or 1000
        unit = str if self.is_of_packets else (lambda n: f'"{n} B"')
        high = given("max") or (given("min") * 3 if self.is_own_limit else 0) or limit // 4
        low = given("min") or high // 3
        burst = given("burst") or (2 * low + high) // (3 * average)
        share = (2.0 if values["probability"] is None else values["probability"]) / 100
        halvings = None

        def found(wrong: tuple[str, str] | None) -> Rule:
            return Rule(low, high, halvings, wrong)

        if high > limit and not self.is_own_limit:
            return found((f"max ({high}) is above {name} ({limit})", f"max at most {unit(limit)}"))
        if low >= high:
            told = f"tc makes min {low} and max {high} of {name} {limit}: min must be below max"
            return found((told, f"{name} at least {unit(12 * average)}, or both given"))
        halvings = _halvings(low, burst, average)
        if halvings is None:
            told = f"tc finds no filter for min {low}, max {high} and burst {burst}"
            least = low // average + 1
            remedy = f"burst at least {least}" if given("burst") else f"{name} at least {unit(12 * average)}"
            return found((told, f"{remedy}, and burst at least {least}" if not given("burst") else remedy))
        if high.bit_length() + halvings >= 32:
            told = f"the kernel takes no filter of {halvings} halvings with max {high} (burst {burst})"
            return found((told, _less_burst(low, high, burst, average)))
        if share / (high - low) * 2**32 <= 1:
            return found(
                (f"tc finds no slope for {share:%} between {low} and {high}", "a larger probability")
            )
        rate = values.get("bandwidth") or context.rate
        if "bandwidth" in self.options and rate is not None:
            # tc's time for an average packet, in ticks of 64 ns
            ticks = (1000 if self.is_of_packets else average) * 8 * 10**9 / rate.bps / 64
            if 31 * 2**halvings * ticks >= 512 * 2**31:
                return found(
                    (f"tc finds no table of idle time for burst {burst} at {rate}", "a smaller burst")
                )
        return found(None)


def _less_burst(low: int, high: int, burst: int, average: int) -> str:
    least, most = low // average + 1, burst
    while least < most:
        middle = (least + most + 1) // 2
        halvings = _halvings(low, middle, average)
        fits = halvings is not None and high.bit_length() + halvings < 32
        least, most = (middle, most) if fits else (least, middle - 1)
    halvings = _halvings(low, least, average)
    fits = halvings is not None and high.bit_length() + halvings < 32
    return f"burst at most {least}" if fits else "a smaller max"


def _halvings(low: int, burst: int, average: int) -> int | None:
    a = burst + 1 - low / average
    if a < 1:
        return None
    for halvings in range(1, 32):
        weight = 0.5**halvings
        if a <= -math.expm1(burst * math.log1p(-weight)) / weight:
            return halvings
    return None
