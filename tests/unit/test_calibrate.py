"""The calibrator without guests: truth and readings of made-up runs, scenarios, rounds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from narrows import qdiscs
from narrows.calibrate import by_test
from narrows.calibrate.calibration import Calibration
from narrows.calibrate.compare import as_frame, compared, parameters, summaries
from narrows.calibrate.plain import in_short
from narrows.calibrate.readings import TOOL as TOOL_ORIGIN
from narrows.calibrate.readings import declared
from narrows.calibrate.rounds import Rounds, condition_of
from narrows.calibrate.scenario import QUEUES, Settings, plan_scenario, question_of, written
from narrows.calibrate.tables import answers, by_condition, decimals
from narrows.cli.main import build_app
from narrows.errors import NarrowsError, SpecError
from narrows.spec.observe import ci, repeat
from narrows.spec.under_test import known
from narrows.tools.reading import LATENCY, RPM, THROUGHPUT, UNITS, Reading


@pytest.mark.parametrize(
    ("name", "unit", "quantity"),
    [
        ("ndt7_throughput_bps", "bit/s", THROUGHPUT),
        ("iperf3_sent_bps", "bit/s", None),
        ("some_download_bps", "bit/s", None),
        ("cloudflare_loaded_latency_ms", "ms", LATENCY),
        ("cloudflare_latency_ms", "ms", None),
        ("rpm_foreign", "1/min", RPM),
        ("probe_sent", "packets", None),
    ],
)
def test_a_figure_is_a_reading_only_where_its_tool_declares_it(
    name: str, unit: str, quantity: str | None
) -> None:
    meaning = declared().get(name)
    assert (meaning.quantity if isinstance(meaning, Reading) else None) == quantity
    assert quantity is None or UNITS[quantity] == unit


def table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    base = {
        "direction": "down",
        "origin": "the tool's answer",
        "statistic": "p50",
        "unit": "ms",
        "layer": "TCP payload",
        "payload_share": 1.0,
        "held_against": ["own", "third party"],
    }
    readings = pl.DataFrame(
        [base | {k: r[k] for k in ("run_id", "quantity", "metric", "value")} for r in rows]
    )
    runs = pl.DataFrame(
        [
            {
                "run_id": r["run_id"],
                "tool": r["tool"],
                "condition": r["condition"],
                "seed": "0",
                "calibration_rtt_ns": 20 * 10**6,
            }
            for r in rows
        ]
    )
    scores = pl.DataFrame(
        [
            {"run_id": r["run_id"], "source": "truth", "series": who, "direction": "down",
             "metric": "capacity_left" if who == "cross traffic" else "queue_delay_p50",
             "value": float(r["truth"])}
            for r in rows
            for who in ("own", "third party", "cross traffic")
        ]
    )  # fmt: skip
    return compared(readings, scores, runs)


def test_latencies_lose_their_base_rtt_and_rpm_becomes_a_time() -> None:
    made = table(
        [
            {
                "run_id": "a",
                "tool": "t",
                "condition": "x",
                "quantity": LATENCY,
                "metric": "m",
                "value": 50.0,
                "truth": 25.0,
            },
            {
                "run_id": "b",
                "tool": "t",
                "condition": "x",
                "quantity": RPM,
                "metric": "n",
                "value": 1000.0,
                "truth": 25.0,
            },
        ]
    )
    third = made.filter(pl.col("whose") == "third party").sort("run_id")
    assert third["seen"].to_list() == pytest.approx([30.0, 40.0])  # 50 - 20; 60000 / 1000 - 20
    assert third["error"].to_list() == pytest.approx([5.0, 15.0])


def test_one_run_has_an_error_and_says_why_it_has_no_spread() -> None:
    row = {"run_id": "a", "tool": "t", "condition": "x", "metric": "m", "truth": 25.0}
    found = as_frame(summaries(table([row | {"quantity": LATENCY, "value": 50.0}])))
    assert found.select("n", "bias", "iqr", "no_spread").rows() == [(1, 5.0, None, "one run")] * 2


def test_an_order_that_is_the_wrong_way_round_is_counted_and_named() -> None:
    rows = [
        {
            "run_id": f"{c}{n}",
            "tool": "t",
            "condition": c,
            "quantity": LATENCY,
            "metric": "m",
            "value": v,
            "truth": t,
        }
        for c, v, t in (("good", 60.0, 5.0), ("bad", 25.0, 50.0))
        for n in range(2)
    ]
    found = next(s for s in summaries(table(rows)) if s.whose == "third party")
    assert found.inversions is not None
    assert (found.inversions.pairs, found.inversions.inverted) == (1, 1)
    assert found.inversions.which == [("good", "bad")]
    assert found.bias.median == pytest.approx((35.0 - 45.0) / 2)  # errors +35 and -45, twice each


def test_errors_are_told_by_condition_and_by_how_far_the_seeds_lie_apart() -> None:
    rows = [
        {
            "run_id": f"{c}{n}",
            "tool": "t",
            "condition": c,
            "quantity": LATENCY,
            "metric": "m",
            "value": v,
            "truth": 5.0,
        }
        for c, seeds in (("x", (25.0, 27.0)), ("y", (95.0, 99.0)))
        for n, v in enumerate(seeds)
    ]
    found = next(s for s in summaries(table(rows)) if s.whose == "third party")
    # errors of x: 25 - 20 - 5 = 0 and 2, of y: 70 and 74; medians 1, 72; half ranges 1, 2, their median 1.5
    assert (found.least, found.most, found.seeds_reach) == pytest.approx((1.0, 72.0, 1.5))
    # the reading of each condition stands beside its truth and error; the base RTT of 20 ms is taken off
    assert [(c.condition, c.n, c.seen, c.truth, c.error) for c in found.conditions] == [
        ("x", 2, pytest.approx(6.0), pytest.approx(5.0), pytest.approx(1.0)),
        ("y", 2, pytest.approx(77.0), pytest.approx(5.0), pytest.approx(72.0)),
    ]
    found_all = calibrated([{**row, "origin": TOOL_ORIGIN} for row in rows], 2)
    columns, said = answers(found_all)
    shown = dict(zip(columns, next(row for row in said if "third" in row[3]), strict=True))
    ranges = (shown["readings"], shown["truths"], shown["by condition"])
    assert ranges == ("6.0 to 77.0 ms", "5.0 ms", "+1.0 ms to +72.0 ms")
    each = [row[4:] for row in by_condition(found_all)[1] if "third" in row[3]]
    assert each == [["x", 2, "6.0 ms", "5.0 ms", "+1.0 ms"], ["y", 2, "77.0 ms", "5.0 ms", "+72.0 ms"]]


def calibrated(rows: list[dict[str, Any]], seeds: int) -> Calibration:
    made, empty = table(rows), pl.DataFrame()
    runs = pl.DataFrame({"seed": [str(n) for n in range(seeds)]})
    return Calibration(
        Path(), "?", (), ("t",), runs, empty, empty, made, tuple(summaries(made)), empty, empty
    )  # fmt: skip


def test_the_answer_is_given_in_plain_words_with_what_is_not_known() -> None:
    row = {"tool": "t", "quantity": LATENCY, "metric": "m", "truth": 5.0}
    near = row | {"run_id": "a", "condition": "x", "value": 25.4}  # 25.4 - 20 - 5: 0.4 ms too much
    far = row | {"run_id": "b", "condition": "y", "value": 22.0}  # 3 ms too little
    one = dict(in_short(calibrated([near], seeds=1)))
    assert one["Latency that others met"] == (
        "1 of 1 answers is within 1 ms of what other traffic's packets met in the queue. "
        "Furthest above it: +0.4 ms, t (m, down)."
    )
    assert "nothing is known of how far another run would differ" in one["How sure"]
    both = dict(in_short(calibrated([near, far], seeds=2)))
    assert both["Latency that others met"].startswith("0 of 1 answers are, in every condition, within 1 ms")
    assert (
        "Furthest below it: −3.0 ms, t (m, down, y); furthest above it: +0.4 ms"
        in both["Latency that others met"]
    )
    assert both["How sure"].endswith("A 95 % interval of a median needs 6 seeds.")


def test_the_first_words_are_a_line_for_each_test_the_nearest_to_the_truth_first() -> None:
    def rows(tool: str, seeds: int, **read: float) -> list[dict[str, Any]]:
        of = {
            "latency": (LATENCY, "NDT7 latency (MinRTT)", 5.0),
            "rate": (THROUGHPUT, "NDT7 throughput", 9e6),
        }
        return [
            {"run_id": f"{tool}{seed}", "tool": tool, "quantity": of[name][0], "metric": of[name][1],
             "value": value, "truth": of[name][2], "condition": "x"}
            for seed in range(seeds) for name, value in read.items()
        ]  # fmt: skip

    far, near, mute = (
        rows("far", 6, rate=8.1e6),
        rows("near", 1, rate=9.09e6),
        rows("mute", 1, latency=28.0),
    )
    found = calibrated([*far, *near, *mute], seeds=1)
    found = replace(
        found,
        runs=found.runs.with_columns(link_queue=pl.lit("cake")),
        left_out=(("own", "ran (1), and declares no answer"),),
    )
    assert by_test.heading(found) == "How far off is each speed test behind cake? Best first:"
    assert [(line.tool, line.text) for line in by_test.lines(found)] == [
        ("near", "throughput down 1.0 % too high; says nothing of latency under load (n = 1)"),
        (
            "far",
            "throughput down 10.0 % too low [−10.0 % to −10.0 %]; says nothing of latency under load (n = 6)",
        ),
        (
            "mute",
            "says nothing of throughput; latency, shown as NDT7 latency (MinRTT), down 3.0 ms too high "
            "(n = 1)",
        ),
        ("own", "ran (1), and declares no answer"),
    ]
    assert "against what other traffic's packets met in the queue" in by_test.note(found)


def test_a_variation_is_compared_with_the_usual_parameters_of_the_same_condition() -> None:
    rows = [
        {
            "run_id": "a",
            "tool": "iperf3",
            "condition": "x",
            "quantity": THROUGHPUT,
            "metric": "m",
            "value": 8.0,
            "truth": 10.0,
        },
        {
            "run_id": "b",
            "tool": "iperf3+P4",
            "condition": "x",
            "quantity": THROUGHPUT,
            "metric": "m",
            "value": 10.0,
            "truth": 10.0,
        },
    ]
    moved = parameters(table(rows))
    assert moved["variation"].to_list() == ["P4"]
    assert moved["median"].to_list() == pytest.approx([0.25])


def test_options_become_a_scenario_that_plans_every_tool_on_the_same_seeds(tmp_path: Path) -> None:
    settings = Settings(queue=("cake", "pie(target='20 ms')"), cross=("no", "cubic-down"), seeds=2)
    ready = plan_scenario(written(settings, question_of(settings), tmp_path), None, varied=False)
    assert ready.question == "How wrong is my speed test under CAKE and PIE-TARGET-20-MS?"
    assert ready.item == "test"
    assert {plan.key["tool"] for plan in ready.plans} == set(known())
    assert len(ready.plans) == 2 * 2 * 2 * len(known())
    by_seed = {
        plan.key["seed"]: {p.seed for p in ready.plans if p.key["seed"] == plan.key["seed"]}
        for plan in ready.plans
    }
    assert all(len(seeds) == 1 for seeds in by_seed.values())


def test_every_queue_of_the_spec_can_be_calibrated_and_planning_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [
        each.__name__ for each in qdiscs.every()
    ]  # fmt: skip
    assert {"docsis_pie", "choke", "sfb", "hhf", "prio"} <= set(names) == set(QUEUES)
    monkeypatch.chdir(tmp_path)
    called = ["calibrate", "--queue", ",".join(names), "--tools", "iperf3", "--seeds", "1", "--plan"]
    done = CliRunner().invoke(build_app(), called)
    assert done.exception is None
    assert [line.split()[0] for line in done.output.splitlines()] == [f"queue={name}" for name in names]
    assert list(tmp_path.iterdir()) == []


def test_tools_and_variations_are_chosen_by_name(tmp_path: Path) -> None:
    path = written(Settings(), "Q?", tmp_path)
    one_only = plan_scenario(path, ["iperf3+P4"], varied=False, seeds=1)
    assert [plan.key["tool"] for plan in one_only.plans] == ["iperf3+P4"]
    varied = plan_scenario(path, ["iperf3"], varied=True, seeds=1)
    assert len(varied.plans) == 1 + len(known()["iperf3"].variations)
    with pytest.raises(SpecError, match="no tool iperf"):
        plan_scenario(path, ["iperf"], varied=False)


def test_a_scenario_may_have_a_rule_instead_of_a_number_and_seeds_overrule_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        '"""Q?"""\nfrom narrows.spec import *\nlink = Link(rate="1 Mbit/s")\ntest = under_test()\n'
        'repeat(at_least=6, at_most=9, until=ci("throughput_mean", direction="down", within="5 %"))\n'
    )
    ready = plan_scenario(path, ["iperf3"], varied=False)
    assert ready.rule is not None
    assert len(ready.plans) == 9
    fixed = plan_scenario(path, ["iperf3"], varied=False, seeds=2)
    assert (fixed.rule, len(fixed.plans)) == (None, 2)


def test_a_scenario_without_a_speed_test_is_refused_with_the_line_to_add(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        '"""Q?"""\nfrom narrows.spec import *\nlink = Link(rate="1 Mbit/s")\nflow = bulk(duration="1 s")\n'
    )
    with pytest.raises(SpecError, match="no speed test") as caught:
        plan_scenario(path, None, varied=False)
    assert "under_test()" in str(caught.value.remedy)


def test_a_probe_is_added_where_a_scenario_has_none(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        '"""Q?"""\nfrom narrows.spec import *\nlink = Link(rate="1 Mbit/s")\ntest = under_test()\n'
    )
    ready = plan_scenario(path, ["ndt7"], varied=False)
    assert [i.id for i in ready.plans[0].traffic if i.kind == "udp_probe"] == ["probe"]


@pytest.mark.parametrize(
    "line",
    [
        "repeat()",
        "repeat(at_least=5)",
        'repeat(5, until=ci("x", within="5 %"))',
        'repeat(at_least=9, at_most=5, until=ci("x", within="5 %"))',
        'ci("x", within="5")',
        'ci("x", of="p100", within="5 %")',
    ],
)
def test_a_rule_that_is_not_whole_is_refused(line: str) -> None:
    with pytest.raises(NarrowsError):
        eval(line, {"repeat": repeat, "ci": ci})


class Made(Rounds):
    """Rounds whose figures come from a list instead of a store."""

    figures: dict[str, list[float]]

    def _values(self) -> tuple[dict[tuple[str, str], float], str]:
        from narrows.calibrate.rounds import condition_key

        return {
            (condition_key({"queue": queue}), str(seed)): value
            for queue, values in self.figures.items()
            for seed, value in enumerate(values)
        }, "bit/s"


def rounds_of(tmp_path: Path, figures: dict[str, list[float]], most: int) -> Made:
    path = tmp_path / "experiment.py"
    path.write_text(
        '"""Q?"""\nfrom narrows.spec import *\n'
        'link = Link(rate="1 Mbit/s", queue=axis("queue", [pfifo(), codel()]))\n'
        f'flow = bulk(duration="1 s")\nrepeat(at_least=6, at_most={most}, until=ci("x", within="5 %"))\n'
    )
    from narrows.plan.build import plan_file

    made = plan_file(path)
    rule = made.experiment.repeat
    assert rule is not None
    rounds = Made(made.plans, rule, tmp_path)
    rounds.figures = figures
    return rounds


def test_only_conditions_that_are_not_resolved_are_repeated_and_the_order_is_shuffled(tmp_path: Path) -> None:
    noisy = [100.0, 200.0, 50.0, 150.0, 80.0, 120.0, 300.0, 90.0]
    rounds = rounds_of(tmp_path, {"pfifo": [100.0] * 8, "codel": noisy}, most=8)
    batches = list(rounds)
    assert [len(batch) for batch in batches] == [12, 1, 1]
    assert {dict(condition_of(plan))["queue"] for batch in batches[1:] for plan in batch} == {"codel"}
    order = [plan.key["queue"] for plan in batches[0]]
    assert order != sorted(order)
    assert order != sorted(order, reverse=True)
    states = {dict(f.condition)["queue"]: f.decision.state.value for f in rounds.found}
    assert states == {"pfifo": "resolved", "codel": "not resolved"}
    assert (tmp_path / "stopping.json").exists()


def test_failed_repetitions_use_up_seeds_and_end_as_not_resolved(tmp_path: Path) -> None:
    rounds = rounds_of(tmp_path, {"pfifo": [100.0] * 3, "codel": [100.0] * 7}, most=7)
    list(rounds)
    found = {dict(f.condition)["queue"]: f.decision for f in rounds.found}
    assert found["codel"].state.value == "resolved"
    assert (found["pfifo"].state.value, found["pfifo"].n) == ("not resolved", 3)
    assert "4 repetitions failed" in found["pfifo"].reason


@pytest.mark.parametrize(
    ("mbps", "shown"), [(47.83, "47.8"), (1.0, "1.0"), (0.9512, "0.951"), (0.0372, "0.0372"), (0.0, "0.0")]
)
def test_a_slow_rate_is_shown_with_three_digits_and_not_as_none(mbps: float, shown: str) -> None:
    assert f"{mbps:.{decimals(mbps)}f}" == shown
