"""Options of queues and shapers: what an experiment may say, tc's word for it, its limits, where it is kept.

One call declares an option: `flows: int = tc.count(1024, 5, highest=65536)`. The default comes first, None
where the option is then absent or the kernel's own; then where the kernel keeps it (`narrows.tc.place`), None
where it keeps no such thing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from narrows.spec import parsers as p
from narrows.spec.base import REQUIRED, Option
from narrows.spec.parsers import Parser
from narrows.tc.limit import S32, U32, Limit
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


def _option(parser: Parser, default: Any, place: Place | None, limit: Limit | None, **more: Any) -> Any:
    doc = more.pop("doc", "")
    return TcOption(p.optional(parser) if default is None else parser, default, doc, limit, place, **more)


def _place(at: At | Place | None, unit: str = "", **more: Any) -> Place | None:
    return at if at is None or isinstance(at, Place) else Place(at, unit, **more)


def _limit(limited: bool, *within: Any, **more: Any) -> Limit | None:
    return Limit(*within, **more) if limited else None


def packets(default: Any, at: At, *, offset: int = 0, lowest: int = 1, doc: str = "") -> Any:
    """A queue's limit in packets, or BDPs."""
    return _option(p.queue_packets, default, Place(at, offset=offset), Limit(lowest, U32), doc=doc)


def queue_size(doc: str, at: At) -> Any:
    """A queue's limit in bytes, or BDPs. It has no useful default."""
    return size(REQUIRED, at, parser=p.queue_bytes, doc=doc)


def count(
    default: Any, at: At | Place | None, form: str = "I", *, offset: int = 0, lowest: int = 1,
    highest: int = U32, doc: str = "", limited: bool = True, **limit: Any,
) -> Any:  # fmt: skip
    """A whole number of things."""
    within = _limit(limited, lowest, highest, **limit)
    return _option(p.count(lowest, highest), default, _place(at, form=form, offset=offset), within, doc=doc)


def size(
    default: Any, at: At | None, *, offset: int = 0, lowest: int = 1, highest: int = U32,
    parser: Parser = p.size, frames: int = 0, word: str = "", doc: str = "", limited: bool = True,
    **limit: Any,
) -> Any:  # fmt: skip
    """Bytes. `frames`: so many full frames by default."""
    within = _limit(limited, lowest, highest, "bytes", **limit)
    place = _place(at, "B", offset=offset)
    return _option(parser, default, place, within, doc=doc, frames=frames, word=word)


def quantum(at: At, *, lowest: int = 256, highest: int = 2**20, frames: int = 1, ours: str = "") -> Any:
    """What a flow may send in turn, by Linux' own rule of so many frames."""
    doc = f"default: {({1: 'one frame', 2: 'two frames', 10: 'ten frames'})[frames]}"
    return size(None, at, lowest=lowest, highest=highest, frames=frames, doc=doc, ours=ours)


def memory(default: Any, at: At, *, highest: int = U32, word: str = "") -> Any:
    """Bytes of memory, of which packets take what they occupy."""
    return size(default, at, highest=highest, packet=True, word=word)


def time(
    default: Any, at: At | None, lowest: float = 0, highest: float = U32, *, grain: float = 0,
    parser: Parser = p.microseconds, doc: str = "", **limit: Any,
) -> Any:  # fmt: skip
    """A time that the kernel keeps in microseconds, and may be off by `grain` (ns)."""
    place = _place(at, "ns", scale=1000, grain=grain)
    return _option(parser, default, place, Limit(lowest, highest, "us", **limit), doc=doc)


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


def milliseconds(default: Any, at: At, offset: int = 0, doc: str = "") -> Any:
    """A time that tc takes as a bare number of milliseconds."""
    place, within = Place(at, "ns", offset=offset, scale=1e6), Limit(0, S32, "ms", ours="for ever beyond it")
    text = lambda value: str(value.ns // 10**6)  # noqa: E731
    return _option(p.whole_milliseconds, default, place, within, doc=doc, text=text)


def rate(default: Any, place: Place | None, *, free: bool = False, **more: Any) -> Any:
    """A rate, in 32 bits of bytes per second; `free`: in 64."""
    free_rate = Limit(8, 10**13, "bit/s", ours="more than any link here")
    within = free_rate if free else Limit(8, 34_359_738_360, "bit/s")
    return _option(p.rate, default, place, within, **more)


def fraction(value: Any) -> str:
    """A percentage as tc takes it."""
    return f"{value / 100:g}"


def share(
    default: Any, place: Place, within: Limit, text: Callable[[Any], str] = fraction, **more: Any
) -> Any:
    """A percentage."""
    return _option(p.percent, default, place, within, text=text, **more)


def probability(default: Any, at: At, offset: int = 0) -> Any:
    """RED's, in 32 bits."""
    within = Limit(0.01, 99.99, "%", ours="tc says 100 % as 2^32, of which 32 bits are 0")
    return share(default, Place(at, "%", offset=offset, scale=100 / 2**32, grain=1e-7), within)


def flag(
    default: bool | None, at: At | None, form: str = "I", *, on: str | None = None, off: str = "",
    offset: int = 0, bit: int | None = None, doc: str = "",
) -> Any:  # fmt: skip
    """A switch: the bare words for on (its own name) and off (none), and its bit where several share one."""
    place = _place(at, form=form, offset=offset, mask=bit)
    return _option(p.flag, default, place, None, doc=doc, bare={True: on, False: off})


def ecn(default: bool, at: At) -> Any:
    """Marks in place of drops."""
    return flag(default, at, off="noecn")


def word(
    default: Any, at: At, words: Sequence[str], form: str = "I", said: Mapping[str, str] | None = None
) -> Any:
    """One of some words, kept by their numbers; `said`: what tc calls each."""
    place = Place(at, form=form, words=dict(enumerate(words)))
    bare = {each: each for each in words} if said is None else said
    return _option(p.choice(*words), default, place, None, bare=bare)
