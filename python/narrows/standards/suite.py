"""A standard as data: the scenes that are run, and the criteria that are judged of them.

A criterion is a claim (`narrows.judging`): which runs, what is measured, its marks. What is new is who is
tried: every scene is made of a contestant and, unless it is `alone`, of CUBIC and Reno beside it, along the
axis `cca` with the labels `tried`, `cubic` and `reno`. A mark is of the contestant alone. It is held against
a limit of the text, or against the worse of both baselines (`against_baselines`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, NamedTuple

from narrows.judging.items import Item, grouped
from narrows.judging.judge import Group, Judge, Measure, Numbers
from narrows.judging.marks import Condition, Mark
from narrows.judging.verdict import Claim, Number, Verdict, fits, plain_of
from narrows.runs.observed import Observed
from narrows.standards.contestant import Contestant
from narrows.spec.axis import axis
from narrows.spec.observe import machine, tap

AXIS, TRIED = "cca", "tried"
BASELINES = ("cubic", "reno")
OF_BASELINES = " of the baselines"


class _Range(NamedTuple):
    low: float
    high: float


median = plain_of("median", interval=lambda x: _Range(float(x.min()), float(x.max())) if x.size > 1 else None)
"""The median over the seeds, and between which values they lie."""


@dataclass(frozen=True)
class Who:
    """Whom a scene is made of."""

    tried: Contestant
    alone: bool = False
    full: bool = False
    """Whether all conditions are asked for, and not a quick part."""

    @property
    def all(self) -> Mapping[str, Contestant]:
        """By label. The contestant itself stands for a baseline that it is (`session.with_baselines`)."""
        others = () if self.alone else BASELINES
        known = {each: Contestant(each, each) for each in others if each != self.tried.kernel_cca}
        return {TRIED: self.tried} | known

    def flow(
        self, tried: Mapping[str, Any] | None = None, others: Mapping[str, Any] | None = None, **options: Any
    ) -> Any:
        """An item of each; `tried` and `others` are options of the contestant and of the baselines alone."""
        own = {label: (tried if label == TRIED else others) or {} for label in self.all}
        return axis(AXIS, {label: one.item(**options, **own[label]) for label, one in self.all.items()})

    def only(self, item: Any) -> Any:
        """An item that is the contestant's alone, in a scene that is."""
        return axis(AXIS, {TRIED: item})

    def flows(self, count: int, every: float = 0.0, **options: Any) -> list[Any]:
        """Several, one `every` so many seconds."""
        return [self.flow(start=f"{n * every:g} s", **options) for n in range(count)]

    def pick(self, quick: Mapping[str, Any], more: Mapping[str, Any]) -> Mapping[str, Any]:
        """By label: more of them where all conditions are asked for."""
        return {**quick, **more} if self.full else quick

    def labels(self, name: str, quick: Mapping[str, Any], more: Mapping[str, Any]) -> Any:
        """The same as an axis."""
        return axis(name, self.pick(quick, more))


@dataclass(frozen=True)
class Scene:
    """A small experiment, made of whom it is asked of."""

    name: str
    question: str
    parts: Callable[[Who], Mapping[str, Any]]
    alone: bool = False
    tcp: bool = False
    """Whether only a TCP sender can be asked."""

    def of(self, tried: Contestant, full: bool) -> Mapping[str, Any]:
        """What an experiment file would hold; a module is loaded for the contestant's own runs only."""
        who = Who(tried, self.alone, full)
        made = dict(self.parts(who))
        made["recorded"] = tap("summary")
        both = [tried.queue_module] if tried.queue_module else []
        if tried.module or both:
            own = {label: [*both, *([one.module] if one.module else [])] for label, one in who.all.items()}
            made["loaded"] = machine(modules=axis(AXIS, own))
        return made


