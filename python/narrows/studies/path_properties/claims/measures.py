"""What most of the claims measure: how far an estimate is from the truth on each path, at each place."""

from dataclasses import replace
from functools import partial

from narrows.judging.parts import Judge, Mark, Measure, Read, Words, number, percent
from narrows.studies.path_properties.seen import SENDER, items

BULK = "CUBIC for 15 s, 20 Mbit/s"
AT_SENDER = {"place": SENDER}
OnPaths = partial(Judge, by=("path", "base_rtt", "place"), items=items())


def at_sender(of: Measure, near: float, what: str = "", unit: str = "") -> Mark:
    """Its median error at the sender is within `near` on each path."""
    text = percent(near) if of.percent else f"{near:g} {unit}".strip()
    return Mark(f"{what}at the sender within {text}", of.name, most=near, size=True, where=AT_SENDER)


def within(*claim: *Words, error: Measure, truth: Measure, near: float, floor: float, words: str) -> Judge:
    """An estimate is right within `near` of the truth, relative to it, or within `floor` of its unit."""
    least = percent(floor) if error.percent else f"{number(floor)} {error.unit}"
    mark = replace(
        at_sender(error, near), than=truth.name, floor=floor,
        words=f"at the sender within {percent(near)} or {least}",
    )  # fmt: skip
    return OnPaths(
        *claim,
        measures=(error, replace(truth, where=AT_SENDER)),
        marks=(mark,),
        under=f"{BULK}; truth: {words}",
        decided_by=AT_SENDER,
    )


def column(name: str, per: float = 1.0) -> Read:
    """What a capture says, in so many of its unit."""

    def read(one: object) -> float | None:
        value = one.value(name)  # type: ignore[attr-defined]
        return None if value is None else float(value) / per

    return read
