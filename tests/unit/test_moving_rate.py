"""Rates that move: traces, generators, and what a shaper is set to so that it follows."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import lab
from narrows.errors import NarrowsError
from narrows.metrics.rate.capacity import mean_capacity_bps
from narrows.plan.identity import run_id
from narrows.plan.model import Plan
from narrows.plan.moving import followed
from narrows.runs.capacity import capacity_bps
from narrows.scoring.scored_run import meant
from narrows.spec.moving_rate import MovingRate, leo, lte_drive, outage, sine, square

MS = 1_000_000
S = 1000 * MS
FRAME = 1514


def planned(folder: Path, rate: str, *, more: str = "", duration: str = "5 s") -> Plan:
    return lab.plan(
        folder, f'link = Link(rate={rate}, base_rtt="20 ms"{more})\nflow = bulk(duration="{duration}")'
    )


def traced(folder: Path, text: str, name: str = "drive.down", **more: str) -> Plan:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return planned(folder, f'trace("{name}")', **more)


def capacity(plan: Plan) -> list[tuple[int, int]]:
    assert plan.moving is not None
    return [(step.at_ns, step.rate_bps) for step in plan.moving.down]


def carried_bits(rate: MovingRate, start_ns: int, end_ns: int) -> float:
    steps = [*rate.until(end_ns), (end_ns, 0)]
    return sum(
        bps * max(0, min(to, end_ns) - max(at, start_ns)) / S for (at, bps), (to, _) in pairwise(steps)
    )


def test_mahimahi_counts_packets_of_1504_bytes_in_bins_and_begins_again(tmp_path: Path) -> None:
    # Two packets in the first 20 ms, none in the next, one at the end of the third: 60 ms, then again.
    plan = traced(tmp_path, "3\n19\n60\n", duration="100 ms")
    one = 1504 * 8 * 50  # a packet every 20 ms, in bit/s
    assert capacity(plan)[:5] == [
        (0, 2 * one), (20 * MS, 0), (40 * MS, one), (60 * MS, 2 * one), (80 * MS, 0),
    ]  # fmt: skip
    assert plan.link.rate_down_bps == 3 * 1504 * 8 * 1000 // 60


def test_a_csv_holds_each_rate_until_the_next_row_and_the_last_for_ever(tmp_path: Path) -> None:
    plan = traced(tmp_path, "time,rate\n0 s,10 Mbit/s\n500 ms,0 bit/s\n2 s,5 Mbit/s\n", "drive.csv")
    assert capacity(plan) == [(0, 10_000_000), (500 * MS, 0), (2 * S, 5_000_000)]
    with_units = traced(tmp_path, "time_s,rate_mbps\n0,10\n0.5,0\n2,5\n", "other.csv")
    assert capacity(with_units) == capacity(plan)


def test_a_traces_content_is_in_the_runs_id_and_its_name_is_not(tmp_path: Path) -> None:
    ids = [
        run_id(traced(tmp_path / str(n), text, name), kernel="k", agent="a")
        for n, (text, name) in enumerate([("3\n60\n", "a"), ("3\n60\n", "b"), ("4\n30\n60\n", "a")])
    ]
    assert ids[0] == ids[1] != ids[2]


def test_other_plans_have_no_word_of_it(tmp_path: Path) -> None:
    plan = planned(tmp_path, '"10 Mbit/s"')
    assert "moving" not in plan.to_dict()
    assert "home" not in plan.to_dict()["link"]


def test_a_fast_rate_is_set_as_it_is(tmp_path: Path) -> None:
    steps = followed(square("5 Mbit/s", "50 Mbit/s", "4 s"), FRAME, 1600, 5 * S)
    assert [(s.at_ns, s.rate_bps, s.burst_bytes) for s in steps] == [
        (0, 50_000_000, 1600), (2 * S, 5_000_000, 1600), (4 * S, 50_000_000, 1600),
    ]  # fmt: skip


def test_in_an_outage_a_frame_is_charged_until_its_end_and_the_bucket_is_one_frame() -> None:
    rate = outage("20 Mbit/s", "1 s", "2 s")
    steps = [s for s in followed(rate, FRAME, 1600, 10 * S) if S <= s.at_ns < 3 * S]
    assert len(steps) == 200
    assert {s.burst_bytes for s in steps} == {0}
    for s in steps:
        ends_ns = s.at_ns + FRAME * 8 * S / s.rate_bps
        # What is left of the outage, and the frame itself at 20 Mbit/s (0.6 ms); rates are whole bits.
        assert ends_ns == pytest.approx(3 * S + FRAME * 8 * S / 20_000_000, abs=10 * MS)


@pytest.mark.parametrize("rate", [lte_drive(seed=3), leo(seed=2), sine("500 kbit/s", "490 kbit/s")])
def test_a_frame_that_leaves_at_any_step_is_charged_what_the_rate_takes_for_it(rate: MovingRate) -> None:
    """The invariant: between its leaving and the end of its charge the moving rate carries one frame."""
    slow = [s for s in followed(rate, FRAME, 1600, 60 * S) if not s.burst_bytes]
    assert slow or rate.called.startswith("leo")
    for s in slow:
        needs_ns = FRAME * 8 * S // s.rate_bps
        assert carried_bits(rate, s.at_ns, s.at_ns + needs_ns) == pytest.approx(FRAME * 8, rel=0.02)


def test_generators_depend_on_nothing_but_their_arguments() -> None:
    assert lte_drive(seed=1).steps == lte_drive(seed=1).steps != lte_drive(seed=2).steps
    levels = leo(seed=1).steps
    assert [at for at, bps in levels if not bps] == [n * 15 * S for n in range(1, 8)]
    assert sum(not bps for _, bps in lte_drive(seed=1, duration="600 s").steps) > 0


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("1\nten\n", "a", "a:2: 'ten' is not a whole number of milliseconds"),
        ("1\n-4\n", "a", "a:2: a negative time, -4"),
        ("5\n4\n", "a", "a:2: 4 ms after 5 ms"),
        ("\n", "a", "a: is empty"),
        ("0\n0\n", "a", "a: all its times are 0"),
        ("1\n" * 900000, "a", "more than a guest's link can"),
        ("time_s,rate_mbps\n", "a.csv", "a.csv: has no rows"),
        ("0,5\n", "a.csv", "a.csv:1: the header is '0,5'"),
        ("time_s,rate_mbps\n0,ten\n", "a.csv", "a.csv:2: 'ten' is not a rate"),
        ("time_s,rate_mbps\n0,-1\n", "a.csv", "a.csv:2: a negative rate, -1"),
        ("time_s,rate_mbps\n0,1\n0,2\n", "a.csv", "a.csv:3: a time of 0 is not after the one before it"),
        ("time_s,rate_mbps\n1,1\n", "a.csv", "a.csv:2: the first row is at 1"),
        ("time_s,rate_mbps\n0,1,2\n", "a.csv", "a.csv:2: 3 cells"),
        ("time_s,rate_mbps\n0,20000\n", "a.csv", "its rate reaches 20 Gbit/s, more than a guest's link can"),
        ("time_s,rate_mbps\n0,0\n1,0\n", "a.csv", "its rate is 0 throughout"),
        ("time,rate\n0 s,5\n", "a.csv", "a.csv:2: '5' is not a rate"),
    ],
)
def test_a_bad_trace_is_one_clear_line_with_the_traces_own_line(
    tmp_path: Path, text: str, name: str, message: str
) -> None:
    with pytest.raises(NarrowsError) as caught:
        traced(tmp_path, text, name)
    assert message in caught.value.message
    assert caught.value.remedy
    assert str(caught.value.where).endswith("tiny.py:3")


@pytest.mark.parametrize(
    ("rate", "more", "message"),
    [
        ('trace("none.down")', "", "none.down: cannot be read"),
        ("lte_drive()", ', shaper=tbf(burst="10 KB")', "tbf cannot follow"),
        ("lte_drive()", ', shaper=htb(burst="10 KB")', "htb(burst=…) with a rate that moves"),
        ("lte_drive()", ', queue=cake(bandwidth="1 Mbit/s")', "never act beside cake(bandwidth=1 Mbit/s)"),
        ('"5 Mbit/s"', ", queue=cake(bandwidth=lte_drive())", "lte_drive-1 moves, and this rate does not"),
        ('sine("1 Mbit/s", "2 Mbit/s")', "", "would go below 0"),
        ('outage("1 Mbit/s", "5 s", "2 s", every="6 s")', "", "the first one ends at 7 s"),
    ],
)
def test_what_cannot_follow_is_refused(tmp_path: Path, rate: str, more: str, message: str) -> None:
    with pytest.raises(NarrowsError) as caught:
        planned(tmp_path, rate, more=more)
    assert message in caught.value.message


def test_a_moving_rate_is_not_changed_by_hand_too(tmp_path: Path) -> None:
    text = 'link = Link(rate=lte_drive())\nlink.at("1 s", rate="1 Mbit/s")\nflow = bulk(duration="5 s")'
    with pytest.raises(NarrowsError) as caught:
        lab.plan(tmp_path, text)
    assert "moves by itself" in caught.value.message


def test_the_mean_capacity_of_a_window_counts_each_rate_for_as_long_as_it_lasts() -> None:
    steps = [(0, 10), (2 * S, 0), (3 * S, 20)]
    # 1 s at 10, 1 s of outage, 2 s at 20 bit/s.
    assert mean_capacity_bps(steps, (S, 5 * S)) == pytest.approx((10 + 0 + 40) / 4)
    assert mean_capacity_bps(steps, (2 * S, 3 * S)) == 0
    assert mean_capacity_bps(steps, (-S, S)) == 10
    with pytest.raises(ValueError, match="window"):
        mean_capacity_bps(steps, (S, S))


def test_the_truth_follows_what_is_changed_by_hand_too(tmp_path: Path) -> None:
    text = 'link = Link(rate="8 Mbit/s")\nlink.at("1 s", rate="2 Mbit/s")\nflow = bulk(duration="4 s")'
    plan = lab.plan(tmp_path, text)
    assert plan.moving is not None
    assert (plan.moving.shapers, capacity(plan)) == ((), [(0, 8_000_000), (S, 2_000_000)])
    assert capacity_bps(plan, "down", (0, 2 * S)) == 5_000_000
    assert capacity_bps(plan, "down", None) == 8_000_000


def test_of_a_home_a_score_is_of_the_slower_of_two_shapers_in_each_direction(tmp_path: Path) -> None:
    router = "home_router(ingress=cake(ingress=True))"
    link = f'Home(rate="30 Mbit/s", rate_up="10 Mbit/s", router={router})'
    plan = lab.plan(tmp_path, f'link = {link}\nflow = bulk(duration="4 s")')
    queue = pl.DataFrame(
        {"hop": ["isp", "isp", "home"], "direction": ["down", "up", "down"], "t_ns": [1, 2, 3]}
    )
    assert meant(plan, queue)["t_ns"].to_list() == [2, 3]


@pytest.mark.parametrize(
    ("text", "mean_bps"),
    [
        ("time_s,rate_mbps\n0,1\n1,100\n", 50_500_000),
        ("\ufefftime_s,rate_mbps\r\n0,10\r\n5,20\r\n", 15_000_000),
        ("time_s,rate_mbps\n0,0\n2,50\n", 25_000_000),
    ],
)
def test_the_last_rate_of_a_csv_counts_in_its_mean(tmp_path: Path, text: str, mean_bps: int) -> None:
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    assert planned(tmp_path, 'trace("r.csv")').link.down.rate_bps == mean_bps


def test_a_stray_quote_in_a_csv_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text('time_s,rate_mbps\n0,"10\n5,20\n')
    with pytest.raises(NarrowsError, match=r"r.csv:2: '0,\"10': a quote"):
        planned(tmp_path, 'trace("r.csv")')
