"""Readers of single values: text or quantity in, typed value out, or an error that says what to write.

A reader takes one value and returns it parsed; it knows neither axes nor other values of the same object.
"""

import ipaddress
import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from narrows.errors import UnitError, did_you_mean
from narrows.spec.moving_rate import MovingRate
from narrows.units import Duration, Quantity, Rate, Size

Parser = Callable[[Any], Any]

CCAS = ("reno", "cubic", "bbr", "dctcp", "vegas", "westwood", "htcp", "illinois", "bic")

# RFC 2474, 2597, 3246, 5865, 8622
DSCP_NAMES: dict[str, int] = {
    **{f"CS{n}": 8 * n for n in range(8)},
    **{f"AF{c}{d}": 8 * c + 2 * d for c in range(1, 5) for d in range(1, 4)},
    "EF": 46,
    "VA": 44,
    "NQB": 45,
    "LE": 1,
    "BE": 0,
}


class Wrong(ValueError):
    """A value that cannot be; with the remedy."""

    def __init__(self, message: str, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True)
class Bdp:
    """A size as a multiple of the bottleneck's rate × base RTT; known when the link is."""

    factor: float

    def __str__(self) -> str:
        return f"{self.factor:g} BDP"

    def label(self) -> str:
        return f"{self.factor:g}BDP"


def optional(parser: Parser) -> Parser:
    """None passes."""
    return lambda value: None if value is None else parser(value)


def rate(value: Any) -> Rate:
    """A rate above zero, the same all the time."""
    if isinstance(value, MovingRate):
        raise Wrong(f"{value.called} moves, and this rate does not", 'a fixed rate, such as "100 Mbit/s"')
    return link_rate(value)


def link_rate(value: Any) -> Rate:
    """A rate above zero, or one that moves."""
    parsed = Rate.parse(value)
    if not parsed:
        raise Wrong(
            f"rate of {value!r}: nothing would ever be sent", 'a rate above zero, such as "100 Mbit/s"'
        )
    return parsed


def size(value: Any) -> Size:
    """A size above zero."""
    parsed = Size.parse(value)
    if not parsed:
        raise Wrong(f"size of {value!r}", 'a size above zero, such as "15 KB"')
    return parsed


def size_or_zero(value: Any) -> Size:
    return Size.parse(value)


def duration(value: Any) -> Duration:
    """A duration, zero included."""
    return Duration.parse(value)


def positive(value: Any) -> Duration:
    """A duration above zero."""
    parsed = Duration.parse(value)
    if not parsed:
        raise Wrong(f"duration of {value!r}", 'a duration above zero, such as "20 ms"')
    return parsed


def _in_whole(unit_ns: int, words: str, example: str) -> Callable[[Any], Duration]:
    def parse(value: Any) -> Duration:
        parsed = Duration.parse(value)
        if parsed.ns % unit_ns:
            raise Wrong(f"{parsed}: {words}", f'such as "{example}"')
        return parsed

    return parse


microseconds = _in_whole(1000, "the kernel keeps this in whole microseconds", "5 us")
"""A duration; the kernel keeps this option no finer."""
whole_milliseconds = _in_whole(1_000_000, "the kernel keeps this in whole milliseconds", "500 ms")
"""A duration; tc takes this one as a bare number."""
whole_seconds = _in_whole(1_000_000_000, "only whole seconds can be given here", "10 s")
"""A duration; the tool takes no other."""


def iperf3_interval(value: Any) -> Duration:
    """How often iperf3 reports; it has limits of its own."""
    parsed = positive(value)
    if not 100_000_000 <= parsed.ns <= 60_000_000_000:
        raise Wrong(f"iperf3 reports every 0.1 s to 60 s, not {parsed}")
    return parsed


def bdp_factor(value: Any) -> Bdp | None:
    """`"1.5 BDP"`, or None if the value is something else."""
    if isinstance(value, Bdp):
        return value
    if isinstance(value, str) and (match := re.fullmatch(r"\s*([\d.]+)\s*(?i:bdp)\s*", value)):
        factor = float(match[1])
        if factor <= 0:
            raise Wrong(f"{value!r}: a queue of nothing", '"1 BDP"')
        return Bdp(factor)
    return None


def queue_bytes(value: Any) -> Size | Bdp:
    """A queue's limit in bytes: a size, or a multiple of the BDP."""
    return bdp_factor(value) or size(value)


def queue_packets(value: Any) -> int | Bdp:
    """A queue's limit in packets: a count, or a multiple of the BDP (in full-sized packets)."""
    if isinstance(value, Quantity) or (isinstance(value, str) and re.search(r"\d\s*[KMG]?i?B$", value)):
        raise Wrong(
            f"{value}: this limit counts packets, not bytes",
            'write a number of packets (limit=100) or "1 BDP"; bfifo counts bytes',
        )
    if isinstance(value, str) and (match := re.fullmatch(r"\s*(\d+)\s*(?:p|packets?)\s*", value)):
        value = int(match[1])
    return bdp_factor(value) or count()(value)


def count(minimum: int = 1, maximum: int = 2**32 - 1) -> Parser:
    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise Wrong(f"{value!r} is not a whole number", f"a number from {minimum} to {maximum}")
        if not minimum <= value <= maximum:
            raise Wrong(f"{value} is out of range", f"a number from {minimum} to {maximum}")
        return value

    return parse


