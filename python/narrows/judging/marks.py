"""Pass marks: between which bounds numbers pass, and which conditions do."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf

from narrows.judging.verdict import Number, Where, fits

Condition = Mapping[str, str]
Numbers = Sequence[Number]
Place = tuple[str, frozenset[tuple[str, str]]]
Key = tuple[tuple[str, str], ...]
Marks = dict[Key, bool]
"""Whether each condition passes."""
Told = dict[str, Marks]
"""The conditions of each mark, by the mark's words."""


@dataclass(frozen=True)
class Mark:
    """Between which bounds the number of each condition passes; never moved to make a claim hold.

    Marks of the same words are one: a condition must pass all of them. One without bounds asks only that
    there is a number.
    """

    words: str
    of: str = ""
    """The quantity; empty: the claim's first measure."""
    least: float = -inf
    most: float = inf
    where: Where = field(default_factory=dict)
    """The conditions that are marked."""
    against: Condition | None = None
    """Hold it against the number of the same condition but for these labels: the bounds are parts of that."""
    beside: Condition | None = None
    """Only where the same condition but for these labels was measured too."""
    than: str = ""
    """Hold it against this quantity."""
    apart: bool = False
    """The bounds are differences from what it is held against."""
    size: bool = False
    """Whether its size counts and not its sign."""
    floor: float = -inf
    """The upper bound is at least this, whatever it is held against."""
    strict: bool = False
    """Whether a bound itself does not pass."""
    each: bool = False
    """Mark every run and not what is taken of them."""
    sure: bool = False
    """Mark the whole interval: where only a part of it is between the bounds, nothing is known."""

    def passes(self, number: Number, other: Number) -> bool:
        """Whether the value does; `other` is what it is held against."""
        return self._passes(number.value, other)

    def known(self, number: Number, other: Number) -> bool | None:
        """The same of a mark of the whole interval too; None where the interval leaves it open."""
        if not self.sure:
            return self.passes(number, other)
        if number.low is None or number.high is None:
            return None
        ends = {self._passes(end, other) for end in (number.low, number.high, number.value)}
        return None if len(ends) > 1 else ends.pop()

    def _passes(self, value: float, other: Number) -> bool:
        value = abs(value) if self.size else value
        least, most = self.least, self.most
        if self.apart:
            value -= other.value
        elif self.than or self.against is not None:
            least, most = (one if abs(one) == inf else one * other.value for one in (least, most))
        most = max(most, self.floor)
        return least < value < most if self.strict else least <= value <= most

    def other(self, number: Number) -> Place:
        """What a number is held against: itself, where the mark says nothing else."""
        return place(self.than or number.name, {**number.conditions, **(self.against or {})})

    def wants(self, number: Number) -> bool:
        return number.name == self.of and fits(number.conditions, self.where)


@dataclass(frozen=True)
class Marking:
    """All marks of a claim, and which conditions belong together."""

    marks: Sequence[Mark]
    together: str = ""
    """The axis along which all numbers must pass for one mark."""
    whole: tuple[str, ...] | None = None
    """The axes whose labels make a case (`Judge.whole`)."""

    def told(
        self, numbers: Numbers, singly: Numbers, gone: Iterable[tuple[str, Condition]]
    ) -> tuple[Told, list[Key]]:
        """The conditions of each mark, and those of which nothing is known; `singly` are the numbers of each
        run, `gone` those that were not to be had. A mark that was tried and has no number at all fails."""
        told: Told = {}
        lost: dict[str, set[Key]] = {}
        absent = list(gone)
        for mark in self.marks:
            marked, unknown = self._marked(mark, singly if mark.each else numbers, absent)
            known = told.setdefault(mark.words, {})
            known |= {key: known.get(key, True) and passes for key, passes in marked.items()}
            lost.setdefault(mark.words, set()).update(unknown)
        for text, unknown in lost.items():
            # What fails has failed, whatever else is not known.
            told[text] = {
                key: passes for key, passes in told[text].items() if key not in unknown or not passes
            }
            lost[text] = unknown - told[text].keys()
        for text, partly in self._partly_known(told).items():
            told[text] = {key: passes for key, passes in told[text].items() if key not in partly}
            lost[text] |= partly
        if any(told.values()):
            told |= {text: {(): False} for text, unknown in lost.items() if unknown and not told[text]}
        return {text: marks for text, marks in told.items() if marks}, sorted(set().union(*lost.values()))

    def _marked(
        self, mark: Mark, numbers: Numbers, gone: Sequence[tuple[str, Condition]]
    ) -> tuple[Marks, set[Key]]:
        """Whether each condition passes a mark, and which conditions lack a number for it."""
        known = {place(each.name, each.conditions): each for each in numbers}
        absent = {place(*each) for each in gone}
        found: dict[Key, list[bool]] = {}
        lost = {self._key(under) for name, under in gone if name == mark.of and fits(under, mark.where)}
        for number in filter(mark.wants, numbers):
            other = mark.other(number)
            beside = place(number.name, {**number.conditions, **(mark.beside or {})})
            passes = mark.known(number, known[other]) if other in known and beside in known else None
            if passes is not None:
                found.setdefault(self._key(number.conditions), []).append(passes)
            elif mark.sure or {other, beside} & absent:
                lost.add(self._key(number.conditions))
        return {key: all(some) for key, some in found.items()}, lost

    def _key(self, condition: Condition) -> Key:
        return tuple((axis, label) for axis, label in condition.items() if axis != self.together)

    def _partly_known(self, told: Told) -> dict[str, set[Key]]:
        """The conditions of each mark that belong to a case of which some mark is not known."""
        if self.whole is None:
            return {}
        cases = {text: {key: self._case(key) for key in marks} for text, marks in told.items()}
        every = {case for keys in cases.values() for case in keys.values() if case is not None}
        partly = {
            c for c in every if not all(self._is_known(mark, c, told[mark.words]) for mark in self.marks)
        }
        return {text: {key for key, case in keys.items() if case in partly} for text, keys in cases.items()}

    def _case(self, key: Key) -> Key | None:
        """The case that a condition belongs to; None where it lacks an axis of cases."""
        labels, axes = dict(key), self.whole or ()
        return tuple((axis, labels[axis]) for axis in axes) if labels.keys() >= set(axes) else None

    def _is_known(self, mark: Mark, case: Key, marks: Marks) -> bool:
        """Whether a mark is known in a case under all labels that it names, or is of other cases."""
        here = dict(case)
        if not fits(here, {axis: asked for axis, asked in mark.where.items() if axis in here}):
            return True
        named = {
            axis: asked if isinstance(asked, tuple) else (asked,)
            for axis, asked in mark.where.items()
            if asked and axis not in here and axis != self.together
        }
        return all(
            any(fits(dict(key), {**here, **dict(zip(named, labels, strict=True))}) for key in marks)
            for labels in product(*named.values())
        )


def place(name: str, condition: Condition) -> Place:
    """Where a number stands: its name and its labels."""
    return name, frozenset(condition.items())
