"""A standard as data: the scenes that are run, and the criteria that are judged of them.

A criterion is a claim (`narrows.judging`): which runs, what is measured, its marks. What is new is who is
tried: every scene is made of a contestant and, unless it is `alone`, of CUBIC and Reno, along the axis `cca`
with the labels `tried`, `cubic` and `reno`. Marks are of the contestant, and held against a limit of the text
(`limit`), or against the worse of both baselines in the same scene (`beside`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, NamedTuple

from narrows.judging import words
from narrows.judging.items import Item, Read, grouped
from narrows.judging.judge import Group, Judge, Measure, Numbers
from narrows.judging.marks import Mark
from narrows.judging.verdict import Claim, Number, Verdict, Where, fits, plain_of
from narrows.runs.observed import Observed
from narrows.spec.axis import axis
from narrows.spec.link import Link
from narrows.spec.observe import machine, tap
from narrows.standards.contestant import Contestant

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
    """Whom a scene is made of; `full`: all conditions are asked for, and not a quick part."""

    tried: Contestant
    alone: bool = False
    full: bool = False

    @property
    def all(self) -> Mapping[str, Contestant]:
        """By label. A contestant stands for a baseline that it is (`session.with_baselines`)."""
        others = () if self.alone else BASELINES
        return {TRIED: self.tried} | {
            each: Contestant(each, each) for each in others if each != self.tried.kernel_cca
        }

    def flow(
        self, tried: Mapping[str, Any] | None = None, others: Mapping[str, Any] | None = None, **options: Any
    ) -> Any:
        """An item of each; `tried` and `others` are options of the contestant and of the baselines alone."""
        own = {label: (tried if label == TRIED else others) or {} for label in self.all}
        return axis(AXIS, {label: one.item(**options, **own[label]) for label, one in self.all.items()})

    def flows(self, count: int, every: float = 0.0, **options: Any) -> list[Any]:
        """Several, one `every` so many seconds."""
        return [self.flow(start=f"{n * every:g} s", **options) for n in range(count)]

    def labels(self, name: str, quick: Mapping[str, Any], more: Mapping[str, Any]) -> Any:
        """An axis with more labels where all conditions are asked for."""
        return axis(name, {**quick, **more} if self.full else quick)


@dataclass(frozen=True)
class Scene:
    """A small experiment, made of whom it is asked of; `tcp`: only a TCP sender can be asked."""

    name: str
    question: str
    parts: Callable[[Who], Mapping[str, Any]]
    alone: bool = False
    tcp: bool = False

    def of(self, tried: Contestant, full: bool) -> Mapping[str, Any]:
        """What an experiment file would hold; a contestant's module is loaded in its own runs only."""
        who = Who(tried, self.alone, full)
        made: dict[str, Any] = {**self.parts(who), "recorded": tap(detail="summary")}
        both = [tried.queue_module] if tried.queue_module else []
        if tried.module or both:
            own = {label: [*both, *([one.module] if one.module else [])] for label, one in who.all.items()}
            made["loaded"] = machine(modules=axis(AXIS, own))
        return made


Made = Mapping[str, Any]
"""Options; one that is a function is made of whom the scene is made of."""


def made_of(who: Who, options: Made) -> dict[str, Any]:
    """The options themselves."""
    return {name: value(who) if callable(value) else value for name, value in options.items()}


def one(
    name: str, question: str, seconds: int, at: Mapping[str, Made] | None = None, *, flow: Made | None = None,
    alone: bool = True, **link: Any,
) -> Scene:  # fmt: skip
    """The scene of one flow on a link that may change."""

    def parts(who: Who) -> Mapping[str, Any]:
        path = Link(**made_of(who, link))
        for time, changes in (at or {}).items():
            path.at(time, **made_of(who, changes))
        return {"link": path, "flow": who.flow(duration=f"{seconds} s", **(flow or {}))}

    return Scene(name, question, parts, alone)


