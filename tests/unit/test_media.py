"""Media: schedules as text, what models draw, what a bad trace says, and records against the schedule."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from narrows.cli.main import build_app
from narrows.errors import SpecError, UsageError
from narrows.media import fitted
from narrows.media.schedule import Turn, air_ns, capacity_steps, decoded, encoded
from narrows.metrics.statistics.kolmogorov_smirnov import kolmogorov_smirnov
from narrows.plan.build import plan_file
from narrows.plan.model import Plan
from narrows.runs.capacity import medium_bps
from narrows.spec import docsis, lte, nr, satellite, wifi
from narrows.store import media
from narrows.store.agent_result import AgentResult

MS = 1_000_000
FLOW = '\nflow = bulk(duration="2 s")\n'


def plan_of(tmp_path: Path, link: str, **files: str) -> Plan:
    for name, text in files.items():
        (tmp_path / name.replace("_", ".")).write_text(text)
    file = tmp_path / "one.py"
    file.write_text(f'"""One?"""\nfrom narrows.spec import *\n{link}{FLOW}')
    return plan_file(file).plans[0]


def refused(tmp_path: Path, link: str, **files: str) -> str:
    with pytest.raises(SpecError) as caught:
        plan_of(tmp_path, link, **files)
    assert caught.value.where is not None
    return caught.value.message


TRACE = 'link = Link(medium=opportunities("t.down"{}))'
CSV = 'link = Link(medium=opportunities("t.csv"))'


def test_turns_are_the_same_after_they_were_text() -> None:
    turns = (Turn(3000, 1500, 2000), *[Turn(4000, 1500, 2000, 7, 1, 1, 5)] * 3, Turn(4000, 0))
    unit, text = encoded(turns)
    assert unit == 1000
    assert text == "3/1500/2 4///7/1/1/5*3 /0/0/0/0/0/0"
    assert decoded(unit, text) == turns


def test_a_mahimahi_trace_is_opportunities_of_1504_bytes_that_begin_again(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TRACE.format(""), t_down="1\n1\n4\n10\n")
    down, up = plan.media
    assert decoded(down.unit_ns, down.turns) == (
        Turn(MS, 2 * 1504), Turn(3 * MS, 1504), Turn(6 * MS, 1504),
    )  # fmt: skip
    assert (down.repeat_ns, down.splits, down.overhead_bytes, down.grant_turns) == (10 * MS, True, 4, 0)
    assert (up.turns, up.iface != down.iface) == (down.turns, True)
    # 4 opportunities in each 10 ms; that at 100 ms is the next bin's
    assert plan.moving is not None
    assert plan.moving.down[0].rate_bps == (40 - 1) * 1504 * 8 * 10
    assert (plan.link.shaper, plan.link.rate_down_bps, plan.calibration.rate_down_bps) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "t.down: is empty"),
        ("5\n3\n", "t.down:2: 3 ms after 5 ms"),
        ("1\n-2\n", "t.down:2: a negative time, -2"),
        ("1\nx\n", "t.down:2: 'x' is not a whole number of milliseconds"),
        ("1\n1.5\n", "t.down:2: '1.5' is not a whole number of milliseconds"),
        ("0\n0\n", "t.down: all its times are 0"),
        ("9" * 30, "t.down:1: "),
    ],
)
def test_a_bad_trace_is_told_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path, TRACE.format(""), t_down=text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "t.csv:1: the header is 'a,b'"),
        ("time_ms,bytes\n", "t.csv: has no rows"),
        ("time_ms,bytes\n2,1500\n1,1500\n", "t.csv:3: 1 is before"),
        ("time_ms,bytes\n2,-5\n", "t.csv:2: '-5' are no bytes"),
        ("time_ms,bytes\n2,0\n", "t.csv: it never sends anything"),
        ("time_ms,bytes\n2,99999999999\n", "t.csv: over 2147483648 bytes at one time"),
        ("time_ms,bytes\n2\n", "t.csv:2: 1 cells"),
        ("t_ns,bytes\n1,1500\n", "1 turns down in 1 ns"),
    ],
)
def test_a_bad_csv_is_told_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path, CSV, t_csv=text)


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ('Link(medium=docsis(rate="10 Mbit/s"))', "docsis has no way down"),
        ('Link(rate="5 Mbit/s", medium=lte(rate="10 Mbit/s"))', "both say what the link carries"),
        ('Link(medium=lte(rate="9 Mbit/s"), rate="5 Mbit/s", rate_up="5 Mbit/s")', "both say what the link"),
        ('Link(medium=lte(rate="10 Mbit/s"), shaper=htb())', "both say when packets leave"),
        (
            'Link(medium=lte(rate="9 Mbit/s"), queue=cake(bandwidth="5 Mbit/s"))',
            "both say when packets leave",
        ),
        ('Link(medium=lte(rate="9 Mbit/s", ring="5 GB"))', "ring: 5 GB"),
        ('Link(medium=lte(rate="9 Mbit/s", harq="2 s"))', "arrives up to 6.001 s later"),
        ('Link(medium=lte(rate="9 Mbit/s", length="1 h"))', "3600000 TTIs"),
        ('Link(medium=lte(rate="9 Mbit/s", handover="90 s"))', "length (60 s) is no multiple of handover"),
        ('Link(medium=satellite(rate="9 Mbit/s", frame="1 us"))', "60000000 frames"),
        ('Link(medium=satellite(rate="9 Mbit/s", first="14.99 s"))', "end at 15.04 s, after every"),
        (
            'Link(rate="9 Mbit/s", medium_up=docsis(rate="9 Gbit/s", map="10 s"))',
            "a turn up of 11250000000 bytes",
        ),
        ('Link(medium=lte(rate="10 Mbit/s", gap="1 s"))', "there is none"),
        ('Link(medium=lte(rate="10 Mbit/s", harq="2.5 ms"))', "no multiple of tti"),
        ('Link(medium=lte(rate="1 kbit/s"))', "it never sends anything"),
        ('Link(medium=wifi(rate="10 Mbit/s", txop="9 ms"))', "txop: 9 ms"),
        ('Link(medium=wifi(rate="1 Mbit/s", txop="1 ms"))', "a packet of 1500 bytes goes whole"),
        ('Link(medium=wifi(rate="10 Mbit/s"), offloads={"tso": True})', "packets of 64 KB"),
        ('Link(medium=satellite(rate="10 Mbit/s", gap="16 s"))', "gap and loss take"),
        ('Link(rate="5 Mbit/s", keep_order=True)', "there is none"),
        (
            'Link(rate="5 Mbit/s", jitter="1 ms", base_rtt="9 ms", keep_order=True, reorder="1 %")',
            "contradict",
        ),
    ],
)
def test_what_contradicts_is_told(tmp_path: Path, link: str, said: str) -> None:
    assert said in refused(tmp_path, f"link = {link}")


def test_a_rate_that_a_change_names_has_nothing_to_act_on(tmp_path: Path) -> None:
    link = 'link = Link(medium=lte(rate="10 Mbit/s"))\nlink.at("1 s", rate="5 Mbit/s")'
    assert "what a medium carries is in its schedule" in refused(tmp_path, link)


def test_only_the_way_up_may_be_a_medium(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 'link = Link(rate="100 Mbit/s", medium_up=docsis(rate="20 Mbit/s"))')
    (up,) = plan.media
    assert (up.direction, up.grant_turns, up.turns) == ("up", 3, "1/5000")
    assert (plan.link.rate_down_bps, plan.link.rate_up_bps) == (100_000_000, None)


def test_blocks_that_fail_are_held_and_take_a_later_block() -> None:
    made = lte(rate="12 Mbit/s", bler="10 %", length="10 s").schedule("down")
    holds = [turn.hold_ns for turn in made.turns]
    assert set(holds) <= {(1 + 8 * n) * MS for n in range(4)}
    # A tenth fails, and each takes one of the 10000 TTIs: 10000 / 1.11 carry something new.
    assert len(made.turns) == pytest.approx(10_000 / 1.11, rel=0.02)
    assert sum(hold > MS for hold in holds) / len(holds) == pytest.approx(0.1, abs=0.01)
    assert {turn.bytes for turn in made.turns} == {1500}
    assert lte(rate="12 Mbit/s").schedule("up").grant_turns == 12
    assert nr(rate="12 Mbit/s").schedule("up").grant_turns == 10


def test_a_satellite_changes_every_15_s() -> None:
    made = satellite(rate="12 Mbit/s", frame="1 ms", loss="10 ms", gap="40 ms").schedule("down")
    turns = list(made.times(60_000 * MS))
    gaps = [at for at, turn in turns if turn.wait_ns == 41 * MS]
    assert gaps == [12_040 * MS, 27_040 * MS, 42_040 * MS, 57_040 * MS]
    assert sum(turn.lost for _, turn in turns) == 4 * 10
    assert len({turn.hold_ns for _, turn in turns}) == 4
    # As it begins again it is the last satellite still, until 72 s.
    assert made.turns[0].hold_ns == made.turns[-1].hold_ns


def test_a_handover_ends_with_a_gap_each_time_also_where_the_schedule_begins_again() -> None:
    made = lte(rate="12 Mbit/s", bler="0 %", handover="20 s", gap="50 ms").schedule("down")
    gaps = [at for at, turn in made.times(130_000 * MS) if turn.wait_ns > 9 * MS]
    # The first block after each; that of 60 s is of the next round, whose first turn waits a TTI.
    assert gaps == [20_001 * MS, 40_001 * MS, 80_001 * MS, 100_001 * MS]
    times = [at for at, _ in made.times(61_000 * MS)]
    assert [later - at for at, later in itertools.pairwise(times) if later - at > MS] == [51 * MS] * 3


def test_others_on_the_air_leave_a_station_its_share() -> None:
    alone, among = (wifi(rate="120 Mbit/s", stations=n).mean("down", 1500).bps for n in (0, 2))
    # 32 packets of 1548 bytes take 3302.4 of 4000 µs; each of two others takes all, and a third of a backoff.
    bits, own_s = 32 * 1548 * 8, (3302.4 + 92 + 43 + 67.5) / 1e6
    assert alone == pytest.approx(bits / own_s, rel=0.001)
    assert among == pytest.approx(bits / (own_s + 2 * (4000 + 92 + 43 + 22.5) / 1e6), rel=0.05)


def test_what_fails_is_not_carried() -> None:
    one, failing = (
        wifi(rate="120 Mbit/s", packets=1, failure=f"{n} %").mean("down", 1500).bps for n in (0, 20)
    )
    assert one == pytest.approx(1548 * 8 / ((103.2 + 92 + 43 + 67.5) / 1e6), rel=0.01)
    assert failing == pytest.approx(0.8 * one, rel=0.03)


def test_a_phy_whose_rate_moves_has_turns_for_all_of_it(tmp_path: Path) -> None:
    text = "time_s,rate_mbps\n0,60\n50,6\n100,6\n"
    plan = plan_of(tmp_path, 'link = Link(medium=wifi(rate=trace("r.csv"), txop="2 ms"))', r_csv=text)
    turns = decoded(plan.media[0].unit_ns, plan.media[0].turns)
    assert {turn.kbps for turn in turns} == {60_000, 6000}
    assert sum(turn.wait_ns + air_ns(turn, turn.bytes) for turn in turns) >= 100_000 * MS


def test_both_ways_of_one_wifi_share_its_air_however_it_is_given(tmp_path: Path) -> None:
    wifi = 'wifi(rate="60 Mbit/s")'
    for link, airs in (
        (f"link = Link(medium={wifi})", [0, 0]),
        (f"air = {wifi}\nlink = Link(medium=air, medium_up=air)", [0, 0]),
        (f"link = Link(medium={wifi}, medium_up={wifi})", [0, 1]),
    ):
        assert [each.air for each in plan_of(tmp_path, link).media] == airs


def test_equal_seeds_draw_equal_turns_and_each_way_its_own() -> None:
    one, two, other = (wifi(rate="50 Mbit/s", failure="5 %", seed=seed) for seed in (4, 4, 5))
    assert one.schedule("down") == two.schedule("down")
    assert one.schedule("down") != other.schedule("down")
    assert one.schedule("down").turns != one.schedule("up").turns


def test_capacity_is_what_the_turns_of_each_bin_may_carry() -> None:
    made = docsis(rate="10 Mbit/s").schedule("up")
    assert capacity_steps(made, 300 * MS, 100 * MS, 1500) == [(0, 9_800_000), (100 * MS, 10_000_000)]


def test_the_rate_of_a_run_is_the_mean_of_the_schedule(tmp_path: Path) -> None:
    link = 'link = Link(medium=opportunities("t.csv"), medium_up=docsis(rate="10 Mbit/s"))'
    plan = plan_of(tmp_path, link, t_csv="time_ms,bytes\n100,1000\n1000,9000\n")
    assert [medium_bps(plan, way) for way in ("down", "up")] == [80_000, 10_000_000]
    assert medium_bps(plan_of(tmp_path, 'link = Link(rate="1 Mbit/s")'), "down") is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--medium t.down --only network=wifi", "--only is of packet logs"),
        ("--medium t.down --note x", "--note is of packet logs"),
        ("--seed 2", "--seed is of what --medium draws"),
        ("--medium t.down --out no/t.csv", "no/t.csv cannot be written"),
    ],
)
def test_what_profile_of_a_medium_cannot_do_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.down").write_text("".join(f"{at}\n" for at in range(10, 21_000, 10)))
    done = CliRunner().invoke(build_app(), ["profile", *words.split()])
    assert isinstance(done.exception, UsageError)
    assert said in done.exception.message


EPOCH = 5_000 * MS
RECORD = [(EPOCH + 10, EPOCH + MS, EPOCH + MS, 0, 1514, 0, 1 | 1 << 2)]


def records_and_plan(tmp_path: Path, rows: list[tuple[int, ...]]) -> tuple[Plan, AgentResult, Any]:
    plan = plan_of(tmp_path, TRACE.format(", splits=False"), t_down="1\n2\n4\n")
    plan = plan.model_copy(update={"media": plan.media[:1]})
    totals = {
        "direction": "down", "entered_packets": 1, "entered_bytes": 1514, "arrived_packets": 1,
        "arrived_bytes": 1514, "lost_packets": 0, "lost_bytes": 0, "held_packets": 0, "turns": 3,
    }  # fmt: skip
    result = AgentResult.model_validate(
        {"format": 1, "status": "ok", "error": None, "epoch_monotonic_ns": EPOCH, "media": [totals]}
    )
    return plan, result, np.array(rows, media.DTYPE)


def test_records_as_scheduled_have_no_problem_and_become_a_table(tmp_path: Path) -> None:
    plan, result, records = records_and_plan(tmp_path, RECORD)
    assert media.problems(plan, result, records, {"down": 1}) == []
    table = media.table("r", plan, records, EPOCH)
    assert table.row(0)[1:] == ("down", 10, MS, MS, 0, 1514, 1, "arrived")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sent_ns": EPOCH + MS + 1001, "left_ns": EPOCH + MS + 1001}, "1 packets were not sent at the time"),
        ({"left_ns": EPOCH + MS - 1}, "1 packets arrived before"),
        ({"outcome_tries": 2 | 1 << 2}, "arrived: 1 by its totals, 0 in records"),
        ({"bytes": 1515}, "entered (bytes): 1514 by its totals, 1515 in records"),
    ],
)
def test_a_packet_that_is_not_as_scheduled_is_a_problem(
    tmp_path: Path, change: dict[str, int], said: str
) -> None:
    plan, result, records = records_and_plan(tmp_path, RECORD)
    for name, value in change.items():
        records[name] = value
    assert any(said in line for line in media.problems(plan, result, records, {}))


@pytest.mark.parametrize(("left_ms", "is_wrong"), [(0.9, False), (1.1, True)])
def test_a_packet_that_waits_although_its_turn_came_is_a_problem(
    tmp_path: Path, left_ms: float, is_wrong: bool
) -> None:
    held = (EPOCH + 10, 0, EPOCH + int(left_ms * MS), 0, 1514, 0, 3)
    plan, result, records = records_and_plan(tmp_path, [held])
    totals = result.media[0].model_copy(update={"arrived_packets": 0, "arrived_bytes": 0, "held_packets": 1})
    result = result.model_copy(update={"media": (totals,)})
    said = ["medium down: a packet of 1514 bytes still waits, and turns that would carry it passed"]
    assert media.problems(plan, result, records, {"down": 1}) == (said if is_wrong else [])


def test_packets_that_left_the_queue_and_did_not_enter_are_a_problem(tmp_path: Path) -> None:
    plan, result, records = records_and_plan(tmp_path, RECORD)
    assert media.problems(plan, result, records, {"down": 2}) == [
        "medium down: 1 packets entered, 2 left the queue above"
    ]


def test_a_fitted_link_has_the_seconds_of_its_trace_in_an_order_that_it_had() -> None:
    low, high = [(0, 100)], [(0, 900), (5 * MS, 100)]
    trace = [
        (second * 1000 * MS + at, size)
        for second, each in enumerate([low, low, high, high] * 5)
        for at, size in each
    ]
    made = fitted.drawn(trace, 20_000 * MS, 400, seed=1)
    assert made == fitted.drawn(trace, 20_000 * MS, 400, seed=1)
    carried = fitted.capacities(made, 400_000 * MS, 1000 * MS)
    assert set(carried) == {800, 8000}
    assert carried.count(800) / 400 == pytest.approx(0.5, abs=0.1)
    assert fitted.gaps([*low, (7 * MS, 0), (9 * MS, 4)]) == [9 * MS]


def test_distances_of_samples() -> None:
    assert kolmogorov_smirnov([1, 2, 3, 4], [1, 2, 3, 4]) == 0
    assert kolmogorov_smirnov([1, 2], [3, 4]) == 1
    # Up to 1: half of the one, a quarter of the other.
    assert kolmogorov_smirnov([1, 1, 2, 3], [1, 2, 3, 4]) == 0.25
    assert kolmogorov_smirnov([], [1]) is None
