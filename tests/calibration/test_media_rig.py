"""Each medium does what its schedule says, to the nanosecond, and the same in every run.

That no turn is early, late or too full, and that no packet is lost from sight, every run proves of itself
(narrows.store.media). Here it is shown that turns are used: rates, gaps and aggregates where something always
waits, worked out by hand.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lab
from narrows.media.schedule import Turn, decoded
from narrows.plan.model import Plan

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

MS = 1_000_000
FULL = 1514
"""A full packet with its Ethernet header."""
FLOW = '\nflow = bulk(cca="cubic", duration="3 s")\n'


def made(folder: Path, text: str) -> lab.Made:
    (one,) = lab.make([lab.plan(folder, text)], folder / "out")
    return one.ok()


def packets(run: lab.Made, direction: str = "down") -> pl.DataFrame:
    table = pl.read_parquet(run.directory / "media.parquet")
    return table.filter(pl.col("direction").cast(pl.String) == direction).with_columns(
        pl.col("outcome").cast(pl.String)
    )


def turns(run: lab.Made, number: int = 0) -> tuple[Turn, ...]:
    medium = Plan.read(run.directory / "plan.json").media[number]
    return decoded(medium.unit_ns, medium.turns)


def test_a_measured_link_carries_what_its_trace_says_and_no_more(tmp_path: Path) -> None:
    sizes = [(1, 3000), (2, 700), (7, 5000), (7, 9), (13, 1514), (20, 4000)]  # of 20 ms: 5.7 Mbit/s
    (tmp_path / "t.csv").write_text("time_ms,bytes\n" + "".join(f"{at},{size}\n" for at, size in sizes))
    run = made(tmp_path, f'link = Link(medium=opportunities("t.csv"), queue=pfifo(limit=200)){FLOW}')
    sent = packets(run).filter(pl.col("sent_ns").is_between(1000 * MS, 2900 * MS, closed="left"))
    assert {at // MS for at in (sent["sent_ns"] % (20 * MS)).unique()} <= {0, 1, 2, 7, 13}
    # 95 rounds of 14223 bytes of IP; what was begun before or is not ended after is less than a packet.
    carried = (sent["bytes"] - 14).sum()
    assert carried == pytest.approx(95 * 14_223, abs=1500)


def test_a_packet_that_may_not_go_in_parts_waits_for_a_turn_that_holds_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_ms,bytes\n1,1499\n2,3000\n4,4499\n")
    link = 'Link(medium=opportunities("t.csv", splits=False), queue=pfifo(limit=200))'
    run = made(tmp_path, f"link = {link}{FLOW}")
    steady = pl.col("sent_ns").is_between(1000 * MS, 2900 * MS)
    full = packets(run).filter((pl.col("bytes") == FULL) & steady)
    counts = full.group_by("turn").len().sort("turn")
    assert dict(zip((counts["turn"] % 3).to_list(), counts["len"].to_list(), strict=True)) == {1: 2, 2: 2}
    assert set(counts["len"].to_list()) == {2}


def test_wifi_sends_aggregates_that_take_their_time_on_the_air(tmp_path: Path) -> None:
    link = 'Link(medium=wifi(rate="60 Mbit/s", packets=16), base_rtt="10 ms", queue=pfifo(limit=400))'
    run = made(tmp_path, f"link = {link}{FLOW}")
    sent = packets(run).filter(pl.col("sent_ns").is_between(1000 * MS, 2900 * MS))
    groups = sent.group_by("turn").agg(pl.len(), (pl.col("left_ns") - pl.col("sent_ns")).unique())
    assert set(groups["len"].to_list()) == {16}
    # 44 + 16 + 32 µs, and 16 packets of 1548 bytes at 60 Mbit/s.
    assert {took for each in groups["left_ns"] for took in each} == {92_000 + 16 * 1548 * 8 * 1000 // 60}
    # Nobody is on the air twice.
    both = pl.concat([packets(run, way) for way in ("down", "up")]).select("sent_ns", "left_ns").unique()
    spans = both.sort("sent_ns").rows()
    assert all(first[1] < second[0] for first, second in itertools.pairwise(spans))


def test_packets_that_fail_are_sent_again_and_hold_back_what_follows(tmp_path: Path) -> None:
    link = 'Link(medium=wifi(rate="60 Mbit/s", failure="20 %", retries=1), queue=pfifo(limit=400))'
    run = made(tmp_path, f"link = {link}{FLOW}")
    sent = packets(run)
    tries = dict(sent.group_by("tries").len().rows())
    assert set(tries) == {1, 2}
    assert tries[2] / sent.height == pytest.approx(0.2, abs=0.03)
    assert (sent["outcome"] == "lost").sum() / sent.height == pytest.approx(0.04, abs=0.015)
    arrived = sent.filter(pl.col("outcome") == "arrived")
    assert arrived["entered_ns"].is_sorted()


def test_a_block_that_fails_delays_all_that_came_after_it(tmp_path: Path) -> None:
    run = made(tmp_path, f'link = Link(medium=lte(rate="20 Mbit/s"), queue=pfifo(limit=200)){FLOW}')
    sent, schedule = packets(run).filter(pl.col("outcome") == "arrived"), turns(run)
    hold = np.array([turn.hold_ns for turn in schedule])
    due = sent["sent_ns"].to_numpy() + hold[sent["turn"].to_numpy() % len(schedule)]
    assert (np.maximum.accumulate(due) == sent["left_ns"].to_numpy()).all()
    assert sorted(set(hold.tolist())) == [MS, 9 * MS, 17 * MS, 25 * MS]


def test_a_satellite_loses_what_it_sends_after_a_reallocation(tmp_path: Path) -> None:
    link = 'Link(medium=satellite(rate="10 Mbit/s", first="1 s", every="2 s", length="4 s"), queue=pfifo())'
    run = made(tmp_path, f"link = {link}{FLOW}")
    sent, schedule = packets(run), turns(run)
    in_lost = [bool(schedule[turn % len(schedule)].lost) for turn in sent["turn"]]
    assert in_lost == (sent["outcome"] == "lost").to_list()
    assert sum(in_lost) > 0


def test_a_cable_modem_waits_for_its_grant(tmp_path: Path) -> None:
    link = 'link = Link(rate="50 Mbit/s", medium_up=docsis(rate="20 Mbit/s"), queue=pfifo(limit=300))\n'
    run = made(tmp_path, link + 'p = ping(interval="7.3 ms", duration="2 s")\n')
    waited = packets(run, "up").select((pl.col("sent_ns") - pl.col("entered_ns")).alias("w"))["w"]
    assert waited.len() > 200
    # To the next MAP, and three more.
    assert 6 * MS <= waited.min() <= 6.3 * MS  # type: ignore[operator]
    assert 7.7 * MS <= waited.max() <= 8 * MS  # type: ignore[operator]
    flow = made(tmp_path / "up", link + 'flow = bulk(direction="up", duration="3 s")\n')
    sent = packets(flow, "up").filter(pl.col("sent_ns").is_between(1000 * MS, 2900 * MS, closed="left"))
    # 950 MAPs of 5000 bytes; a packet counts its IP length and 24 bytes.
    assert (sent["bytes"] + 10).sum() == pytest.approx(950 * 5000, rel=0.001)


@pytest.mark.parametrize(
    "medium", ['wifi(rate="60 Mbit/s", stations=1, failure="5 %")', 'lte(rate="20 Mbit/s")']
)
def test_the_same_plan_gives_the_same_packets(tmp_path: Path, medium: str, all_cores: set[int]) -> None:
    one = lab.plan(tmp_path, f'link = Link(medium={medium}, queue=fq_codel())\ntap("packets"){FLOW}')
    with lab.cores(all_cores):
        first = lab.carry(one, tmp_path / "a", cpu=min(all_cores)).ok()
        with lab.burners(all_cores):
            second = lab.carry(one, tmp_path / "b", cpu=max(all_cores)).ok()
    for name in ("tap.bin", "media.bin"):
        assert first.bytes_of(name) == second.bytes_of(name)
