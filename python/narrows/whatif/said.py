"""Answers as rows and sentences, worst first where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from narrows.whatif.measured import METRICS
from narrows.whatif.session import Answer, Difference
from narrows.whatif.written import Change

HEADINGS = ("capture", "what", "unit", "before", "after", "low (90 %)", "high (90 %)", "difference")
UNITS = {"goodput_bps": ("Mbit/s", 1e-6), "others_bps": ("Mbit/s", 1e-6), "loss": ("%", 100.0)}
SECONDS = ("ms", 1e3)
ASKED = ("goodput_bps", "rtt_p95_s")
"""What is asked for first."""
NO_DIFFERENCE = "no difference that this capture can show"


def unit(metric: str, value: float) -> tuple[str, float]:
    """The unit that a metric is said in, and what its values are multiplied with."""
    if metric in UNITS:
        return UNITS[metric]
    return SECONDS if metric.startswith("rtt") or value < 1 else ("s", 1.0)


def named(metric: str) -> str:
    """What a metric is called; of one transfer by its number."""
    name, _, number = metric.partition(" ")
    return f"completion time of transfer {number}" if number else METRICS[name]


def rows(answer: Answer) -> list[list[str | float]]:
    """One line for each metric: before, after and the 90 % interval of after."""
    return [_row(answer, each) for each in answer.differences]


def _row(answer: Answer, of: Difference) -> list[str | float]:
    name, scale = unit(of.metric, of.before)
    numbers = [float(f"{x * scale:.4g}") for x in (of.before, of.after, of.low, of.high)]
    mark = "not carried by this capture: " if answer.cannot else ""
    return [Path(answer.log).name, named(of.metric), name, *numbers, mark + in_words(of)]


def in_words(of: Difference) -> str:
    """`+12 % (+8 to +16 %)`, the 90 % interval in brackets."""
    if not of.shown:
        return NO_DIFFERENCE
    if of.metric == "loss":  # of a few packets a ratio says nothing
        after, low, high = (100 * (x - of.before) for x in (of.after, of.low, of.high))
        return f"{after:+.2g} percentage points ({low:+.2g} to {high:+.2g})"
    after, low, high = (100 * (x / of.before - 1) for x in (of.after, of.low, of.high))
    return f"{after:+.0f} % ({low:+.0f} to {high:+.0f} %)"


def of_one(answer: Answer, change: Change) -> str:
    """One capture's answer in a sentence."""
    name = Path(answer.log).name
    if answer.cannot and not answer.differences:
        return f"{name}: this capture cannot answer: {answer.cannot}"
    first = sorted(answer.differences, key=lambda each: each.metric not in ASKED)
    said = [
        f"{named(each.metric)} {in_words(each)}" for each in first if each.shown and each.metric in METRICS
    ]
    same = [named(each.metric) for each in answer.differences if each.metric in ASKED and not each.shown]
    said += [f"{' and '.join(same)}: {NO_DIFFERENCE}"] if same else []
    queues = ", ".join(dict.fromkeys(case.kind.words() for case, _, _ in answer.kept))
    ccas = ", ".join(dict.fromkeys(case.cca for case, _, _ in answer.kept))
    start = f"{name}, with {change.words()}: {'; '.join(said) or NO_DIFFERENCE}"
    if answer.cannot:
        return f"{start}. Not carried by this capture: {answer.cannot}"
    return (
        f"{start} ({len(answer.kept)} of {answer.draws} draws met it as it was; queue: {queues}; CCA: {ccas})"
    )


def of_many(answers: Sequence[Answer], change: Change) -> list[str]:
    """For which share of captures each metric is better, worse, or not told apart."""
    told = [answer for answer in answers if answer.differences and not answer.cannot]
    lines = [f"{len(told)} of {len(answers)} captures can answer"]
    for metric, more_is_better in zip(ASKED, (True, False), strict=True):
        found = [d for answer in told for d in answer.differences if d.metric == metric]
        better = sum(d.shown and (d.after > d.before) == more_is_better for d in found)
        worse = sum(d.shown for d in found) - better
        if found:
            lines.append(
                f"{METRICS[metric]} with {change.words()}: better in {better}, worse in {worse}, "
                f"not told apart in {len(found) - better - worse} of {len(found)}"
            )
    return lines


def worst_first(answers: Sequence[Answer]) -> list[Answer]:
    """By the loss of goodput; those that cannot answer last."""

    def ratio(answer: Answer) -> float:
        found = [d.after / d.before for d in answer.differences if d.metric == "goodput_bps"]
        return found[0] if found else float("inf")

    return sorted(answers, key=ratio)
