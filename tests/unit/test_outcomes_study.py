"""What the study of scores decides of made-up homes: ranks, thresholds of one half on the other, pairs."""

from __future__ import annotations

import pytest

from narrows.judging.parts import Number
from narrows.studies.outcomes import testbed
from narrows.studies.outcomes.alike import alike, sentences
from narrows.studies.outcomes.claims.measures import (
    FARED,
    ORDER,
    added,
    again,
    breaks,
    fitted,
    opposite,
    pairs,
    ranked,
    told,
)


def numbers(**columns: list[float]) -> list[Number]:
    """A home for each row."""
    return [
        Number(name.replace("_", " "), "1", value, 1, {"home": testbed.label(row)})
        for name, values in columns.items()
        for row, value in enumerate(values)
    ]


def of(found: list[Number], **labels: str) -> Number:
    (one,) = (number for number in found if labels.items() <= number.conditions.items())
    return one


MBPS = [1e6 * (row + 1) for row in range(20)]
TIMES = [8e10 / rate for rate in MBPS]  # ms for 10 MB: good from 20 Mbit/s on, usable from 4


def test_the_homes_are_the_same_each_time_and_of_every_kind() -> None:
    homes = testbed.homes()
    assert len(homes) == testbed.CONDITIONS
    assert {home.others for home in homes.values()} == set(testbed.OTHERS)
    carried = {
        type(home.link["medium"]).__name__ for home in homes.values() if home.link["medium"] is not None
    }
    assert carried == {"wifi", "lte", "satellite"}
    first, second = testbed.halves()
    assert not set(first) & set(second)
    assert {*first, *second} == set(homes)


def test_a_rate_ranks_downloads_as_they_fare_and_latency_ranks_nothing() -> None:
    rows = numbers(capacity=MBPS, download=TIMES, idle_latency=[10.0, 20.0] * 10)
    found = list(ranked(rows))
    assert of(found, score="capacity", service="download").value == pytest.approx(1.0)
    assert of(found, score="capacity", service="download").low == pytest.approx(1.0)
    assert abs(of(found, score="idle latency", service="download").value) < 0.2


def test_homes_are_told_apart_where_there_are_five_of_each() -> None:
    # 4 Mbit/s and more are usable, 0.5 to 3.5 (seven homes) are not; only one home, of 20 Mbit/s, is good.
    rates = [0.5e6 * (row + 1) for row in range(40)]
    found = list(told(numbers(capacity=rates, download=[8e10 / rate for rate in rates])))
    assert of(found, score="capacity", service="download", mark="usable").value == 1.0
    assert [each.conditions["mark"] for each in found] == ["usable"]


def test_homes_without_one_of_two_numbers_make_no_pair() -> None:
    one, other = pairs(numbers(capacity=MBPS[:3], download=TIMES[:2]), "capacity", "download")
    assert list(one) == MBPS[:2]
    assert list(other) == TIMES[:2]


def test_a_threshold_of_even_homes_is_tried_on_odd_ones() -> None:
    # QoO tells a good game (nothing late) where it is 50 and more; of the odd homes one says otherwise.
    score = [0.0, 10.0, 20.0, 90.0, 50.0, 60.0, 70.0, 80.0]
    late = [0.5, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0]
    found = of(list(fitted(numbers(QoO=score, game=late), "QoO")), service="game")
    assert (found.value, found.n) == (0.75, 4)


def test_what_another_number_adds_is_of_the_half_that_set_no_threshold() -> None:
    # A game works where little waits. Even homes have one rate, so capacity alone calls all homes good, of
    # which half are; with the wait all odd ones are told rightly: 1 - 0.5.
    waits = [5.0, 5.0, 500.0, 500.0] * 3
    late = [0.0 if wait < 50 else 0.5 for wait in waits]
    rows = numbers(capacity=[1e6, 9e6, 1e6, 1e6] * 3, working_latency=waits, game=late)
    assert of(list(added(rows, "working latency")), service="game").value == 0.5


def test_thresholds_are_held_against_the_levels_between_which_a_service_breaks() -> None:
    # 10 MB are good (4 s) at 32 Mbit/s and not at 16; IQB asks 10 of a backup, QoO's example 4.
    rows = [
        Number(FARED, "1", 8e4 / level, 1, {"service": "download", "of": "rate", "level": str(level)})
        for level in testbed.LEVELS["rate"]
    ]
    found = list(breaks(rows))
    told = of(found, service="download", score="IQB")
    assert (told.low, told.value, told.high) == pytest.approx((10 / 32, 10 / 22.627417, 10 / 16))
    assert of(found, service="download", score="QoO").high == 4 / 16


def test_a_service_that_comes_out_the_same_again_is_not_compared_with_itself() -> None:
    same = numbers(game_at_first=MBPS, game_again=MBPS)
    other = numbers(page_at_first=MBPS, page_again=[*MBPS[1:], MBPS[0]])
    (found,) = again(same + other)
    # One of 20 moves 19 places, the others one each: 1 - 6 (19^2 + 19) / (20 (20^2 - 1)).
    assert found.value == pytest.approx(1 - 6 * 380 / 7980)


def test_pairs_of_equal_score_and_opposite_outcome_are_counted() -> None:
    # Four homes of one score: 2 good, 1 unusable, 1 between: of 6 pairs 2 are opposite.
    found = of(
        list(opposite(numbers(QoO=[50.0] * 4, game=[0.0, 0.0, 0.9, 0.03]))), score="QoO", service="game"
    )
    assert found.value == pytest.approx(2 / 6)


def test_homes_built_for_the_order_of_losses_are_compared_with_each_other_alone() -> None:
    # Two homes that lose one at a time fare badly, two that lose in a row well; a drawn home has no order.
    rows = numbers(QoO=[50.0] * 5, download=[9e4, 9e4, 1e3, 1e3, 9e4])
    rows += numbers(**{ORDER.replace(" ", "_"): [1.0, 1.0, 50.0, 50.0]})
    assert of(list(opposite(rows)), score="QoO", service="download").name == "opposite by order"
    assert of(list(opposite(rows)), score="QoO", service="download").value == 1.0
    lost = {name: (home.link["loss"], home.link["loss_burst"]) for name, home in testbed.built().items()}
    assert set(lost.values()) == {(share, burst) for share in testbed.LOST for burst in (1, 50)}


def test_what_a_reading_meant_is_said_of_homes_that_are_alike_and_of_five_at_least() -> None:
    # A rate of 20 Mbit/s is within a factor of two of 10 to 40; waits below 10 ms are alike.
    rows = (
        (10, 5, 0.0, 300), (16, 9, 0.0, 900), (20, 1, 0.02, 2000), (25, 18, 0.5, None),
        (40, 20, 0.0, None), (41, 5, 0.0, 300), (20, 40, 0.0, 300),
    )  # fmt: skip
    homes = [
        {"capacity": rate * 1e6, "working latency": wait, "game": late, "call": call}
        for rate, wait, late, call in rows
    ]
    assert alike(homes, 20e6, 3.0) == {"game": (3, 4, 5)}  # of calls there are three
    (said,) = sentences(homes, 20e6, 3.0)
    assert said.endswith("were good: game 3 of 5 (usable 4).")
    assert not list(sentences(homes[:3], 20e6, 3.0))
