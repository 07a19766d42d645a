"""How the items of an experiment fared, in sentences: rate, share, their own figures, the time in the queue.

A sentence names all conditions where they are few, else the lowest and the highest. Of an item's own figures
those are said of which the tool says that it matters most, and those that differ most over the conditions.
It only words what `narrows.comparing.outcome` found.
"""

from __future__ import annotations

from collections.abc import Sequence

from narrows.comparing.outcome import (
    ALIKE,
    MET,
    OWN,
    RATE,
    SHARE,
    Key,
    Measure,
    Outcome,
    own_said,
    separating,
)
from narrows.comparing.words import condition_name, join, number, percent, with_interval
from narrows.runs.observed import EXPERIMENT
from narrows.spec.pairs import AND, PAIR

MOST_NAMED = 4
"""Conditions that a sentence can name one by one."""
MOST_ITEMS = 4
MOST_PAIRS = 6
"""Pairs that are said one by one; of more, those with the lowest and the highest shares."""
LOWEST, HIGHEST = 3, 2
_WAY = {"down": "download ", "up": "upload "}


def sentences(every: Outcome) -> list[str]:
    """One for each item, and what separates the conditions; of services that met, one for each pair."""
    if any(PAIR in run.key for run in every.runs):
        return _pairs(every)
    known = [whose for whose in every.items if every.of_item(whose, RATE, OWN)]
    said = [_fared(every, whose, whose, every.keys, every.axes) for whose in known[:MOST_ITEMS]]
    if len(known) > MOST_ITEMS:
        said.append(f"{len(known) - MOST_ITEMS} more items are in the tables.")
    return said + _separation(every)


def _fared(
    every: Outcome, whose: str, subject: str, keys: Sequence[Key], axes: Sequence[str], *, brief: bool = False
) -> str:
    """One item under some conditions, which are named by their labels on some axes; `brief`: its rates."""
    there = _there(keys, every.of_item(whose))
    own, met = own_said(every, whose, keys), every.of_item(whose, MET)
    rates = _there_of(every.of_item(whose, RATE), keys)
    if any(key in rate.done for rate in every.of_item(whose, RATE) for key in keys):
        rates = []  # such as a page that had loaded long before: its load time says more
    parts: list[str] = []
    for rate in rates:
        share = every.one(whose, SHARE, rate.direction)
        who = "its" if parts else f"{subject}'s" if subject else ""
        verb = f"{who} {_WAY[rate.direction]}got" if rate.both_ways else f"{subject} got".strip()
        parts.append(f"{verb} {_told(every, rate, keys, axes, share)}")
    told = [] if brief and parts else [*_there_of(own, keys), *_there_of(met, keys)]
    for measure in told:
        few = parts and len(there) <= MOST_NAMED
        values = _in_order(measure, there) if few else _told(every, measure, keys, axes)
        parts.append(f"{'' if parts else f'{subject}: '}{_with_words(measure, values)}")
    text = "; ".join(parts) or f"{subject}: its rate is not known"
    return f"{text.replace('beside', 'Beside', 1) if text.startswith('beside ') else text}."


def _there_of(measures: Sequence[Measure], keys: Sequence[Key]) -> list[Measure]:
    return [measure for measure in measures if any(key in measure.values for key in keys)]


def _with_words(measure: Measure, values: str) -> str:
    if measure.kind == MET:
        way = _WAY[measure.direction] if measure.both_ways else ""
        return f"its {way}packets waited {values} in the queue"
    return f"{_WAY[measure.direction] if measure.both_ways else ''}{measure.words} {values}"


def _there(keys: Sequence[Key], measures: Sequence[Measure]) -> list[Key]:
    return [key for key in keys if any(key in measure.values for measure in measures)]


def _in_order(measure: Measure, keys: Sequence[Key]) -> str:
    """Its values in the order in which the conditions were named."""
    texts = [with_interval(measure.of(key)) for key in keys]
    if len(set(texts)) == 1:
        return f"{texts[0]} {_unit(measure)}".strip() + (" each" if len(texts) > 1 else "")
    return f"{join(texts)} {_unit(measure)}".strip()


def _told(
    every: Outcome, measure: Measure, keys: Sequence[Key], axes: Sequence[str], share: Measure | None = None
) -> str:
    """Values with the names of their conditions: all, or from the lowest to the highest."""
    known = [key for key in keys if key in measure.values]
    places = [every.axes.index(axis) for axis in axes]
    of_fair = [" of its fair rate"]

    def one(key: Key) -> str:
        text = with_interval(measure.of(key), _unit(measure))
        if measure.kind == RATE and not measure.median(key):
            text = "nothing"
        if share is not None and key in share.values:
            text += f" ({percent(share.median(key))}{of_fair.pop() if of_fair else ''})"
        return text

    def under(key: Key) -> str:
        name = condition_name(axes, tuple(key[place] for place in places))
        return f" with {name}" if name else ""

    if len(known) <= MOST_NAMED:
        texts = [one(key) for key in known]
        if len(known) > 1 and len({text.replace(" of its fair rate", "") for text in texts}) == 1:
            return f"{texts[0]} under {'both' if len(known) == 2 else f'all {len(known)}'} conditions"
        return join([text + under(key) for text, key in zip(texts, known, strict=True)])
    ordered = sorted(known, key=measure.median)
    if measure.spread(known) <= ALIKE:
        return f"{number(measure.median(ordered[0]))} {_unit(measure)} under all {len(known)} conditions"
    return f"from {one(ordered[0])}{under(ordered[0])} to {one(ordered[-1])}{under(ordered[-1])}"