def number(minimum: float, maximum: float = math.inf) -> Parser:
    """A plain number, such as a factor."""

    def parse(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise Wrong(f"{value!r} is not a number")
        if not minimum <= value <= maximum:
            bounds = f"at least {minimum:g}" if math.isinf(maximum) else f"from {minimum:g} to {maximum:g}"
            raise Wrong(f"{value} is out of range", f"a number {bounds}")
        return float(value)

    return parse


def percent(value: Any) -> float:
    """`"0.5 %"` as 0.5."""
    if isinstance(value, str) and (match := re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)\s*%\s*", value)):
        parsed = float(Decimal(match[1]))
        if not 0 <= parsed <= 100:
            raise Wrong(f"{value!r} is not between 0 % and 100 %")
        return parsed
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise UnitError(f"{value!r} has no unit, a percentage is needed", remedy=f'write "{value} %"')
    raise UnitError(f"{value!r} is not a percentage", remedy='such as "0.5 %"')


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Wrong(f"{value!r} is neither True nor False")
    return value


def choice(*names: str) -> Parser:
    def parse(value: Any) -> str:
        if value not in names:
            raise Wrong(f"{value!r} is not known here", did_you_mean(str(value), names))
        return str(value)

    return parse


class own_cca(str):
    """The name of a CCA that a module of `machine(modules=…)` brings: `bulk(cca=own_cca("mine"))`."""

    __slots__ = ()


def cca(value: Any) -> str:
    """A congestion control algorithm of the kernel, or one that a module brings."""
    if isinstance(value, own_cca):
        return value
    if value not in CCAS:
        raise Wrong(f"unknown congestion control {value!r}", did_you_mean(str(value), CCAS))
    return str(value)


SCALABLE_CCAS = ("dctcp",)
"""CCAs of this kernel that answer each mark in proportion, as L4S asks (RFC 9331)."""


def check_l4s(item: Any) -> None:
    """An item that asks for ECT(1) needs a CCA that may have it: a classic one would starve the others. Of a
    module's only its author knows."""
    if item["l4s"] and item["cca"] not in SCALABLE_CCAS and not isinstance(item["cca"], own_cca):
        item.fail(
            f"l4s=True sends ECT(1), which {item['cca'] or 'the default CCA'} may not",
            f"a scalable CCA: cca={SCALABLE_CCAS[0]!r}",
        )


def dscp(value: Any) -> int:
    """A code point by name (`"CS1"`, `"EF"`) or number."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 63:
        return value
    if isinstance(value, str) and value.upper() in DSCP_NAMES:
        return DSCP_NAMES[value.upper()]
    raise Wrong(f"unknown DSCP {value!r}", f"0 to 63, or {did_you_mean(str(value), DSCP_NAMES)}")


def text(value: Any) -> str:
    """Any text that is not empty."""
    if not isinstance(value, str) or not value:
        raise Wrong(f"{value!r} is not text")
    return value


def texts(value: Any) -> tuple[str, ...]:
    """One text, or several."""
    return tuple(map(text, (value,) if isinstance(value, str) else value))


def identifier(value: Any) -> str:
    """A name that is safe in files."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", value):
        raise Wrong(f"{value!r} cannot be a name", "letters, digits, '-', '_' and '.' only")
    return value


def port(value: Any) -> int:
    parsed: int = count(1, 65535)(value)
    return parsed


def argv(value: Any) -> tuple[str, ...]:
    """A command: a list of words, or one line as for a shell (nothing is expanded)."""
    if isinstance(value, str):
        try:
            words: Iterable[Any] = shlex.split(value)
        except ValueError as error:
            raise Wrong(f"{value!r}: {error}") from None
    elif isinstance(value, (list, tuple)):
        words = value
    else:
        raise Wrong(f"{value!r} is not a command", 'such as "curl -s http://10.0.2.1/"')
    parsed = tuple(words)
    if not parsed or not all(isinstance(word, str) for word in parsed):
        raise Wrong(f"{value!r} is not a command: every word must be text, and there must be one")
    return parsed


def text_map(value: Any) -> dict[str, str]:
    """Names and texts; whole numbers become text."""
    if not isinstance(value, Mapping):
        raise Wrong(f"{value!r} is not a mapping")
    for name, content in value.items():
        if not isinstance(name, str) or isinstance(content, bool) or not isinstance(content, (str, int)):
            raise Wrong(f"{name!r}: {content!r} is not a name with text or a whole number")
    return {name: str(content) for name, content in value.items()}


def tcp_address(value: Any) -> str:
    """`address:port`."""
    if isinstance(value, str) and (match := re.fullmatch(r"([\d.]+):(\d{1,5})", value)):
        try:
            ipaddress.IPv4Address(match[1])
            port(int(match[2]))
        except ValueError:
            pass
        else:
            return value
    raise Wrong(f"{value!r} is not an address with a port", 'such as "10.0.2.1:80"')


def words(*known: str) -> Parser:
    """Some of a set of words, in a given order, none twice."""

    def parse(value: Any) -> tuple[str, ...]:
        if not isinstance(value, (str, list, tuple)):
            raise Wrong(f"{value!r} is not known here", f"one or more of {', '.join(known)}")
        parsed = (value,) if isinstance(value, str) else tuple(value)
        for word in parsed:
            if word not in known:
                raise Wrong(f"{word!r} is not known here", did_you_mean(str(word), known))
        if not parsed or len(set(parsed)) != len(parsed):
            raise Wrong(f"{value!r} has none, or one twice", f"one or more of {', '.join(known)}")
        return parsed

    return parse
