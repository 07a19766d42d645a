"""Figures of runs of many flows: what is drawn, and what is left to others."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from test_claims_many_flows import many, plan, run

from narrows.figures.drawing import Drawing, Missing, Result
from narrows.figures.settling import MAX_PANELS, fairness_over_time
from narrows.metrics.fairness.shares import Share
from narrows.runs.many_flows import Settled
from narrows.runs.observed import Observed
from narrows.studies.corescale.by_flows import draw
from narrows.studies.corescale.case import thesis_cases
from narrows.studies.corescale.chapter3 import FIGURES
from narrows.studies.corescale.fairness_by_buffer import buffer_in_bdp, fairness_by_buffer
from narrows.studies.corescale.fairness_by_occupancy import fairness_by_occupancy
from narrows.studies.corescale.figures import is_thesis
from narrows.studies.corescale.shares_by_queue import shares_by_queue

BBR_ALONE = next(figure for figure in FIGURES if figure.name == "chapter3_fig_3_4")
QUEUE = next(figure for figure in FIGURES if figure.name == "chapter3_queue")


@pytest.mark.parametrize(
    ("rate", "rtt_ms", "buffer", "bdp"),
    # 3 MB at 100 Mbit/s is 240 ms; 375 MB at 10 Gbit/s 300 ms
    [(100e6, 200, 1, 1.2), (100e6, 100, 0.25, 0.6), (10e9, 20, 1, 15)],
)
def test_the_buffer_in_units_of_the_bdp(rate: float, rtt_ms: int, buffer: float, bdp: float) -> None:
    (case,) = thesis_cases([run(1, plan(rate, {"bbr": 10}, rtt_ms=rtt_ms, buffer=buffer), many())])
    assert buffer_in_bdp(case) == pytest.approx(bdp)


def test_fairness_by_buffer_needs_two_buffers_of_bbr_alone() -> None:
    runs = [
        run(1, plan(100e6, {"bbr": 10}), many(jain=0.9)),
        run(2, plan(100e6, {"reno": 10}), many(jain=0.9)),
    ]
    assert isinstance(fairness_by_buffer(runs, "x", "X"), Missing)
    runs += [run(3, plan(100e6, {"bbr": 10}, buffer=0.25), many(jain=0.4))]
    drawn = fairness_by_buffer(runs, "x", "X")
    assert isinstance(drawn, Drawing)
    assert set(drawn.run_ids) == {runs[0].run_id, runs[2].run_id}
    drawn.close()


def test_fairness_by_buffer_marks_what_differs_besides_the_buffer() -> None:
    runs = [run(n, plan(100e6, {"bbr": 10}, buffer=n), many(jain=0.9)) for n in (1, 2)]
    pulsed = plan(100e6, {"bbr": 10})
    pulsed["link"]["changes"] = ["at 120 s: rate 125 Mbit/s"]
    drawn = fairness_by_buffer([*runs, run(3, pulsed, many(jain=0.3))], "x", "X")
    assert isinstance(drawn, Drawing)
    names = {text.get_text() for text in drawn.figure.legends[0].get_texts()}
    assert names == {"20 ms", "only the buffer differs", "path or hosts otherwise"}
    drawn.close()


def test_fairness_by_occupancy_takes_bbr_flows_alone_whose_queue_was_recorded() -> None:
    runs = [
        run(1, plan(100e6, {"bbr": 10}), many(jain=0.9)),
        run(2, plan(100e6, {"bbr": 10}), many(jain=0.3, occupancy_mean=0.99)),
        run(3, plan(100e6, {"reno": 10}), many(jain=0.9, occupancy_mean=0.5)),
    ]
    assert isinstance(fairness_by_occupancy(runs[:1], "x", "X"), Missing)
    drawn = fairness_by_occupancy(runs, "x", "X")
    assert isinstance(drawn, Drawing)
    assert drawn.run_ids == (runs[1].run_id,)
    drawn.close()


def test_among_many_conditions_chapter_3_keeps_to_the_thesis() -> None:
    few = [run(n, plan(100e6, {"bbr": 10}, rtt_ms=20 * n, buffer=0.25), many(jain=0.9)) for n in range(1, 4)]
    all_of_them = draw(BBR_ALONE, thesis_cases(few))
    assert isinstance(all_of_them, Drawing)
    assert len(all_of_them.run_ids) == 3
    rest = [run(n, plan(100e6, {"bbr": 10}, rtt_ms=20 * n), many(jain=0.9)) for n in range(4, 11)]
    thesis = draw(BBR_ALONE, thesis_cases(few + rest))
    assert isinstance(thesis, Drawing)
    assert len(thesis.run_ids) == 7
    assert "3 conditions that are not the thesis' are left out" in thesis.caption
    all_of_them.close()
    thesis.close()


@pytest.mark.parametrize(
    ("moved", "settled", "pale"),
    [
        ([0.001, 0.002, 0.3], True, False),  # the median counts
        ([0.02, 0.03, 0.04], False, False),
        ([0.02, 0.06, 0.3], False, True),
        ([0.001, None, None], False, True),  # who does not say is not at rest
    ],
)
def test_what_had_not_come_to_rest_is_told_and_pale(
    moved: list[float | None], settled: bool, pale: bool
) -> None:
    ends = [None if by is None else Settled(0.9, by, 60 * 10**9, None) for by in moved]
    same = [run(n, plan(100e6, {"bbr": 10}), many(jain=0.9, jain_settled=end)) for n, end in enumerate(ends)]
    other = run(9, plan(100e6, {"bbr": 50}), many(jain=0.9, jain_settled=Settled(0.9, 0.0, 60 * 10**9, None)))
    drawn = draw(BBR_ALONE, thesis_cases([*same, other]))
    assert isinstance(drawn, Drawing)
    assert f"{1 + settled} of 2 conditions had settled" in drawn.caption
    names = {text.get_text() for text in drawn.figure.legends[0].get_texts()}
    assert ("pale: far from rest" in names, "pale" in drawn.caption) == (pale, pale)
    drawn.close()


def test_a_figure_of_other_than_shares_says_nothing_of_rest() -> None:
    drawn = draw(QUEUE, thesis_cases([run(1, plan(100e6, {"bbr": 10}), many(utilisation=1.0))]))
    assert isinstance(drawn, Drawing)
    assert "settled" not in drawn.caption
    drawn.close()


def test_the_queue_has_a_panel_for_each_mix_of_ccas_and_scale() -> None:
    full = many(utilisation=1.0, occupancy_mean=0.8)
    plans = [
        plan(100e6, {"bbr": 10}), plan(100e6, {"bbr": 1, "reno": 9}), plan(1e9, {"bbr": 1, "reno": 99}),
        plan(100e6, {"bbr": 5, "reno": 5}),
    ]  # fmt: skip
    drawn = draw(QUEUE, thesis_cases([run(n, each, full) for n, each in enumerate(plans)]))
    assert isinstance(drawn, Drawing)
    titles = {axes.get_title(loc="left") for axes in drawn.figure.axes} - {""}
    assert titles == {
        "BBR, edge", "one BBR flow + NewReno, edge", "one BBR flow + NewReno, middle", "BBR + NewReno, edge"
    }  # fmt: skip
    assert {text.get_text() for text in drawn.figure.legends[0].get_texts()} >= {"utilisation", "occupancy"}
    drawn.close()


def test_a_legend_does_not_name_what_is_not_drawn() -> None:
    drawn = draw(QUEUE, thesis_cases([run(1, plan(100e6, {"bbr": 10}), many(utilisation=1.0))]))
    assert isinstance(drawn, Drawing)
    names = {text.get_text() for text in drawn.figure.legends[0].get_texts()}
    assert "utilisation" in names
    assert "occupancy" not in names
    drawn.close()


def moving(number: int, by: float, buffer: float = 1) -> Observed:
    series = pl.DataFrame({"t_ns": [0, 10**10], "jain": [0.2, 0.2 + by]})
    made = plan(100e6, {"bbr": 10}, rtt_ms=20 * number, buffer=buffer)
    return run(number, made, many(jain=0.9, jain_series=series))


def over_time(runs: list[Observed]) -> Result:
    return fairness_over_time(runs, "x", "X", list(thesis_cases(runs).items()), is_thesis)


def test_over_time_the_thesis_conditions_that_moved_most_are_drawn() -> None:
    still = [moving(n, 0.0) for n in range(1, MAX_PANELS + 1)]
    first = over_time(still)
    assert isinstance(first, Drawing)
    assert "not drawn" not in first.caption
    moved, variant = moving(MAX_PANELS + 1, 0.5), moving(MAX_PANELS + 2, 0.7, buffer=0.25)
    drawn = over_time([*still, moved, variant])
    assert isinstance(drawn, Drawing)
    assert len(drawn.run_ids) == MAX_PANELS
    assert moved.run_id in drawn.run_ids
    assert variant.run_id not in drawn.run_ids
    assert "2 further condition(s)" in drawn.caption
    first.close()
    drawn.close()


@pytest.mark.parametrize(("conditions", "columns"), [(1, 1), (2, 2), (4, 3)])
def test_few_conditions_over_time_leave_no_column_empty(conditions: int, columns: int) -> None:
    drawn = fairness_over_time([moving(number, 0.5) for number in range(1, conditions + 1)], "x", "X")
    assert isinstance(drawn, Drawing)
    axes = drawn.figure.axes
    assert len(axes) == conditions
    assert axes[0].get_gridspec().ncols == columns
    drawn.close()


def behind(number: int, mix: dict[str, int], queue: str, cca: str, share: float, **other: Any) -> Observed:
    made = plan(100e6, mix, **other)
    made["link"] |= {"queue": queue, "up": {"loss_percent": other.get("loss_percent", 0.0)}}
    if queue != "bfifo":
        made["link"]["down"] = {
            "limit_packets": 1000,
            "queue_options": {"limit": "1000", "flows": other.get("queues", "1024")},
        }
    return run(number, made, many(shares={cca: Share(share, 0.5, mix[cca])}))


def test_shares_by_queue_are_of_two_ccas_that_met_behind_several_kinds_of_queue() -> None:
    half = {"bbr": 5, "reno": 5}
    runs = [
        behind(1, half, "bfifo", "bbr", 0.43),
        behind(2, half, "bfifo", "bbr", 0.9, buffer=0.25),
        behind(3, {"bbr": 10}, "pie", "bbr", 1.0),
        behind(4, {"cubic": 25, "reno": 25}, "bfifo", "cubic", 0.7),
    ]
    assert isinstance(shares_by_queue(runs, "x", "X"), Missing)
    runs += [behind(5, half, "fq_codel", "bbr", 0.5), behind(6, half, "pie", "bbr", 0.95)]
    runs.append(behind(7, half, "codel", "bbr", 0.2, loss_percent=1.0))
    drawn = shares_by_queue(runs, "x", "X")
    assert isinstance(drawn, Drawing)
    assert set(drawn.run_ids) == {runs[0].run_id, runs[4].run_id, runs[5].run_id}
    (axes,) = drawn.figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["drop-tail", "PIE", "FQ-CoDel"]
    drawn.close()


def test_an_aqm_that_was_set_in_two_ways_is_two_conditions() -> None:
    half = {"bbr": 5, "reno": 5}
    one = [behind(1, half, "fq_codel", "bbr", 0.5), behind(2, half, "pie", "bbr", 0.9)]
    assert [case.words() for case in thesis_cases(one)] == [
        "edge, 5 bbr + 5 reno, 20 ms, fq_codel", "edge, 5 bbr + 5 reno, 20 ms, pie"
    ]  # fmt: skip
    two = [*one, behind(1, half, "fq_codel", "bbr", 0.6, queues="32768")]
    assert [(case.queue, case.variant) for case in thesis_cases(two)] == [
        ("fq_codel", "flows 1024"), ("fq_codel", "flows 32768"), ("pie", "")
    ]  # fmt: skip
    drawn = shares_by_queue(two, "x", "X")
    assert isinstance(drawn, Drawing)
    names = [label.get_text() for label in drawn.figure.axes[0].get_xticklabels()]
    assert names == ["PIE", "FQ-CoDel\nflows 1024", "FQ-CoDel\nflows 32768"]
    drawn.close()


@pytest.mark.parametrize(("repetitions", "marked"), [((1, 2), True), ((1, 1), False), ((2, 2), False)])
def test_points_of_one_run_are_marked_among_points_of_more(
    repetitions: tuple[int, int], marked: bool
) -> None:
    runs = [
        run(10 * flows + seed, plan(100e6, {"bbr": flows}, buffer=0.25), many(jain=0.9))
        for flows, of in zip((10, 20), repetitions, strict=True)
        for seed in range(of)
    ]
    drawn = draw(BBR_ALONE, thesis_cases(runs))
    assert isinstance(drawn, Drawing)
    names = {text.get_text() for text in drawn.figure.legends[0].get_texts()}
    assert ("dot: one run" in names) is marked
    dots = [dot.get_xydata() for dot in drawn.figure.axes[0].lines if dot.get_marker() == "."]
    assert [len(of_a_series) for of_a_series in dots] == ([1] if marked else [])
    drawn.close()
