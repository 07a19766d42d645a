"""What `tc` and the kernel take of an option: the lowest and the highest value.

What is outside is refused with the line of the experiment, before anything runs. A value that tc takes and
the kernel then cuts to fewer bits counts as not taken. `tests/interop/test_tc_limits.py` holds every limit
against the real tc: lowest, highest, one beyond.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from narrows.spec.base import SpecObject
from narrows.units import Duration, Rate, Size

U16, U32 = 2**16 - 1, 2**32 - 1
S32 = 2**31 - 1
_NS = {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9}


@dataclass(frozen=True)
class Limit:
    """The bounds of one option, in its `unit`. `ours` says why narrows stops before tc does: beyond the
    highest, tc is not asked. `power`: only powers of two are kept; `whole`: no parts of a percent; `step`:
    only multiples of it (the kernel's timers tick each ms); what is above 0 and below `finest` is kept as 0;
    `packet`: it holds at least one packet."""

    lowest: float
    highest: float
    unit: str = ""
    ours: str = ""
    power: bool = False
    whole: bool = False
    step: int = 0
    finest: float = 0
    packet: bool = False

    def value(self, number: Any) -> Any:
        """A number of the unit as an option's value."""
        if self.unit in _NS:
            return Duration(round(number * _NS[self.unit]))
        if self.unit == "%":
            return f"{number} %"
        return Size(number) if self.unit == "bytes" else Rate(number) if self.unit == "bit/s" else number

    def number(self, value: Any) -> float:
        """An option's value as a number of the unit."""
        if isinstance(value, Duration):
            return value.ns / _NS[self.unit]
        if isinstance(value, Size):
            return value.bytes
        return value.bps if isinstance(value, Rate) else float(value)

    def text(self, number: float) -> str:
        """For people."""
        value = self.value(number)
        return f"{value:g}" if isinstance(value, float) else str(value)

    def check(self, part: SpecObject, name: str, value: Any, frame_bytes: int) -> None:
        """Refuse, with the line of `part`, what tc does not take, or the kernel keeps as another."""
        number = self.number(value)
        if not self.lowest <= number <= self.highest:
            nearest = self.lowest if number < self.lowest else self.highest
            part.fail(
                f"{name}: tc takes no {_said(value)}, or the kernel keeps another",
                f"from {self.text(self.lowest)} to {self.text(self.highest)}: "
                f"the nearest is {self.text(nearest)}",
            )
        if self.whole and number != int(number):
            part.fail(f"{name}: tc takes whole percents, not {value} %", f'"{round(number)} %"')
        if self.power and int(number) & (int(number) - 1):
            part.fail(
                f"{name}: {value} is not a power of two", f"such as {2 ** (int(number).bit_length() - 1)}"
            )
        if self.step and number % self.step:
            nearest = max(self.step, round(number / self.step) * self.step)
            part.fail(
                f"{name}: {value} is no multiple of {self.text(self.step)}, and the kernel keeps no other",
                f'the nearest is "{self.text(nearest)}"',
            )
        if 0 < number < self.finest:
            part.fail(f"{name}: the kernel keeps {_said(value)} as 0", f'at least "{self.text(self.finest)}"')
        # What a packet of a full frame may take (truesize): the next power of two, and its two heads.
        least = int(2 ** math.ceil(math.log2(frame_bytes + 64)) + 768)
        if self.packet and number < least:
            part.fail(
                f"{name}: {value} do not hold one packet: a frame of {frame_bytes} bytes takes {least} B",
                f'at least "{least} B"',
            )


def _said(value: Any) -> str:
    return f"{value:g} %" if isinstance(value, float) else str(value)


def check(part: SpecObject, values: Mapping[str, Any], frame_bytes: int) -> None:
    """Refuse the first of a queue's or shaper's options that is beyond its limit; BDPs are numbers here."""
    for name, option in part.options.items():
        limit, value = getattr(option, "limit", None), values[name]
        if limit is not None and isinstance(value, int | float | Size | Duration | Rate):
            limit.check(part, name, value, frame_bytes)
