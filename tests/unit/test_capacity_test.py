"""The capacity test: what becomes of it in the plan, and how iperf3's reports are read."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from narrows.errors import SpecError, StoreError
from narrows.plan.build import plan_file
from narrows.plan.items import AfterItem, Command, IcmpEcho, WithItem
from narrows.plan.model import Plan
from narrows.store.parsers.common import Parsed
from narrows.tools.capacity_test import parse as capacity_test
from narrows.tools.iperf3 import parse as iperf3

CAPTURED = Path(__file__).parent / "captured"
LINK = 'link = Link(rate="20 Mbit/s", rate_up="10 Mbit/s", base_rtt="20 ms")'
ADVERTISED = {"down": 20e6, "up": 10e6}


def planned(directory: Path, *lines: str) -> Plan:
    path = directory / "experiment.py"
    text = "\n".join(('"""Does it fill the link?"""', "from narrows.spec import *", LINK, *lines))
    path.write_text(text)
    (plan,) = plan_file(path).plans
    return plan


def command(plan: Plan, name: str) -> Command:
    item = next(each for each in plan.traffic if each.id == name)
    assert isinstance(item, Command)
    return item


def figures(parsed: Parsed) -> dict[tuple[str, str | None], float]:
    return {(m.name, m.direction): m.value for m in parsed.metrics}


def throughput(parsed: Parsed, direction: str) -> list[tuple[float, float]]:
    of_all = (
        pl.col("quantity").eq("throughput") & pl.col("direction").eq(direction) & pl.col("flow").is_null()
    )
    return [(t / 1e9, v) for t, v in pl.concat(parsed.samples).filter(of_all).select("t_ns", "value").rows()]


def test_both_directions_run_in_turn_and_others_wait_for_the_second(tmp_path: Path) -> None:
    plan = planned(
        tmp_path, 'test = capacity_test(connections=8, pause="2 s")', "ping = icmp_echo(stop=with_(test))"
    )
    assert [i.id for i in plan.traffic] == [
        "test.down-server", "test.down", "test.up-server", "test.up", "ping",
    ]  # fmt: skip
    assert command(plan, "test.up").start == AfterItem(after="test.down", delay_ns=2_000_000_000)
    down, up = command(plan, "test.down").argv, command(plan, "test.up").argv
    assert down[-1] == "-R"
    assert "-R" not in up
    assert down[down.index("-P") + 1] == "8"
    assert down[down.index("-p") + 1] != up[up.index("-p") + 1]
    ping = plan.traffic[-1]
    assert isinstance(ping, IcmpEcho)
    assert ping.stop == WithItem(with_="test.up")
    (composite,) = plan.composites
    assert composite.parts == ("test.down", "test.up")
    assert composite.options["advertised_up_bps"] == 10_000_000


def test_a_port_that_is_named_is_that_of_the_first_direction(tmp_path: Path) -> None:
    plan = planned(tmp_path, "test = capacity_test(port=7000)")
    assert [command(plan, f"test.{way}").argv[4] for way in ("down", "up")] == ["7000", "7001"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("connections=0", "connections"),
        ('omit="1.5 s"', "omit"),
        ('stop="20 s"', "say the same twice"),
        ('direction="both"', "direction"),
        ('advertised="0 Mbit/s"', "advertised"),
        ('interval="10 ms"', "reports every 0.1 s"),
    ],
)
def test_what_cannot_be_is_one_clear_error(tmp_path: Path, options: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        planned(tmp_path, f"test = capacity_test({options})")


def test_its_result_is_what_arrived_after_the_omitted_time() -> None:
    text = (CAPTURED / "capacity_down.json").read_text()
    parsed = capacity_test.parse(text, "test", advertised_bps=ADVERTISED, start_ns=0)
    found = figures(parsed)
    # end.sum_received: 7 158 912 bytes in 3.000001 s; of 20 Mbit/s that is 0.9545
    assert found["capacity_test_throughput_bps", "down"] == pytest.approx(7_158_912 * 8 / 3.000001)
    assert found["capacity_test_advertised_share", "down"] == pytest.approx(0.95452, abs=1e-5)
    assert found["capacity_test_retransmits", "down"] == 39
    # 39 segments of 1448 bytes of the 7 493 400 bytes sent
    assert found["capacity_test_retransmission_ratio", "down"] == pytest.approx(39 * 1448 / 7_493_400)
    assert found["capacity_test_connections", "down"] == 4


def test_intervals_are_one_timeline_and_the_first_measured_one_has_its_real_rate() -> None:
    text = (CAPTURED / "capacity_down.json").read_text()
    points = throughput(
        capacity_test.parse(text, "test", advertised_bps=ADVERTISED, start_ns=5_000_000_000), "down"
    )
    # One omitted interval of the two seconds (the second was never reported: both timers fell due at once),
    # then three measured ones. iperf3 says 9.53 Mbit/s for the first of them, from 2 383 408 bytes "in 2 s";
    # it lasted from the end of the omitted time, one second: 19.07 Mbit/s.
    assert [round(t, 2) for t, _ in points] == [6.0, 8.0, 9.0, 10.0]
    assert points[1][1] == pytest.approx(2_383_408 * 8)
    assert points[0][1] == pytest.approx(18_905_049.7)


def test_a_bidirectional_report_has_both_directions_though_iperf3_does_not_say_so() -> None:
    parsed = iperf3.parse((CAPTURED / "iperf3_udp_both.json").read_text(), "udp", start_ns=0)
    found = figures(parsed)
    # end.sum_received and end.sum_received_bidir_reverse; jitter of end.sum and end.sum_bidir_reverse
    for way in ("up", "down"):
        assert found["iperf3_goodput_bps", way] == pytest.approx(5_110_854.8)
        assert found["iperf3_loss_ratio", way] == 0
    assert found["iperf3_jitter_ms", "up"] == pytest.approx(0.0970072)
    assert found["iperf3_jitter_ms", "down"] == pytest.approx(0.0064590)
    assert len(throughput(parsed, "up")) == len(throughput(parsed, "down")) == 2
    labels = pl.concat(parsed.samples)["flow"].drop_nulls().unique().to_list()
    assert {label.split()[0] for label in labels} == {"udp"}


def mangled(*path: str | int, value: object) -> str:
    report = json.loads((CAPTURED / "capacity_down.json").read_text())
    place = report
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(report)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "did not write JSON"),
        ("iperf3: command not found", "did not write JSON"),
        ((CAPTURED / "capacity_down.json").read_text()[:3000], "did not write JSON"),
        ("[1, 2]", "did not write a JSON object"),
        ("null", "did not write a JSON object"),
        ('{"start": [], "end": {}}', "no 'start'"),
        ('{"error": "the server is busy running a test. try again later"}', "server is busy"),
        (mangled("start", "test_start", "protocol", value="UDP"), "report is of UDP"),
        (mangled("start", "test_start", value={}), "not the JSON of iperf3"),
        (mangled("end", "sum_received", value=[1]), "not the JSON of iperf3"),
        (mangled("intervals", 0, "sum", value={"omitted": True}), "not the JSON of iperf3"),
        (mangled("intervals", value=[7]), "not the JSON of iperf3"),
        (mangled("end", "sum_received", "bits_per_second", value="fast"), "not the JSON of iperf3"),
    ],
)
def test_garbage_is_one_clear_error(text: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        capacity_test.parse(text, "test", advertised_bps=ADVERTISED, start_ns=0)
