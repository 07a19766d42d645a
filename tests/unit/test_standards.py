"""Standards are data: criteria that name scenes, scenes that any contestant can be put into, and words of
what came. No run is made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from narrows.cli.main import build_app
from narrows.errors import NarrowsError, UsageError
from narrows.judging.verdict import Number, Verdict
from narrows.judging.written import as_appendix, as_json, as_junit, as_markdown
from narrows.runs.observed import Observed, Series
from narrows.standards import reads, session, written
from narrows.standards.contestant import Contestant, named
from narrows.standards.cubic.suite import curve, reduced
from narrows.standards.session import FIRST, Outcome, judge, planned, suite, suites
from narrows.standards.suite import TRIED, Criteria, Criterion, Said, Suite, beside, limit, measured

BBR = Contestant("bbr", "bbr")


@pytest.mark.parametrize("name", suites())
def test_every_criterion_names_a_scene_and_measures_what_its_marks_are_of(name: str) -> None:
    of = suite(name)
    scenes = [scene.name for scene in of.scenes]
    ids = [one.claim.id for one in of.criteria]
    assert len(set(ids)) == len(ids)
    assert len(set(scenes)) == len(scenes)
    asked = [one for one in of.criteria if isinstance(one, Criterion)]
    assert {one.experiment for one in asked} <= set(scenes)
    for one in asked:
        assert one.marks, one.id
        assert {mark.where["cca"] for mark in one.marks} == {TRIED}
    assert all(one.why for one in of.criteria if isinstance(one, Said))


def test_rfc_9743_is_asked_section_by_section() -> None:
    sections = {one.claim.source.split(",")[0] for one in suite("rfc9743").criteria}
    assert {f"5.1.{n}" for n in range(1, 6)} | {"5.2.1", "5.2.2", "5.2.3", "5.3.1", "5.3.2"} <= sections
    assert {f"6.{n}" for n in range(1, 5)} | {f"7.{n}" for n in range(1, 12)} <= sections


def test_the_draft_of_bbr_has_22_cases() -> None:
    assert [one.claim.source for one in suite("bbr-draft").criteria] == [str(n) for n in range(1, 23)]


def test_a_kernels_cca_and_a_stacks_meet_the_same_scenes() -> None:
    kernel = planned(suite("rfc9743"), BBR, full=False)
    stack = planned(suite("rfc9743"), named("", "quinn", "bbr"), full=False)
    assert len(kernel) == len(stack) <= 100  # five minutes on two cores, at some 3 s of a core each
    assert [plan.key for plan in kernel] == [plan.key for plan in stack]
    # Three conditions of CUBIC and Reno each are the contestant's own where it is CUBIC.
    assert len(planned(suite("rfc9743"), Contestant("cubic", "cubic"), full=False)) < len(kernel)


def test_what_needs_a_tcp_sender_is_not_asked_of_a_stack() -> None:
    asked = {plan.experiment for plan in planned(suite("bbr-draft"), named("", "quinn", "bbr"), full=False)}
    assert "steady" in asked
    assert "limited" not in asked


def test_a_module_is_loaded_in_the_contestants_runs_alone(tmp_path: Path) -> None:
    (tmp_path / "tcp_mine.ko").write_bytes(b"made up")
    who = named(str(tmp_path / "tcp_mine.ko"))
    assert who.cca == "mine"
    plans = [plan for plan in planned(suite("rfc9743"), who, full=False) if plan.experiment == "aqm"]
    loaded = {plan.key["cca"]: [one.name for one in plan.machine.modules] for plan in plans}
    assert loaded == {TRIED: ["tcp_mine"], "cubic": [], "reno": []}


def test_a_queue_of_ones_own_is_in_every_scene_of_l4s_and_carries_the_first_flow(tmp_path: Path) -> None:
    (tmp_path / "sch_mine.ko").write_bytes(b"made up")
    who = named("dctcp", queue=str(tmp_path / "sch_mine.ko"))
    assert (who.name, who.queue) == ("dctcp mine", "mine")
    plans = [*session._plans(FIRST, who, False, 1), *planned(suite("l4s"), who, full=False)]
    others = {plan.experiment for plan in plans if not any(" mine" in step.command() for step in plan.setup)}
    assert others == {"tail_drop", "classic_aqm"}  # which ask for a queue of their own
    assert all([one.name for one in plan.machine.modules] == ["sch_mine"] for plan in plans)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bbrr",), "the kernel knows no congestion control 'bbrr'"),
        (("nothing.ko",), "nothing.ko is no module"),
        (("",), "nobody is tried"),
        (("", "quinn"), "a stack is tried with its congestion control"),
        (("bbr", "quinn", "bbr"), "a stack is tried with its congestion control"),
        (("", "quinn", "vegas"), "quinn has no vegas"),
        (("", "quin", "bbr"), "there is no stack quin"),
        (("", "quinn", "bbr", "sch_nope.ko"), "sch_nope.ko is no module"),
    ],
)
def test_whoever_is_not_there_is_refused_by_one_line(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(NarrowsError) as refused:
        named(*words)
    assert said in refused.value.message
    assert refused.value.remedy
    assert "\n" not in refused.value.message


def test_a_standard_that_is_not_there_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="there is no standard rfc9744"):
        suite("rfc9744")


# ---- judging ----------------------------------------------------------------------------------------------


def run(cca: str, value: float, **labels: str) -> Observed:
    """One that shows a value."""
    return Observed(f"{cca}-{value}", "scene", "What?", {"cca": cca, **labels}, "ok", None, PLAN)


PLAN = planned(suite("cubic"), Contestant("cubic", "cubic"), full=False)[0]
SCENE = PLAN.model_copy(update={"experiment": "scene"})
DELAY = measured("delay", "ms", lambda one: float(one.run_id.partition("-")[2]))


def made_up(*limits: Any, by: tuple[str, ...] = ()) -> Suite:
    criteria = Criteria()
    criteria.add("X1", "Waits little", "1", "scene", *limits, by=by)
    criteria.cannot("X2", "Is liked", "2", "a matter of taste")
    return Suite("made_up", "Made up", "RFC 0", (), tuple(criteria.made))


def outcome(of: Suite, runs: Iterable[Observed], tried: Contestant = BBR) -> Outcome:
    return replace(judge(of, tried, list(runs), {}, {}), runs=())


def test_the_worse_of_both_baselines_is_the_measure() -> None:
    # The worse baseline shows 40 ms, so 1.25 times that, 50 ms, is the most.
    of = made_up(beside(DELAY, most=1.25))
    baselines = [run("cubic", 40.0), run("reno", 30.0)]
    good, bad = (outcome(of, [*baselines, run(TRIED, value)]) for value in (50.0, 50.1))
    assert [verdict.verdict for _, verdict in good.judged] == ["holds", "not testable here"]
    assert bad.judged[0][1].verdict == "does not hold here"
    assert written.rows(bad) == [
        ("X1 Waits little", "1", "does not hold", "delay: 50.1 ms", "at most 1.25 × 40 ms [30 to 40]"),
        ("X2 Is liked", "2", "cannot be measured here", "a matter of taste", ""),
    ]


def test_some_conditions_of_several_hold_in_part_and_the_worst_is_told() -> None:
    of = made_up(limit(DELAY, most=10), by=("buffer",))
    found = outcome(of, [run(TRIED, value, buffer=f"{value:g}BDP") for value in (5.0, 20.0, 40.0)])
    assert written.rows(found)[0][2:] == ("holds in part", "delay: 40 ms (buffer 40BDP)", "at most 10 ms")


def test_a_cca_that_is_a_baseline_is_held_against_itself_too() -> None:
    of = made_up(beside(DELAY, most=1.25))
    found = outcome(of, [run(TRIED, 40.0), run("reno", 30.0)], Contestant("cubic", "cubic"))
    assert found.judged[0][1].verdict == "holds"


def test_what_nothing_shows_is_not_measured_and_never_holds() -> None:
    found = outcome(made_up(limit(DELAY, most=10)), [])
    assert [row[2] for row in written.rows(found)] == ["cannot be measured here"] * 2


def test_nothing_holds_by_some_of_its_runs_where_others_failed() -> None:
    found = judge(made_up(limit(DELAY, most=10)), BBR, [run(TRIED, 5.0)], {"abc": "it broke"}, {"abc": SCENE})
    assert found.judged[0][1].verdict == "holds in part"
    assert found.judged[0][1].reason.endswith("; 1 of its runs failed")


def test_every_format_says_the_same() -> None:
    found = replace(outcome(made_up(limit(DELAY, most=10)), [run(TRIED, 12.0)]), failed={"abc": "it broke"})
    told = written.told(found, "narrows standard made_up")
    document = json.loads(as_json(told))
    assert (document["standard"], document["command"]) == ("made_up", "narrows standard made_up")
    assert [one["verdict"] for one in document["verdicts"]] == ["does not hold", "cannot be measured here"]
    assert document["verdicts"][0]["marks"][0] | {"conditions": None} == {
        "words": "delay at most 10 ms", "bound": "at most 10 ms", "passes": False, "name": "delay",
        "unit": "ms", "value": 12.0, "n": 1, "conditions": None, "low": None, "high": None, "percent": False,
    }  # fmt: skip
    junit = ElementTree.fromstring(as_junit(told))
    counts = {name: junit.attrib[name] for name in ("tests", "failures", "skipped", "errors")}
    assert counts == {"tests": "3", "failures": "1", "skipped": "1", "errors": "1"}
    markdown = as_markdown(told)
    assert "| X1 Waits little | 1 | does not hold | delay: 12 ms | at most 10 ms |" in markdown
    assert "1 runs failed" in markdown
    appendix = as_appendix(told)
    assert "narrows standard made_up" in appendix
    assert "narrows:\n: " in appendix


def test_the_command_lists_the_standards_and_what_there_is_to_do() -> None:
    listed = CliRunner().invoke(build_app("standard"), ["standard"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in suites())
    told = CliRunner().invoke(build_app("standard"), ["standard", "cubic", "--quick", "--plan"])
    assert "cubic, cubic: 6 scenes, 6 runs" in told.output


# ---- a window ---------------------------------------------------------------------------------------------


def window(beta: float, c: float = 0.4, most: float = 400.0) -> Observed:
    """A run whose window is cut to β and follows the curve, three times, each for 8 s after a round trip of
    recovery; then it is cut again."""
    step, rtt, span = 0.01, 0.2, 8.0
    t = np.arange(0, span, step)
    k = (most * (1 - beta) / c) ** (1 / 3)
    one = np.where(t <= rtt, beta * most, c * (np.maximum(t - rtt, 0) - k) ** 3 + most)
    one[-1] = most
    state = np.where(t <= rtt, 3.0, 0.0)
    times = np.arange(4 * t.size) * step * 1e9
    columns: Mapping[str, Any] = {
        "cwnd": np.tile(one, 4), "state": np.concatenate([np.zeros(t.size), np.tile(state, 3)]),
        "ssthresh": np.full(times.size, beta * most), "rtt": np.full(times.size, rtt),
    }  # fmt: skip
    made = run(TRIED, 0.0)
    made.kept.update({("sender", name, reads.FLOW): Series(times, value) for name, value in columns.items()})
    return made


def test_a_window_shows_its_reductions_and_its_curve() -> None:
    # 0.7 of 400, and the curve ends 0.5 above it: 0.4 · (7.8 - 6.7)³.
    assert reduced(window(0.7)) == pytest.approx(0.7 * 400 / 400.5, abs=1e-4)
    assert reduced(window(0.5)) == pytest.approx(0.5, abs=1e-3)
    # On the curve of β = 0.7 and C = 0.4 the distance is that half a packet of 400; with C = 1.6 the window
    # is far above it.
    off = [curve(False)(window(0.7, c)) for c in (0.4, 1.6)]
    assert off[0] is not None
    assert off[1] is not None
    assert off[0] < 0.002
    assert off[1] > 0.03


def test_a_verdict_rests_on_a_number() -> None:
    found = outcome(made_up(limit(DELAY, most=10)), [run(TRIED, 5.0)]).judged[0][1]
    assert isinstance(found, Verdict)
    assert found.numbers == (Number("delay", "ms", 5.0, 1, {"cca": TRIED}),)


def test_a_value_of_qlog_holds_until_the_next_and_nothing_is_no_value() -> None:
    told = Series(np.array([0.0, 10e6, 40e6]), np.array([0.0, 5.0, 7.0]))
    held = reads._held(told, 60e6)
    assert held.t_ns.tolist() == [10e6, 20e6, 30e6, 40e6, 50e6]
    assert held.value.tolist() == [5.0, 5.0, 5.0, 7.0, 7.0]
