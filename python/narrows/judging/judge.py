"""The one judge: it measures every condition of a claim and holds the numbers against the claim's marks.

A claim with a judgement of its own says it as a function from numbers to numbers (`derive`), whose results
are marked like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Literal

from narrows.judging import words
from narrows.judging.items import Item, Items, Read, good, grouped, of_runs
from narrows.judging.verdict import (
    Claim,
    Number,
    Statistic,
    Verdict,
    Where,
    fits,
    graded,
    median_of,
    not_measured,
)
from narrows.runs.observed import Observed

Condition = Mapping[str, str]
Numbers = Sequence[Number]
Key = tuple[tuple[str, str], ...]
Marks = dict[Key, bool]
"""By condition whether it passes."""


@dataclass(frozen=True)
class Measure:
    """A quantity of every condition: how it is read of one item, and what is taken of all of a condition."""

    name: str
    unit: str
    read: Read
    where: Where = field(default_factory=dict)
    """The conditions in which there is such a quantity."""
    take: Statistic = median_of
    percent: bool = False
    least_n: int = 1
    """Values that make a number."""


Share = partial(Measure, unit="1", percent=True)
"""A measure that people read in per cent."""


@dataclass(frozen=True)
class Mark:
    """Between which bounds the number of each condition passes; never moved to make a claim hold."""

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

    def passes(self, number: Number, other: Number) -> bool:
        """`other` is what it is held against."""
        value = abs(number.value) if self.size else number.value
        least, most = self.least, self.most
        if self.apart:
            value -= other.value
        elif self.than or self.against is not None:
            least, most = (one if abs(one) == inf else one * other.value for one in (least, most))
        most = max(most, self.floor)
        return least < value < most if self.strict else least <= value <= most


@dataclass(frozen=True)
class Judge:
    """A claim as data; called with runs it is the verdict."""

    claim: Claim
    by: tuple[str, ...]
    """The axes whose labels make a condition."""
    measures: tuple[Measure, ...]
    marks: tuple[Mark, ...]
    items: Items | None = None
    """What is measured; None: the good runs of the claim's experiment."""
    where: Where = field(default_factory=dict)
    """The items that are meant."""
    derive: Callable[[Numbers], Iterable[Number]] | None = None
    """More numbers, of those that were measured."""
    hidden: tuple[str, ...] = ()
    """The quantities that only marks need."""
    shows: Callable[[Numbers], Numbers] | None = None
    """Which of the others the verdict has; None: all."""
    under: str | Callable[[Sequence[Item]], str] = ""
    """What all conditions have in common, in words."""
    together: str = ""
    """The axis along which all numbers must pass for one mark."""
    count_by: str = ""
    """The axis by whose labels the reason counts."""
    rests: Literal["chosen", "measured", "marked", "shown"] = "chosen"
    """The runs that it rests on: all that are meant, or those of conditions with a number, with one that is
    marked, or with one that the verdict has."""
    cause: Callable[[Sequence[Item], Numbers], str] | None = None
    missing: str = "no run that decides it"

    def __call__(self, runs: Iterable[Observed]) -> Verdict:
        groups = self.groups(runs)
        measured, gone = self._measured(groups)
        numbers = [*measured, *(self.derive(measured) if self.derive else ())]
        made = [(mark, self._marked(mark, numbers, gone)) for mark in self.marks]
        unknown = dict.fromkeys(key for _, (_, unknown) in made for key in unknown)
        left = [words.conditions(dict(key)) for key in unknown]
        passed = [mark for _, (marked, _) in made for mark in marked.values()]
        if not passed:
            return not_measured(self.claim, self.missing + (f" (not {words.some(left)})" if left else ""))
        reason = self._reason(made) + (f"; not to be judged: {words.some(left)}" if left else "")
        shown: Numbers = [number for number in numbers if number.name not in self.hidden]
        shown = self.shows(shown) if self.shows else shown
        rests = list(self._rest_on(groups, shown if self.rests == "shown" else measured))
        return self.finished(
            Verdict(
                self.claim,
                graded(passed),
                reason,
                tuple(shown),
                self.under if isinstance(self.under, str) else self.under(rests),
                tuple(sorted({run_id for item in rests for run_id in item.run_ids})),
                self.cause(rests, numbers) if self.cause else "",
            ),
            groups,
        )

    def finished(self, verdict: Verdict, groups: Sequence[tuple[Condition, list[Item]]]) -> Verdict:
        """What a study of one kind has to say of every verdict."""
        return verdict

    def groups(self, runs: Iterable[Observed]) -> Sequence[tuple[Condition, list[Item]]]:
        """What is meant, by condition."""
        every = list(runs)
        items = of_runs(good(every, self.claim.name)) if self.items is None else self.items(every)
        return grouped((item for item in items if fits(item.key, self.where)), self.by)

    def _measured(
        self, groups: Sequence[tuple[Condition, list[Item]]]
    ) -> tuple[list[Number], list[tuple[str, Condition]]]:
        """The numbers of all conditions, and which were not to be had."""
        numbers, gone = [], []
        for condition, items in groups:
            for one in self.measures:
                if not fits(condition, one.where):
                    continue
                values = [value for item in items if (value := one.read(item.of)) is not None]
                made = one.take(one.name, one.unit, values, condition, one.percent)
                if made is None or made.n < one.least_n:
                    gone.append((one.name, condition))
                else:
                    numbers.append(made)
        return numbers, gone

    def _of(self, mark: Mark) -> str:
        return mark.of or self.measures[0].name

    def _marked(
        self, mark: Mark, numbers: Numbers, gone: Sequence[tuple[str, Condition]]
    ) -> tuple[Marks, list[Key]]:
        """Of every condition whether it passes, and which conditions nothing is known of."""
        of, known = self._of(mark), {_place(each.name, each.conditions): each for each in numbers}
        found: dict[Key, list[bool]] = {}
        for number in numbers:
            if number.name == of and fits(number.conditions, mark.where):
                other = known.get(_other(mark, number))
                beside = _place(number.name, {**number.conditions, **(mark.beside or {})})
                if other is not None and beside in known:
                    found.setdefault(self._key(number.conditions), []).append(mark.passes(number, other))
        unknown = {self._key(each) for name, each in gone if name == of and fits(each, mark.where)}
        marked = {key: all(some) for key, some in found.items() if key not in unknown or not all(some)}
        return marked, sorted(unknown - marked.keys())

    def _key(self, condition: Condition) -> Key:
        return tuple((axis, label) for axis, label in condition.items() if axis != self.together)

    def _reason(self, made: Sequence[tuple[Mark, tuple[Marks, list[Key]]]]) -> str:
        """How many pass each mark, and which do not."""
        told: dict[str, Marks] = {}
        for mark, (marked, _) in made:
            if marked:
                told.setdefault(mark.words, {}).update(marked)
        return "; ".join(f"{text}: {self._counted(marks)}" for text, marks in told.items())

    def _counted(self, marks: Marks) -> str:
        if self.count_by:
            by: dict[str, list[bool]] = {}
            for key, mark in marks.items():
                by.setdefault(dict(key).get(self.count_by, ""), []).append(mark)
            return ", ".join(f"{label} {sum(some)} of {len(some)}" for label, some in by.items())
        if len(marks) == 1:
            ((key, mark),) = marks.items()
            place = words.conditions(dict(key))
            return ("yes" if mark else "no") + (f" ({place})" if place else "")
        return words.counted({words.conditions(dict(key)): mark for key, mark in marks.items()})

    def _rest_on(self, groups: Sequence[tuple[Condition, list[Item]]], numbers: Numbers) -> Iterable[Item]:
        for condition, items in groups:
            own = [each for each in numbers if each.conditions == condition]
            if self.rests == "chosen" or (own and (self.rests != "marked" or self._decides(own, numbers))):
                yield from items

    def _decides(self, own: Numbers, numbers: Numbers) -> bool:
        known = {_place(each.name, each.conditions) for each in numbers}
        return any(
            each.name == self._of(mark) and fits(each.conditions, mark.where) and _other(mark, each) in known
            for mark in self.marks
            for each in own
        )


Place = tuple[str, frozenset[tuple[str, str]]]


def _place(name: str, condition: Condition) -> Place:
    return name, frozenset(condition.items())


def _other(mark: Mark, number: Number) -> Place:
    """What a number is held against: itself, where the mark says nothing else."""
    return _place(mark.than or number.name, {**number.conditions, **(mark.against or {})})


def one(numbers: Iterable[Number], name: str, **labels: str) -> Number | None:
    """The number of that name at these labels; None if there is none."""
    return next(iter(all_of(numbers, name, **labels)), None)


def all_of(numbers: Iterable[Number], name: str, **labels: str) -> list[Number]:
    """All numbers of that name at these labels."""
    return [each for each in numbers if each.name == name and fits(each.conditions, labels)]
