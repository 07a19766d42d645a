"""QoO, IQB and the bufferbloat grade against the examples of their own texts."""

from __future__ import annotations

import numpy as np
import pytest

from narrows.metrics.latency.bufferbloat_grade import GRADES, grade
from narrows.metrics.latency.iqb import iqb
from narrows.metrics.latency.qoo import EXAMPLE, Requirement, qoo, qoo_of


def test_the_drafts_own_example_scores_50() -> None:
    # draft-ietf-ippm-qoo-10, section 3.4: latency min(0.5, 0.75), loss 0.75, throughput is reached.
    needed = Requirement({99.0: (200.0, 500.0), 99.9: (300.0, 600.0)}, (0.01, 0.05), 4e6)
    assert qoo_of({99.0: 350.0, 99.9: 375.0}, 0.02, 28e6, needed) == pytest.approx(50.0)


@pytest.mark.parametrize(
    ("p99", "p999", "loss", "bps", "score"),
    [
        (100.0, 200.0, 0.001, 4e6, 100.0),  # all that is required for optimal performance
        (90.0, 150.0, 0.0, 9e6, 100.0),  # better is not more
        (200.0, 200.0, 0.0, 9e6, 0.0),  # one percentile at the point of unacceptable performance
        (100.0, 200.0, 0.02, 9e6, 0.0),
        (100.0, 200.0, 0.0, 3.9e6, 0.0),  # too little throughput forces 0
        (150.0, 200.0, 0.0, 9e6, 50.0),
    ],
)
def test_the_requirement_of_figure_1(p99: float, p999: float, loss: float, bps: float, score: float) -> None:
    assert qoo_of({99.0: p99, 99.9: p999}, loss, bps, EXAMPLE) == pytest.approx(score)


def test_qoo_without_an_input_is_none_and_a_requirement_is_in_order() -> None:
    assert qoo(np.array([np.nan]), 0.0, 9e6, EXAMPLE) is None
    assert qoo(np.array([50.0]), None, 9e6, EXAMPLE) is None
    assert qoo(np.array([50.0]), 0.0, None, EXAMPLE) is None
    with pytest.raises(ValueError, match="optimal 5 is not below unacceptable 2"):
        Requirement({}, (5.0, 2.0))


def test_iqb_is_the_weighted_share_of_requirements_that_are_met() -> None:
    # All are met by 100 Mbit/s both ways, 5 ms and no loss; none by nothing, where rates have to be above.
    assert iqb(100e6, 100e6, 5.0, 0.0) == pytest.approx(
        dict.fromkeys(("web", "video", "audio", "conferencing", "backup", "gaming", "all"), 1.0)
    )
    # 12 Mbit/s down, 8 up, 60 ms, 2 %: web 3 + 4 of 13, video 4 of 14, audio 4 + 1 + 3 of 12, conferencing 0
    # of 16, backup 4 + 2 of 14, gaming 0 of 17.
    scores = iqb(12e6, 8e6, 60.0, 0.02)
    each = {
        "web": 7 / 13,
        "video": 4 / 14,
        "audio": 8 / 12,
        "conferencing": 0.0,
        "backup": 6 / 14,
        "gaming": 0.0,
    }
    assert scores == pytest.approx(each | {"all": sum(each.values()) / 6})
    assert set(iqb(12e6, None, 60.0, 0.02).values()) == {None}


@pytest.mark.parametrize(
    ("down_ms", "up_ms", "letter"),
    [
        (24, 24, "A+"),
        (25, 25, "A"),
        (20, 79, "A"),
        (50, 50, "B"),
        (80, 80, "C"),
        (220, 220, "D"),
        (420, 420, "F"),
    ],
)
def test_a_grade_is_of_the_mean_of_both_increases(down_ms: float, up_ms: float, letter: str) -> None:
    # From 20 ms: 4 is below 5, 5 is not; (0 + 59) / 2 = 29.5; 30; 60; 200; 400.
    step = grade(np.array([20.0]), np.array([down_ms]), np.array([up_ms]))
    assert step is not None
    assert GRADES[step] == letter
    assert grade(np.array([20.0]), np.array([down_ms]), np.array([np.nan])) is None