@dataclass(frozen=True)
class Criterion(Judge):
    """What a document asks for, and how it is measured; `source` is its section."""

    def groups(self, runs: Iterable[Observed]) -> Sequence[Group]:
        """The good runs of the scene, by condition; a run may stand for the contestant and a baseline."""
        own = (run for run in runs if run.ok and run.experiment == self.experiment)
        return grouped(
            [Item(run, run.key, (run.run_id,), run.run_id) for run in own if fits(run.key, self.where)],
            self.by,
        )


@dataclass(frozen=True)
class Said:
    """A criterion that no run decides, and why."""

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


def of_baselines(name: str, less_is_better: bool) -> Callable[[Numbers], Iterator[Number]]:
    """Derives, at each condition of the contestant, the worse of what both baselines show there, with the
    range of all that they show."""

    def made(found: Numbers) -> Iterator[Number]:
        own = [each for each in found if each.name == name]
        for each in own:
            if each.conditions.get(AXIS) != TRIED:
                continue
            there = ({**each.conditions, AXIS: label} for label in BASELINES)
            others = [other for at in there for other in own if other.conditions == at]
            if others:
                worst = (max if less_is_better else min)(others, key=lambda one: one.value)
                low = min(one.value if one.low is None else one.low for one in others)
                high = max(one.value if one.high is None else one.high for one in others)
                yield replace(worst, name=name + OF_BASELINES, conditions=each.conditions, low=low, high=high)

    return made


class Limit(NamedTuple):
    """What is measured, and its mark."""

    measure: Measure
    mark: Mark


def measured(name: str, unit: str, read: Read, where: Where | None = None) -> Measure:
    """A quantity of every condition; of the unit `%` a part of one."""
    percent = unit == "%"
    return Measure(name, "1" if percent else unit, read, where or {}, median, percent)


def limit(of: Measure, least: float = -inf, most: float = inf, of_name: str = "", **more: Any) -> Limit:
    """Between bounds of the text; `of_name`: of a number that is derived of it."""
    ends = (("at least", least), ("at most", most))
    told = " and ".join(
        f"{word} {words.value(end, of.unit, percent=of.percent)}" for word, end in ends if abs(end) != inf
    )
    return Limit(of, Mark(f"{of_name or of.name} {told}", of_name or of.name, least, most, **more))


def beside(
    of: Measure, least: float = -inf, most: float = inf, where: Where | None = None, floor: float = -inf
) -> Limit:
    """At least, or at most, so much of what the worse of CUBIC and Reno shows; `floor`: is fine anyway."""
    word, part = ("at least", least) if most == inf else ("at most", most)
    told = f"{of.name} {word} {part:g} times that of the worse of CUBIC and Reno"
    told += f", or {words.value(floor, of.unit, percent=of.percent)}" if floor != -inf else ""
    return Limit(of, Mark(told, of.name, least, most, where or {}, than=of.name + OF_BASELINES, floor=floor))


@dataclass(frozen=True)
class Criteria:
    """A way to write criteria one after the other."""

    made: list[Criterion | Said] = field(default_factory=list)

    def add(
        self, id: str, text: str, source: str, scene: str, *limits: Limit, by: tuple[str, ...] = (),
        derive: Callable[[Numbers], Iterable[Number]] | None = None, where: Where | None = None,
    ) -> None:  # fmt: skip
        """One that is measured: its marks are of the contestant."""
        marks = tuple(replace(each.mark, where={AXIS: TRIED, **each.mark.where}) for each in limits)

        def all_derived(found: Numbers) -> Iterator[Number]:
            yield from derive(found) if derive else ()
            for mark in {mark.of: mark for mark in marks if mark.than.endswith(OF_BASELINES)}.values():
                yield from of_baselines(mark.of, mark.least == -inf)(found)

        measures = tuple({each.measure.name: each.measure for each in limits}.values())
        self.made.append(
            Criterion(
                id,
                text,
                source,
                scene,
                (AXIS, *by),
                measures,
                marks,
                derive=all_derived,
                where=where or {},
                missing="no good run of its scene, or its sender does not tell what is read",
            )
        )

    def cannot(self, id: str, text: str, source: str, why: str) -> None:
        """One that is not measured here."""
        self.made.append(Said(id, text, source, why))
