"""The one judge: it measures every condition of a claim and holds the numbers against the claim's marks.

A claim with a judgement of its own says it as a function from numbers to numbers (`derive`), whose results
are marked like any other.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from narrows.judging import words
from narrows.judging.items import Item, Items, Read, good, grouped, of_runs
from narrows.judging.marks import Condition, Mark, Marking, Marks, Numbers, place
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
from narrows.spec.axis import SEED

__all__ = ["Condition", "Judge", "Mark", "Measure", "Numbers", "Share", "Words", "all_of", "fold", "one"]

Words = tuple[str, str, str, str]
"""A claim's id, its text, its source and its experiment's file."""
Group = tuple[Condition, list[Item]]
"""A condition, and what was measured under it."""


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
class Judge:
    """A claim as data; called with runs it is the verdict."""

    id: str
    text: str
    source: str
    experiment: str
    """The claim, as `Claim` has it."""
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
    whole: tuple[str, ...] | None = None
    """The axes whose labels make a case: it is judged where all of its marks are known, under every label
    that they name. Empty: all conditions are one case. None: each condition is judged for itself."""
    count_by: str = ""
    """The axis by whose labels the reason counts."""
    rests: Literal["chosen", "measured", "marked", "shown"] = "chosen"
    """The runs that it rests on: all that are meant, or those of conditions with a number, with one that is
    marked, or with one that the verdict has."""
    cause: Callable[[Sequence[Item], Numbers], str] | None = None
    missing: str = "no run that decides it"
    decided_by: Where = field(default_factory=dict)
    """Those numbers that the ledger's row shows, by `quantity` and axis; empty: all may be."""
    besides: tuple[str, ...] = ()
    """Other experiments of the study that it needs runs of, by name."""

    @property
    def claim(self) -> Claim:
        """The claim as verdicts carry it."""
        return Claim(self.id, self.text, self.source, self.experiment, self.decided_by)

    def __call__(self, runs: Iterable[Observed]) -> Verdict:
        groups = self.groups(runs)
        measured, gone = self._measured(groups)
        numbers = [*measured, *(self.derive(measured) if self.derive else ())]
        marking = Marking(self._marks(), self.together, self.whole)
        told, unknown = marking.told(numbers, self._singly(groups), gone)
        passed = [mark for marks in told.values() for mark in marks.values()]
        left = words.some([words.conditions(dict(key)) for key in unknown])
        if not passed:
            return not_measured(self.claim, self.missing + (f" (not {left})" if left else ""))
        reason = "; ".join(f"{text}: {self._counted(marks)}" for text, marks in told.items())
        reason += f"; not to be judged: {left}" if left else ""
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

    def finished(self, verdict: Verdict, groups: Sequence[Group]) -> Verdict:
        """What a study of one kind has to say of every verdict."""
        return verdict

    def groups(self, runs: Iterable[Observed]) -> Sequence[Group]:
        """What is meant, by condition."""
        every = list(runs)
        items = of_runs(good(every, self.claim.name)) if self.items is None else self.items(every)
        return grouped((item for item in items if fits(item.key, self.where)), self.by)

    def _measured(self, groups: Sequence[Group]) -> tuple[list[Number], list[tuple[str, Condition]]]:
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
                    numbers.append(replace(made, n=made.n * items[0].n) if len(items) == 1 else made)
        return numbers, gone

    def _marks(self) -> list[Mark]:
        """The marks, each with the quantity that it is of."""
        return [replace(mark, of=mark.of or self.measures[0].name) for mark in self.marks]

    def _singly(self, groups: Sequence[Group]) -> list[Number]:
        """The numbers of each run for itself, for marks of each."""
        named = {mark.of for mark in self._marks() if mark.each}
        return [
            Number(of.name, of.unit, value, 1, {**condition, SEED: item.key.get(SEED, "")})
            for of in self.measures
            if of.name in named
            for condition, items in groups
            for item in items
            if (value := of.read(item.of)) is not None
        ]

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

    def _rest_on(self, groups: Sequence[Group], numbers: Numbers) -> Iterable[Item]:
        for condition, items in groups:
            own = [each for each in numbers if each.conditions == condition]
            if self.rests == "chosen" or (own and (self.rests != "marked" or self._decides(own, numbers))):
                yield from items

    def _decides(self, own: Numbers, numbers: Numbers) -> bool:
        known = {place(each.name, each.conditions) for each in numbers}
        return any(mark.wants(each) and mark.other(each) in known for mark in self._marks() for each in own)


def one(numbers: Iterable[Number], name: str, **labels: str | tuple[str, ...]) -> Number | None:
    """The number of that name at these labels; None if there is none."""
    return next(iter(all_of(numbers, name, **labels)), None)


def all_of(numbers: Iterable[Number], name: str, **labels: str | tuple[str, ...]) -> list[Number]:
    """All numbers of that name at these labels."""
    return [each for each in numbers if each.name == name and fits(each.conditions, labels)]


def fold(
    name: str, of: str, by: Sequence[str] = (), least: int = 2, **labels: str | tuple[str, ...]
) -> Callable[[Numbers], Iterator[Number]]:
    """Derives how many times the smallest the largest number of a quantity is, among those that are alike on
    some axes; nothing of fewer than `least`."""

    def made(found: Numbers) -> Iterator[Number]:
        alike: dict[tuple[tuple[str, str], ...], list[float]] = {}
        for each in all_of(found, of, **labels):
            alike.setdefault(tuple((axis, each.conditions[axis]) for axis in by), []).append(each.value)
        for under, values in alike.items():
            if len(values) >= least:
                yield Number(name, "1", max(values) / min(values), len(values), dict(under))

    return made
