"""How a figure's panels are laid out, and that there is none of nothing."""

from __future__ import annotations

import pytest

from made_up_plans import whole
from narrows.figures.distributions import distributions
from narrows.figures.drawing import Missing, count_runs
from narrows.figures.style import panel_columns
from narrows.runs.observed import Observed


@pytest.mark.parametrize(
    ("panels", "characters", "columns"),
    [(9, 10, 3), (8, 10, 2), (2, 10, 2), (9, 47, 2), (9, 60, 1), (1, 200, 1)],
)
def test_rows_are_full_and_each_title_has_its_place(panels: int, characters: int, columns: int) -> None:
    assert panel_columns(["x" * characters] * panels) == columns


def test_a_run_whose_tap_kept_no_sojourn_times_is_no_panel() -> None:
    run = Observed(
        run_id="a", experiment="e", question="q", key={}, status="ok", error="", plan=whole({}), manifest={}
    )
    drawn = distributions([run], "waiting", "Waiting")
    assert isinstance(drawn, Missing)
    assert "times in the queue" in drawn.reason


def test_a_caption_counts_runs() -> None:
    assert count_runs(1) == "n = 1 run"
    assert count_runs(24) == "n = 24 runs"