@dataclass(frozen=True)
class Criterion(Judge):
    """What a document asks for, and how it is measured; `source` is its section."""

    judged: bool = True
    """Otherwise the text leaves it to judgement: its numbers are shown."""

    def groups(self, runs: Iterable[Observed]) -> Sequence[Group]:
        """The good runs of the scene, by condition; a run may stand for the contestant and a baseline."""
        items = [
            Item(run, run.key, (run.run_id,), run.run_id)
            for run in runs
            if run.ok and run.experiment == self.experiment and fits(run.key, self.where)
        ]
        return grouped(items, self.by)

    def finished(self, verdict: Verdict, groups: Sequence[Group]) -> Verdict:
        """Not judged what the text leaves to judgement; numbers that only a mark is held against are kept."""
        return verdict if self.judged else replace(verdict, verdict="not judged")


@dataclass(frozen=True)
class Said:
    """A criterion without runs: one that cannot be measured here, or is no matter of measuring."""

    id: str
    text: str
    source: str
    why: str

    @property
    def claim(self) -> Claim:
        """As verdicts carry it."""
        return Claim(self.id, self.text, self.source, "")

    def __call__(self, runs: Iterable[Observed]) -> Verdict:
        return Verdict(self.claim, "not testable here", self.why)


@dataclass(frozen=True)
class Suite:
    """A document's criteria, in its order, and the scenes that they are judged of."""

    name: str
    title: str
    document: str
    scenes: Sequence[Scene]
    criteria: Sequence[Criterion | Said]
    cca: str = ""
    """The contestant where none is named; empty: one must be."""


def of_baselines(*names: str, less_is_better: bool = True) -> Callable[[Numbers], Iterator[Number]]:
    """Derives, at each condition of the contestant, the worse of what both baselines show there, with the
    range of all that they show."""

    def made(found: Numbers) -> Iterator[Number]:
        for each in found:
            if each.name not in names or each.conditions.get(AXIS) != TRIED:
                continue
            others = [
                one
                for one in found
                if one.name == each.name
                and one.conditions.get(AXIS) in BASELINES
                and {**one.conditions, AXIS: TRIED} == each.conditions
            ]
            if others:
                worst = (max if less_is_better else min)(others, key=lambda one: one.value)
                low = min(one.value if one.low is None else one.low for one in others)
                high = max(one.value if one.high is None else one.high for one in others)
                yield replace(
                    worst, name=each.name + OF_BASELINES, conditions=each.conditions, low=low, high=high
                )

    return made


def against_baselines(
    measure: Measure, words: str, *, least: float | None = None, most: float | None = None,
    floor: float | None = None, where: Condition | None = None,
) -> Mark:  # fmt: skip
    """A mark held against the worse of the baselines; bounds are parts of what that shows."""
    bounds = {"least": least, "most": most, "floor": floor}
    given = {name: value for name, value in bounds.items() if value is not None}
    return Mark(words, measure.name, than=measure.name + OF_BASELINES, where=tried(where), **given)


def tried(where: Condition | None = None) -> Mapping[str, Any]:
    """Of the contestant alone."""
    return {AXIS: TRIED, **(where or {})}


@dataclass(frozen=True)
class Criteria:
    """A way to write criteria one after the other."""

    made: list[Criterion | Said] = field(default_factory=list)

    def add(
        self, id: str, text: str, source: str, scene: str, measures: Sequence[Measure],
        marks: Sequence[Mark], by: Sequence[str] = (), **more: Any,
    ) -> None:  # fmt: skip
        """One that is measured; its marks are of the contestant, and those against baselines find them."""
        own = more.pop("derive", None)

        def derive(found: Numbers) -> list[Number]:
            made = list(own(found)) if own else []
            for mark in marks:
                if mark.than.endswith(OF_BASELINES):
                    worse = of_baselines(mark.of, less_is_better=mark.least == -inf)
                    made += [one for one in worse([*found, *made]) if one not in made]
            return made

        of_tried = tuple(replace(mark, where=tried(mark.where)) for mark in marks)
        self.made.append(
            Criterion(id, text, source, scene, (AXIS, *by), tuple(measures), of_tried, derive=derive, **more)
        )

    def cannot(self, id: str, text: str, source: str, why: str) -> None:
        """One that is not measured here, and why."""
        self.made.append(Said(id, text, source, why))
