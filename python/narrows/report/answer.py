"""The answer of an experiment as a small table: a row for each condition, two or three columns for each item,
and one sentence above it.

Columns are the figures that the items' tools declare as headlines (`narrows.tools.reading`), else what an
item got, its share of a fair rate and what it waited; then what the link did, and of a `Home` where packets
wait. It only chooses and words what `narrows.comparing.outcome` found. Pages and terminals show the same
table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from narrows.comparing.of_link import LATENCY, OWN_LATENCY, RPM, THROUGHPUT
from narrows.comparing.outcome import (
    ALIKE,
    DONE,
    KINDS,
    LINK,
    OF_DONE,
    RATE,
    WHOLE,
    Key,
    Measure,
    Outcome,
    outcome,
    separating,
)  # fmt: skip
from narrows.comparing.words import condition_name, join, number, of_older, with_interval
from narrows.figures.chosen import WAITED, WAY, Chosen, by_key, chosen
from narrows.report import verdicts
from narrows.report.small_table import Column, Row, Table
from narrows.runs import loaded
from narrows.runs.observed import Observed
from narrows.spec.pairs import PAIR
from narrows.tools.reading import LESS, MORE

SEPARATES = 0.33
"""An axis whose labels lie less far apart, as a share of what lies between the best and the worst condition,
is not said to separate them."""
FOR_AN_INTERVAL = 6
BEST, WORST = "best", "worst"


@dataclass(frozen=True)
class Answer:
    """One sentence, the table, what one must know to read its numbers, and all numbers of the items."""

    sentence: str
    table: Table
    note: str
    tables: tuple[Table, ...] = ()

    @property
    def brief(self) -> str:
        """Of the note how many runs a number is of."""
        return f"{self.note.partition(';')[0].removesuffix('.')}."


def answer(found: Sequence[Observed] | Outcome) -> Answer | None:
    """What came out; None where no run loaded a link."""
    every = found if isinstance(found, Outcome) else outcome(found)
    if every is None:
        return None
    told = chosen(every)
    tables = tuple(
        _table(every, [(whose, m) for m in every.of_item(whose, *(k for k in KINDS if k != LINK))], whose)
        for whose in every.items
    )
    table, judged = verdicts.beside(_table(every, told), every)
    return Answer(judged or _sentence(every, told), table, _note(every), tables)


def of_each(runs: Sequence[Observed]) -> list[tuple[Column, list[float | None]]]:
    """The figures of the table with the number of each run; None: it has none, or is equal to another."""
    every = outcome(runs, [])
    if every is None:
        return []
    place = {id(run): n for n, run in enumerate(every.runs)}
    return [
        (_column(whose, m), [m.by_run.get(place.get(id(run), -1)) for run in runs])
        for whose, m in chosen(every)
    ]


# ---- the table ---------------------------------------------------------------------------------------------


def _table(every: Outcome, chosen: Chosen, name: str = "") -> Table:
    """A row for each condition that has any of it."""
    shown = [(whose, m) for whose, m in chosen if m.kind == RATE or not name or not m.is_zero]
    zero = tuple(_words(m) for _, m in chosen if all(m is not other for _, other in shown))
    marks = [_marks(every, measure) for _, measure in shown]
    rows = []
    for key in every.keys:
        n = max((len(m.values.get(key, ())) for _, m in chosen), default=0)
        if n or any(key in m.done for _, m in chosen):
            cells = tuple(_cell(m, key, n) for _, m in shown)
            rows.append(Row(key, n, cells, tuple(mark.get(key, "") for mark in marks)))
    return Table(every.axes, tuple(_column(whose, m) for whose, m in shown), tuple(rows), name, zero)


def _column(whose: str, measure: Measure) -> Column:
    return Column(whose, _words(measure), _unit(measure), measure.better)


def _cell(measure: Measure, key: Key, n: int) -> str:
    if key in measure.done:
        return DONE
    of = measure.of(key)
    return with_interval(of) + (f" (n = {of.n})" if 0 < of.n < n else "")


def _marks(every: Outcome, measure: Measure) -> dict[Key, str]:
    """The best and the worst condition of a figure, where it tells them apart; equal ones share the mark, if
    they are not most."""
    values = _comparable(every, measure)[0].values
    if measure.better not in (MORE, LESS) or len(values) < 2 or measure.spread() <= ALIKE:
        return {}
    medians = {key: float(np.median(some)) for key, some in values.items()}
    ends = {BEST: max(medians.values()), WORST: min(medians.values())}
    if measure.better == LESS:
        ends = {BEST: ends[WORST], WORST: ends[BEST]}
    same = {mark: [key for key, value in medians.items() if value == end] for mark, end in ends.items()}
    return {key: mark for mark, keys in same.items() for key in keys if 2 * len(keys) <= len(medians)}


def _words(measure: Measure) -> str:
    way = WAY.get(measure.direction)
    if measure.kind == LINK and not measure.figure.startswith(WAITED):
        return f"{measure.words}, {way}" if way else measure.words
    return f"{measure.words}, {way}" if measure.both_ways and way else measure.words


def _unit(measure: Measure) -> str:
    if measure.figure == RPM:
        return "RPM"
    is_said = measure.unit in measure.words or (measure.unit == "1/min" and "a minute" in measure.words)
    return "" if measure.unit == "1" or is_said else measure.unit


# ---- the sentence ------------------------------------------------------------------------------------------


def _sentence(every: Outcome, chosen: Chosen) -> str:
    """Of one condition what each got; of several the best and the worst of the figure that differs most, and
    the axis that separates them most."""
    if len(every.keys) == 1:
        first = {whose: m for whose, m in reversed(chosen) if m.values}
        told = [
            f"{_subject(whose, m)} {with_interval(m.of(every.keys[0]), _unit(m))}"
            for whose, m in first.items()
        ]
        return f"{_capital(join(told))}." if told else ""
    known = [(whose, m, *_comparable(every, m)) for whose, m in chosen if m.better and len(m.values) > 1]
    known.sort(key=lambda each: -each[2].spread())
    for whose, raw, measure, unit in known[:1]:
        if measure.spread() > ALIKE:
            return _ends(every, whose, raw, measure, unit)
        medians = [number(measure.median(key)) for key in measure.values]
        ends = dict.fromkeys((min(medians, key=float), max(medians, key=float)))
        same = f"much the same under all conditions: {' to '.join(ends)} {unit}".rstrip()
        return f"{_capital(_subject(whose, raw))} is {same}."
    return ""


def _ends(every: Outcome, whose: str, raw: Measure, measure: Measure, unit: str) -> str:
    ordered = sorted(measure.values, key=measure.median, reverse=measure.better == MORE)
    best, worst = ordered[0], ordered[-1]
    said = (
        f"{_subject(whose, raw)} is best with {condition_name(every.axes, best)} "
        f"({with_interval(measure.of(best), unit)}), worst with {condition_name(every.axes, worst)} "
        f"({with_interval(measure.of(worst), unit)})"
    )
    if len(every.axes) > 1:
        axis = separating(measure, every.axes)[0]
        if axis.effect > SEPARATES * abs(measure.median(best) - measure.median(worst)):
            (least, lowest), (most, highest) = axis.medians[0], axis.medians[-1]
            said += (
                f"; what separates the conditions most is {axis.name} (median {number(least)} with {lowest}, "
                f"{number(most)} with {highest})"
            )
    return f"{_capital(said)}."


def _subject(whose: str, measure: Measure) -> str:
    return f"{whose}: {_words(measure)}" if whose else _words(measure)


def _capital(text: str) -> str:
    """A sentence begins with a capital, a name with its own letter."""
    return text if ":" in text else f"{text[:1].upper()}{text[1:]}"


def _comparable(every: Outcome, measure: Measure) -> tuple[Measure, str]:
    """The same without what the conditions set themselves: a share of the rate where rates differ, delay
    above the base RTT where base RTTs differ."""
    way = measure.direction
    rates = {run.configured_bps(way) for run in every.runs} if way != WHOLE else set()
    shares = (loaded.used(every.runs[n], way) for n in measure.by_run)
    if measure.figure == THROUGHPUT and len(rates) > 1 and None not in shares:
        return _changed(every, measure, _percent), "% of what the link carries"
    if measure.figure in (LATENCY, OWN_LATENCY) and len({run.link.base_rtt_ns for run in every.runs}) > 1:
        return _changed(
            every, measure, lambda run, _, ms: ms - run.link.base_rtt_ns / 1e6
        ), "ms above the base RTT"
    return measure, _unit(measure)


def _changed(every: Outcome, measure: Measure, change: Callable[[Observed, str, float], float]) -> Measure:
    by_run = {
        n: change(every.runs[n], measure.direction, value) for n, value in sorted(measure.by_run.items())
    }
    return replace(measure, values=by_key(every, by_run))


def _percent(run: Observed, direction: str, _mbps: float) -> float:
    used = loaded.used(run, direction)
    assert used is not None  # its rate and its link's are known
    return 100 * used


# ---- the note ----------------------------------------------------------------------------------------------


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
    if again := sum(len(group) - 1 for group in every.equal):
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
