"""What a mark demands: all of a case, several numbers at once, every run; and what has no sample fails."""

from __future__ import annotations

from collections.abc import Mapping

from narrows.judging.items import Item
from narrows.judging.judge import Judge, Mark, Measure
from narrows.judging.verdict import Number, Verdict

Values = Mapping[str, float | None]
RATE = Measure("rate", "Mbit/s", lambda of: of.get("rate"))
DELAY = Measure("delay", "ms", lambda of: of.get("delay"))


def judged(
    found: Mapping[tuple[str, ...], Values],
    *marks: Mark,
    axes: tuple[str, ...] = ("queue", "home"),
    **more: object,
) -> Verdict:
    """A verdict of one run a condition, whose labels are in the order of the axes; the last may be a seed."""
    items = [
        Item(values, dict(zip((*axes, "seed"), labels, strict=False)), ("run",))
        for labels, values in found.items()
    ]
    judge = Judge(
        "X1",
        "x",
        "section 1",
        "x1_claim.py",
        by=axes,
        measures=(RATE, DELAY),
        marks=marks,
        items=lambda _: items,
        **more,
    )  # type: ignore[arg-type]
    return judge([])


FAST, CALM = Mark("fast", RATE.name, 10), Mark("calm", DELAY.name, most=5)
BOTH: Values = {"rate": 20, "delay": 1}


def test_marks_of_the_same_words_are_one_that_needs_both_numbers() -> None:
    both = Mark("fast and calm", RATE.name, 10), Mark("fast and calm", DELAY.name, most=5)
    assert judged({("fifo", "near"): BOTH}, *both).verdict == "holds"
    # Fast but not calm is not fast and calm: no part of it holds.
    assert judged({("fifo", "near"): {"rate": 20, "delay": 9}}, *both).verdict == "does not hold here"
    lacking = judged({("fifo", "near"): BOTH, ("red", "near"): {"rate": 20}}, *both)
    assert lacking.reason == "fast and calm: yes (fifo, near); not to be judged: red, near"
    # What is slow is not fast and calm, whatever its delay is.
    assert judged({("fifo", "near"): {"rate": 2}}, *both).verdict == "does not hold here"


def test_a_mark_that_was_tried_and_has_no_sample_fails() -> None:
    verdict = judged({("fifo", "near"): {"rate": 20}}, FAST, CALM)
    assert verdict.verdict == "holds in part"
    assert verdict.reason == "fast: yes (fifo, near); calm: no; not to be judged: fifo, near"
    assert judged({("fifo", "near"): {}}, FAST, CALM).verdict == "not measured"


def test_a_case_is_judged_where_all_of_its_marks_are_known() -> None:
    found = {("fifo", "near"): BOTH, ("red", "near"): {"rate": 2}}
    by_queue = judged(found, FAST, CALM, whole=("queue",))
    assert (by_queue.verdict, by_queue.reason) == (
        "holds", "fast: yes (fifo, near); calm: yes (fifo, near); not to be judged: red, near"
    )  # fmt: skip
    assert judged(found, FAST, CALM, whole=()).verdict == "holds in part"
    assert judged({("red", "near"): {"rate": 2}}, FAST, CALM, whole=()).verdict == "not measured"


def test_a_whole_claim_needs_every_label_that_its_marks_name() -> None:
    everywhere = Mark("fast", RATE.name, 10, where={"home": ("near", "far")})
    half = {("fifo", "near"): BOTH}
    assert judged(half, everywhere, whole=()).verdict == "not measured"
    assert judged(half | {("fifo", "far"): BOTH}, everywhere, whole=()).verdict == "holds"


def test_a_number_whose_counterpart_could_not_be_had_is_told() -> None:
    cut = Mark("cut", DELAY.name, most=0.5, where={"home": "near"}, against={"home": "far"})
    verdict = judged({("fifo", "near"): BOTH, ("fifo", "far"): {"rate": 1}}, FAST, cut)
    assert "cut: no; not to be judged: fifo, near" in verdict.reason


def test_every_run_may_be_marked_and_not_their_median() -> None:
    each = Mark("fast in every run", RATE.name, 10, each=True)
    rates = {("fifo", "near", str(seed)): {"rate": rate} for seed, rate in enumerate((20, 20, 2))}
    assert judged(rates, FAST).verdict == "holds"
    verdict = judged(rates, each)
    assert verdict.verdict == "holds in part"
    assert verdict.reason == "fast in every run: 2 of 3 (not: fifo, near, seed 2)"
    assert [number.value for number in verdict.numbers] == [20]


def test_a_mark_of_the_whole_interval_leaves_open_what_the_interval_does() -> None:
    mark = Mark("3 and more", "x", 3.0, sure=True)
    for low, high, passes in ((3.5, 5.0, True), (1.0, 2.0, False), (2.0, 5.0, None), (None, None, None)):
        number = Number("x", "1", 4.0 if passes is not False else 1.5, 9, {}, low, high)
        assert mark.known(number, number) is passes
