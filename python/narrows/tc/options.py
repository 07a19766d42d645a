"""Options of queues and shapers: what an experiment may say, tc's word for it, its limits, where it is kept.

One call declares an option: `flows: int = tc.count(1024, 5, highest=65536)`. The default comes first, None
where the option is then absent or the kernel's own; then where the kernel keeps it (`narrows.tc.place`), None
where it keeps no such thing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from narrows.spec import parsers as p
from narrows.spec.base import REQUIRED, Option
from narrows.spec.parsers import Parser
from narrows.tc.limit import U32, Limit
from narrows.tc.place import At, Place
from narrows.units import Duration, Rate, Size

Time = str | Duration | None
Bytes = str | Size | None
QueueBytes = str | Size | p.Bdp | None
QueuePackets = str | int | p.Bdp | None
Words = dict[str, str]
"""tc's option → its value; empty for a bare word such as `ecn`. In tc's order."""
Number = int | float | str


def plain(value: Any) -> str:
    """One value as tc reads it."""
    if isinstance(value, Rate | Size | Duration):
        return value.tc()
    return f"{value:g}" if isinstance(value, float) else str(value)


def arguments(words: Words) -> tuple[str, ...]:
    """Words as arguments of a command."""
    return tuple(part for name, value in words.items() for part in ((name, value) if value else (name,)))


def number(value: Any) -> Number:
    """A value of an option as a number of its base unit; a word stays one."""
    if isinstance(value, Duration):
        return value.ns
    if isinstance(value, Rate | Size):
        return value.bps if isinstance(value, Rate) else value.bytes
    kept: Number = int(value) if isinstance(value, bool) else value
    return kept


@dataclass(frozen=True)
class TcOption(Option):
    """An option with what tc and the kernel make of it. `word`: tc's name of it, where that is another.
    `bare`: the word for each of its values, "" for none, None for its own name. `frames`: so many full frames
    are its default. `text` says its value; "" says nothing."""

    limit: Limit | None = None
    place: Place | None = None
    word: str = ""
    bare: Mapping[Any, str | None] | None = None
    frames: int = 0
    text: Callable[[Any], str] = plain

    def said(self, name: str, value: Any) -> Words:
        """The option as tc is told it; nothing where it is left out."""
        if value is None:
            return {}
        if self.bare is not None:
            word = self.bare[value]
            return {} if word == "" else {word or name: ""}
        text = self.text(value)
        return {self.word or name: text} if text else {}


_KEPT = {"": ("", 1), "bytes": ("B", 1), "bit/s": ("bit/s", 8), "%": ("%", 1)} | {
    "ns": ("ns", 1), "us": ("ns", 1e3), "ms": ("ns", 1e6), "s": ("ns", 1e9),
}  # fmt: skip
"""By a limit's unit, the unit of what is kept, and how much one of it is."""


def option(
    parser: Parser, default: Any, limit: Limit | None, at: At | Place | None, form: str = "I", *,
    scale: float = 1, grain: float = 0, doc: str = "", offset: int = 0, mask: int | None = None,
    words: Mapping[int, str] | None = None, **more: Any,
) -> Any:  # fmt: skip
    """An option that the kernel keeps in the limit's unit, times `scale`. What is compared may be off by
    `grain`."""
    unit, times = _KEPT["" if limit is None else limit.unit]
    if at is not None and not isinstance(at, Place):
        at = Place(at, unit, form, offset, times * scale, grain, mask, words)
    return TcOption(p.optional(parser) if default is None else parser, default, doc, limit, at, **more)


def packets(default: Any, at: At, *, lowest: int = 1, **more: Any) -> Any:
    """A queue's limit in packets, or BDPs."""
    return option(p.queue_packets, default, Limit(lowest, U32), at, **more)


def count(
    default: Any, at: At | Place | None, form: str = "I", *, lowest: int = 1, highest: int = U32,
    ours: str = "", power: bool = False, **more: Any,
) -> Any:  # fmt: skip
    within = Limit(lowest, highest, "", ours, power)
    return option(p.count(lowest, highest), default, within, at, form, **more)


