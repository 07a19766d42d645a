"""The answer of an experiment in a few sentences: who got what, in plain words.

A sentence for each item that shared the link (`fared`); then for throughput, latency under load and RPM, and
of many flows for the use of the link and fairness, if they were measured. Those name all conditions where
there are few, else the best, the worst and the axis that separates them most. It only words what
`narrows.comparing.outcome` found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from narrows.comparing.of_link import FAIRNESS, LATENCY, OWN_LATENCY, RPM, THROUGHPUT, USED
from narrows.comparing.outcome import ALIKE, OF_DONE, WHOLE, Key, Measure, Outcome, outcome, separating
from narrows.comparing.words import condition_name, join, number, of_older, with_interval
from narrows.report import fared
from narrows.report.got import ItemTable, tables
from narrows.runs import loaded
from narrows.runs.observed import Observed, label
from narrows.spec.pairs import PAIR
from narrows.tools.reading import MORE

MOST_NAMED = 3
"""Conditions that a sentence can name one by one."""
SEPARATES = 0.33
"""An axis whose labels lie less far apart, as a share of what lies between the best and the worst condition,
is not said to separate them."""
FOR_AN_INTERVAL = 6
_DURING = {"down": "during the download", "up": "during the upload", WHOLE: "under load"}
_WAY = {"down": "download ", "up": "upload ", WHOLE: ""}
_BEST = {True: "was highest", False: "was shortest"}
_WORST = {True: "lowest", False: "longest"}
"""By whether more of it is better."""


@dataclass(frozen=True)
class Answer:
    """The sentences, what one must know to read their numbers, and all numbers of the items."""

    sentences: tuple[str, ...]
    note: str
    tables: tuple[ItemTable, ...] = ()

    @property
    def brief(self) -> str:
        """Of the note how many runs a number is of."""
        return f"{self.note.partition(';')[0].removesuffix('.')}."


def answer(found: Sequence[Observed] | Outcome) -> Answer | None:
    """What came out, in words; None where no run loaded a link."""
    every = found if isinstance(found, Outcome) else outcome(found)
    if every is None:
        return None
    of_items = fared.sentences(every) if every.items else []
    few = len(every.keys) <= MOST_NAMED
    names = dict.fromkeys(measure.figure for measure in every.link)
    of_link = [(_all if few else _ends)(every, [m for m in every.link if m.figure == name]) for name in names]
    tested = any(run.tested for run in every.runs)
    said = [*of_link, *of_items] if tested else [*of_items, *of_link]
    return Answer(tuple(said), _note(every), tables(every))


def _all(every: Outcome, measures: Sequence[Measure]) -> str:
    """Every condition with its number."""
    parts = []
    for measure in measures:
        told = [_of(every, measure, key) for key in every.keys if key in measure.values]
        parts.append(f"{_subject(measure)} {_verb(measure)} {join(told)}")
    return _sentence(parts)


def _of(every: Outcome, measure: Measure, key: Key) -> str:
    text = with_interval(measure.of(key), _unit(measure))
    return f"{text} with {condition_name(every.axes, key)}" if every.axes else text


def _ends(every: Outcome, measures: Sequence[Measure]) -> str:
    """The best and the worst condition, and what separates them."""
    parts, widest, separator = [], 0.0, ""
    for raw in measures:
        measure, unit = _comparable(every, raw)
        ordered = sorted(measure.values, key=measure.median)
        low, high = measure.median(ordered[0]), measure.median(ordered[-1])
        if high - low <= ALIKE * abs(high):
            span = " to ".join(dict.fromkeys((number(low), number(high))))
            same = f"much the same under all {len(ordered)} conditions ({span} {unit})"
            parts.append(f"{_subject(raw)} {_verb(raw)} {same}")
            continue
        more = measure.better == MORE
        best, worst = (ordered[-1], ordered[0]) if more else (ordered[0], ordered[-1])
        parts.append(
            f"{_subject(raw)} {_BEST[more]} with {condition_name(every.axes, best)} "
            f"({with_interval(measure.of(best), unit)}) and {_WORST[more]} with "
            f"{condition_name(every.axes, worst)} ({with_interval(measure.of(worst), unit)})"
        )
        axis = separating(measure, every.axes)[0]
        (least, lowest), (most, highest) = axis.medians[0], axis.medians[-1]
        share = axis.effect / (high - low)
        if share > max(widest, SEPARATES):
            widest = share
            short = (unit.split() or [""])[0]
            way = f", {_DURING[raw.direction]}" if len(measures) > 1 else ""
            separator = (
                f"what separates the conditions most is {axis.name} (median {number(least)} {short} with "
                f"{lowest}, {number(most)} {short} with {highest}{way})"
            )
    return _sentence([*parts, separator] if separator else parts)


def _comparable(every: Outcome, measure: Measure) -> tuple[Measure, str]:
    """The same without what the conditions set themselves: a share of the rate where rates differ, delay
    above the base RTT where base RTTs differ."""
    rates = {run.divided_bps(measure.direction) for run in every.runs}
    if measure.figure == THROUGHPUT and len(rates) > 1 and None not in rates:
        return _changed(every, measure, _percent), "% of what the link carries"
    if measure.unit == "ms" and len({run.link.base_rtt_ns for run in every.runs}) > 1:
        return _changed(every, measure, _above_base), "ms above the base RTT"
    return measure, _unit(measure)


def _changed(every: Outcome, measure: Measure, change: Callable[[Observed, str, float], float]) -> Measure:
    values: dict[Key, list[float]] = {}
    for n, value in sorted(measure.by_run.items()):
        key = tuple(label(every.runs[n], axis) for axis in every.axes)
        values.setdefault(key, []).append(change(every.runs[n], measure.direction, value))
    return replace(measure, values={key: tuple(some) for key, some in values.items()})


def _percent(run: Observed, direction: str, _mbps: float) -> float:
    used = loaded.used(run, direction)
    assert used is not None  # its rate and its link's are known
    return 100 * used


def _above_base(run: Observed, _direction: str, latency_ms: float) -> float:
    return latency_ms - run.link.base_rtt_ns / 1e6


def _subject(measure: Measure) -> str:
    during = _DURING[measure.direction]
    return {
        THROUGHPUT: f"{_WAY[measure.direction]}throughput",
        LATENCY: f"a round trip {during}",
        OWN_LATENCY: f"a round trip {during}",
        RPM: f"responsiveness {during}",
        USED: "the flows' use of the link",
        FAIRNESS: "fairness among flows (Jain's index)",
    }[measure.figure]


def _verb(measure: Measure) -> str:
    return "took" if measure.unit == "ms" else "was"


def _unit(measure: Measure) -> str:
    return "RPM" if measure.figure == RPM else "" if measure.unit == "1" else measure.unit


def _sentence(parts: Sequence[str]) -> str:
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _note(every: Outcome) -> str:
    """What one must know to read the numbers."""
    counts = sorted({len(some) for measure in every.measures for some in measure.values.values()})
    what = "valid trial" if any(PAIR in run.key for run in every.runs) else "run"
    ends = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    each = (
        f"Each number is of 1 {what}" if counts == [1] else f"Each number is the median of n = {ends} {what}s"
    )
    sure = (
        "with its 95 % interval in brackets"
        if counts[0] >= FOR_AN_INTERVAL
        else f"without a 95 % interval: that needs {FOR_AN_INTERVAL} runs of a condition"
        if counts[-1] < FOR_AN_INTERVAL
        else f"with its 95 % interval in brackets where there are {FOR_AN_INTERVAL} runs"
    )
    sources = [source for source in dict.fromkeys(measure.source for measure in every.measures) if source]
    if every.has_done:
        sources.append(OF_DONE)
    again = sum(len(group) - 1 for group in every.equal)
    if again:
        sources.append(f"{_counted(again, 'repetition')} equal to another to the last digit and not counted")
    older = {old: run.run_id for run in every.runs for old in run.older}
    if older:
        sources.append(of_older(older))
    if every.invalid:
        sources.append(f"{_counted(len(every.invalid), 'trial')} not valid and not counted")
    if every.unseen:
        sources.append(
            f"no packet could be told to be of {join(every.unseen)}, so its rate is not known (endpoint= "
            "says where its flows are received)"
        )
    return f"{'; '.join([f'{each}, {sure}', *sources])}."


def _counted(n: int, what: str) -> str:
    return f"1 {what} is" if n == 1 else f"{n} {what}s are"
