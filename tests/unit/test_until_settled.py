"""The rule that stops flows once a metric has settled: what an experiment may ask for, and its plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrows.errors import SpecError
from narrows.plan.build import plan_file
from narrows.plan.items import AtTime, TcpBulk
from narrows.plan.model import Plan

S = 1_000_000_000
LINK = 'link = Dumbbell(rate="20 Mbit/s", queue=bfifo(limit="60 KB"), pairs=[pair("20 ms")])'
FLOWS = 'flows = bulk(cca="reno", flows=4, start_spread="500 ms", duration="60 s")'
TAP = 'flow_tap(warm_up="5 s", interval="500 ms")'
RULE = 'until_settled("jain", window="10 s")'


def plan_of(folder: Path, *lines: str) -> Plan:
    file = folder / "study.py"
    file.write_text('"""Does it?"""\nfrom narrows.spec import *\n' + "\n".join(lines) + "\n")
    (plan,) = plan_file(file).plans
    return plan


def refused(folder: Path, *lines: str) -> str:
    with pytest.raises(SpecError) as error:
        plan_of(folder, *lines)
    assert error.value.where is not None
    assert error.value.remedy
    return error.value.message


def test_the_rule_is_whole_in_the_plan(tmp_path: Path) -> None:
    rule = plan_of(tmp_path, LINK, FLOWS, TAP, RULE).until_settled
    assert rule is not None
    assert (rule.metrics, rule.within) == (("jain",), 0.01)
    # measured from the end of the warm-up, and one window at least
    assert (rule.start_ns, rule.window_ns, rule.not_before_ns) == (5 * S, 10 * S, 15 * S)
    assert rule.interval_ns == S // 2


def test_without_the_rule_the_plan_has_none(tmp_path: Path) -> None:
    assert plan_of(tmp_path, LINK, FLOWS, TAP).until_settled is None


def test_the_least_and_the_most_that_is_measured_begin_after_the_warm_up(tmp_path: Path) -> None:
    rule = 'until_settled("jain", window="10 s", within="5 %", at_least="20 s", at_most="40 s")'
    plan = plan_of(tmp_path, LINK, FLOWS, TAP, rule)
    assert plan.until_settled is not None
    assert (plan.until_settled.not_before_ns, plan.until_settled.within) == (25 * S, 0.05)
    (item,) = (each for each in plan.traffic if isinstance(each, TcpBulk))
    assert item.stop == AtTime(at_ns=45 * S)


def test_several_metrics_and_axes_are_taken(tmp_path: Path) -> None:
    more = 'bbr = bulk(cca="bbr", flows=1, duration="60 s")'
    window = 'axis("window", ["20 s"])'
    rule = f'until_settled(["shares", "goodput"], window={window})'
    made = plan_of(tmp_path, LINK, FLOWS, more, TAP, rule).until_settled
    assert made is not None
    assert (made.metrics, made.window_ns) == (("shares", "goodput"), 20 * S)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ('until_settled("jane", window="10 s")', "'jane' is not known"),
        ('until_settled(7, window="10 s")', "7 is not known"),
        ('until_settled([], window="10 s")', "has none"),
        ('until_settled(["jain", "jain"], window="10 s")', "or one twice"),
        ('until_settled("jain")', "window is missing"),
        ('until_settled("jain", window="0 s")', "duration of '0 s'"),
        ('until_settled("jain", window=10)', "has no unit"),
        ('until_settled("jain", window="10 s", within="0 %")', "never"),
        ('until_settled("jain", window="10 s", within="100 %")', "always"),
        ('until_settled("jain", window="10 s", within=0.01)', "has no unit"),
        ('until_settled("jain", window="10 s", at_least="5 s")', "less than the window"),
        ('until_settled("jain", window="10 s", at_most="10 s")', "nothing to decide"),
        ('until_settled("jain", window="10 s", at_least="20 s", at_most="15 s")', "nothing to decide"),
        ('until_settled("jain", window="4 s")', "8 samples of"),
        ('until_settled("jain", window="56 s")', "nothing can have settled before"),
        ('until_settled("jain", window="10 s", at_most="2 min")', "but flows end at"),
        ('until_settled("shares", window="10 s")', "all flows are of reno"),
        (f"{RULE}; {RULE}", "a second until_settled"),
    ],
)
def test_a_rule_without_sense_is_refused(tmp_path: Path, rule: str, words: str) -> None:
    assert words in refused(tmp_path, LINK, FLOWS, TAP, rule)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([FLOWS], "flow tap"),
        ([FLOWS, 'flow_tap(warm_up="5 s", interval=None)'], "flow tap"),
        (['flows = bulk(flows=1, duration="60 s")', TAP], "of one flow is always 1"),
        (['flows = bulk(flows=2, bytes="5 MB")', TAP], "given size"),
        (['flows = bulk(flows=2, start_spread="6 s", duration="60 s")', TAP], "may start until"),
        ([FLOWS, 'late = bulk(flows=1, start="20 s", duration="20 s")', TAP], "may start until"),
        ([FLOWS, TAP, 'probe = udp_probe(duration="30 s")'], "probe may run until 30 s"),
        ([FLOWS, TAP, 'link.at("20 s", rate="10 Mbit/s")'], "before this change"),
    ],
)
def test_what_does_not_go_with_the_rule_is_refused(tmp_path: Path, lines: list[str], words: str) -> None:
    assert words in refused(tmp_path, LINK, *lines, RULE)


def test_what_stops_with_the_flows_or_follows_them_or_ends_before_goes_along(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path, LINK, FLOWS, TAP, RULE, 'link.at("2 s", rate="10 Mbit/s")',
        "probe = udp_probe(stop=with_(flows))", 'early = udp_probe(duration="5 s")',
        'test = ndt7(start=after(flows, "1 s"))', "beside = udp_probe(start=after(flows), stop=with_(test))",
    )  # fmt: skip
    assert plan.until_settled is not None