def size(
    default: Any, at: At | None, *, lowest: int = 1, highest: int = U32, parser: Parser = p.size,
    ours: str = "", packet: bool = False, **more: Any,
) -> Any:  # fmt: skip
    """Bytes; `frames`: so many full frames by default."""
    return option(parser, default, Limit(lowest, highest, "bytes", ours, packet=packet), at, **more)


def queue_size(doc: str, at: At) -> Any:
    """A queue's limit in bytes, or BDPs. It has no useful default."""
    return size(REQUIRED, at, parser=p.queue_bytes, doc=doc)


def quantum(at: At, *, lowest: int = 256, highest: int = 2**20, frames: int = 1, ours: str = "") -> Any:
    """What a flow may send in turn, by Linux' own rule of so many frames."""
    doc = f"default: {({1: 'one frame', 2: 'two frames', 10: 'ten frames'})[frames]}"
    return size(None, at, lowest=lowest, highest=highest, frames=frames, doc=doc, ours=ours)


def time(
    default: Any, at: At | None, lowest: float = 0, highest: float = U32, *, parser: Parser = p.microseconds,
    ours: str = "", step: int = 0, finest: float = 0, **more: Any,
) -> Any:  # fmt: skip
    """A time that the kernel keeps in microseconds."""
    return option(parser, default, Limit(lowest, highest, "us", ours, False, False, step, finest), at, **more)


def codel_time(default: Any, at: At) -> Any:
    """A time of CoDel, whose clock ticks each 1024 ns; whole microseconds are shown."""
    ours = "0 is not said by tc, and CoDel's clock ticks each 1.024 us"
    return time(default, at, 2, grain=2024, ours=ours)


def ce_threshold(at: At) -> Any:
    """The delay above which CoDel marks every packet."""
    return time(None, at, 0, U32 - 1, grain=2024, finest=2)


def pie_target(default: Any, at: At) -> Any:
    """The delay that PIE keeps, in ticks of 64 ns; whole microseconds are shown."""
    ours = "the kernel keeps it in 32 bits of ns; 0 is not said by tc"
    return time(default, at, 1, U32 // 1000, grain=1064, ours=ours)


def timer(default: Any, at: At, parser: Parser = p.microseconds) -> Any:
    """A timer of the kernel, which ticks each ms."""
    ours = "a timer's whole ms; 0 is not said by tc"
    return time(default, at, 1000, 4_294_965_000, step=1000, ours=ours, parser=parser)


def rate(default: Any, at: At | None, form: str = "I", *, free: bool = False, **more: Any) -> Any:
    """A rate, in 32 bits of bytes per second; `free`: in 64."""
    most, ours = (10**13, "more than any link here") if free else (34_359_738_360, "")
    return option(p.rate, default, Limit(8, most, "bit/s", ours), at, form, grain=8, **more)


def share(default: Any, at: At, within: Limit, form: str = "I", **more: Any) -> Any:
    """A percentage, which tc takes as a fraction."""
    return option(p.percent, default, within, at, form, **{"text": lambda v: f"{v / 100:g}"} | more)


def probability(default: Any, at: At, offset: int = 0) -> Any:
    """RED's, in 32 bits."""
    within = Limit(0.01, 99.99, "%", ours="tc says 100 % as 2^32, of which 32 bits are 0")
    return share(default, at, within, offset=offset, scale=100 / 2**32, grain=1e-7)


def flag(
    default: bool | None, at: At | None, form: str = "I", *, on: str | None = None, off: str = "", **more: Any
) -> Any:
    """A switch: the bare words for on (its own name) and off (none); `mask`, where others share its bits."""
    return option(p.flag, default, None, at, form, bare={True: on, False: off}, **more)


def word(default: Any, at: At, words: Sequence[str], form: str = "I", *said: str) -> Any:
    """One of some words, kept by their numbers; `said`: what tc calls each."""
    bare = dict(zip(words, said or words, strict=True))
    return option(p.choice(*words), default, None, at, form, words=dict(enumerate(words)), bare=bare)
