"""What the study of what-if counts as right, and that its worlds are what was asked of them."""

from __future__ import annotations

from typing import Any

import pytest

from narrows.studies.whatif.claims.measures import ahead, cannot, error, inside, moved, sure_and_wrong
from narrows.studies.whatif.testbed import ARMS, KINDS, WAS, drawn

METRIC = "rtt_p95_s"


def row(
    before: float, true: float, after: float | None, low: float = 0.0, high: float = 0.0
) -> dict[str, Any]:
    """What is said of one metric in ms, of 90 % between low and high; None: it cannot answer."""
    said = {"before": before, "true": true, "after": after, "low": low, "high": high}
    values = {
        f"{part}_{METRIC}": None if after is None and part in ("low", "high") else value
        for part, value in said.items()
    }
    return {**values, f"trace_{METRIC}": 50.0, "cannot": "no capacity was seen" if after is None else None}


def test_a_prediction_is_held_against_what_the_change_did() -> None:
    good = row(before=100, true=50, after=55, low=45, high=65)
    assert error(METRIC)(good) == pytest.approx(0.1)
    assert error(METRIC, "as before")(good) == pytest.approx(1.0)
    assert error(METRIC, "the throughput as a trace")(good) == 0.0
    assert inside(METRIC)(good) == 1.0
    assert ahead(METRIC)(good) == 1.0
    assert sure_and_wrong(METRIC)(good) == 0.0


def test_sure_and_wrong_is_a_difference_that_points_the_other_way() -> None:
    # It is said to rise by 30 % for certain, and falls by half.
    assert sure_and_wrong(METRIC)(row(before=100, true=50, after=130, low=120, high=140)) == 1.0
    # The interval holds what was before: nothing is said for certain.
    assert sure_and_wrong(METRIC)(row(before=100, true=50, after=130, low=90, high=170)) == 0.0
    # The right way, however far off.
    assert sure_and_wrong(METRIC)(row(before=100, true=50, after=90, low=85, high=95)) == 0.0


def test_where_nothing_moves_there_is_no_better_arm_and_where_it_cannot_answer_nothing_is_judged() -> None:
    assert not moved(row(100, 109, 100), METRIC)
    assert ahead(METRIC)(row(100, 109, 100)) is None
    silent = row(100, 50, None)
    assert cannot(silent) == 1.0
    assert error(METRIC)(silent) is inside(METRIC)(silent) is sure_and_wrong(METRIC)(silent) is None


def test_worlds_are_the_same_each_time_and_a_change_is_what_it_is_asked_for_as() -> None:
    for n, kind in enumerate(KINDS):
        world = drawn(n)
        assert world.kind == kind
        assert repr(world.link(WAS)) == repr(drawn(n).link(WAS))
        assert {WAS, *world.asked(0.05)} == set(ARMS)
        assert all(
            repr(world.link(arm)) != repr(world.link(WAS)) for arm in ("queue", "rate", "rtt", "sysctl")
        )
        assert repr(world.flow(0, "cca")) != repr(world.flow(0, WAS))
    # A base RTT of 50 ms as seen, and a server that is farther by as much as the world's is.
    assert drawn(1).asked(0.05)["rtt"].base_rtt == f"{50 + drawn(1).rtt_ms:.3f} ms"