def _unit(measure: Measure) -> str:
    """None where the words name what is counted: 3 stalls are no stalls of stalls."""
    return "" if measure.unit == "1" or measure.unit in measure.words else measure.unit


# ---- what separates ----------------------------------------------------------------------------------------


def _separation(every: Outcome) -> list[str]:
    """Which axis makes most of a difference to the item that is told first."""
    if len(every.axes) < 2 or not every.items or EXPERIMENT in every.axes:
        return []
    whose = every.items[0]
    rate = next((m for m in every.of_item(whose, SHARE, RATE)[::-1] if len(m.values) > 1), None)
    said = []
    for measure in [*([rate] if rate else []), *own_said(every, whose, every.keys)[:1]]:
        first = separating(measure, every.axes)[0]
        if first.effect > ALIKE * max(abs(value) for value, _ in first.medians):
            ends = (
                first.medians if len(first.medians) <= MOST_NAMED else (first.medians[0], first.medians[-1])
            )
            told = [(f"{number(value)} {_unit(measure)}".strip(), label) for value, label in ends]
            values = join([f"{value} with {label}" for value, label in told])
            said.append(f"{first.name} to its {measure.words} ({values}, in the median)")
    return [f"What makes most of a difference to {whose}: {'; '.join(said)}."] if said else []


# ---- services that met -------------------------------------------------------------------------------------


def _pairs(every: Outcome) -> list[str]:
    """One for each pair, or for those that stand out; then what each takes alone."""
    if PAIR not in every.axes:
        every = every.by([*every.axes, PAIR])
    place, others = every.axes.index(PAIR), [axis for axis in every.axes if axis != PAIR]
    by_pair: dict[tuple[str, ...], list[Key]] = {}
    for key in every.keys:
        by_pair.setdefault(tuple(key[place].split(AND)), []).append(key)
    met = {pair: keys for pair, keys in by_pair.items() if len(pair) > 1}
    alone = {pair[0]: keys for pair, keys in by_pair.items() if len(pair) == 1}
    few = len(met) <= MOST_PAIRS
    said = [_pair(every, *each, others) for each in met.items() if len(set(each[0])) > 1] if few else []
    said = said or ([] if few else _extremes(every, met, others))
    if alone and len(alone) <= MOST_PAIRS:
        told = [_fared(every, name, name, keys, others, brief=True)[:-1] for name, keys in alone.items()]
        said.append(f"Alone, {'; '.join(told)}.")
    return said + (
        [_twins(every, *each, others) for each in met.items() if len(set(each[0])) == 1] if few else []
    )


def _pair(every: Outcome, pair: Sequence[str], keys: Sequence[Key], axes: Sequence[str]) -> str:
    """What each of a pair got, that first which says how it fared."""
    ordered = sorted(dict.fromkeys(pair), key=every.items.index)
    first = _fared(every, ordered[0], f"beside {join(ordered[1:])}, {ordered[0]}", keys, axes)
    return " ".join([first, *(_fared(every, name, name, keys, axes) for name in ordered[1:])])


def _twins(every: Outcome, pair: Sequence[str], keys: Sequence[Key], axes: Sequence[str]) -> str:
    """What each of several equal services got."""
    names = [pair[0], *(f"{pair[0]} ({n})" for n in range(2, len(pair) + 1))]
    told = [
        _fared(every, name, "one" if name == names[0] else "another", keys, axes, brief=True)[:-1]
        for name in names
    ]
    return f"Of {len(pair)} {pair[0]}, {'; '.join(told)}."


def _extremes(every: Outcome, met: dict[tuple[str, ...], list[Key]], axes: Sequence[str]) -> list[str]:
    """The lowest and the highest shares of all pairs and conditions."""
    shares = [
        (measure.median(key), whose, pair, key)
        for pair, keys in met.items()
        for whose in every.items
        for measure in every.of_item(whose, SHARE)
        for key in keys
        if key in measure.values and whose.partition(" (")[0] in pair
    ]
    shares.sort(key=lambda each: each[0])
    if not shares:
        return [f"{len(met)} pairs were tried; no share of a fair rate is known."]

    def two(whose: str, pair: Sequence[str]) -> tuple[str, str]:
        name = whose.partition(" (")[0]
        return name, next((other for other in pair if other != name), f"another {name}")

    ends = [
        f"{percent(share)} ({' beside '.join(two(whose, pair))})"
        for share, whose, pair, _ in (shares[0], shares[-1])
    ]
    said = [
        f"{len(met)} pairs of services met; the lowest share of a fair rate was {ends[0]}, "
        f"the highest {ends[1]}."
    ]
    for _, whose, pair, key in [*shares[:LOWEST], *shares[LOWEST:][-HIGHEST:]]:
        name, other = two(whose, pair)
        said.append(_fared(every, whose, f"beside {other}, {name}", [key], axes))
    return said
