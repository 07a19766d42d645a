"""Verdicts on made-up runs: what makes each claim hold, fail or stay unmeasured."""

from __future__ import annotations

import ast
import dataclasses
import itertools
from collections.abc import Sequence
from functools import cache

import pytest
from made_up_runs import grid, run

from narrows.judging.verdict import Claim, Number, Verdict
from narrows.judging.written import as_json, as_md
from narrows.runs.observed import Observed
from narrows.spec.named import named
from narrows.studies.aqm.claims import r01, r03, r05, r06, r07, r08, r09, r10, r11
from narrows.studies.aqm.claims.evidence import usable
from narrows.studies.aqm.claims.htb_model import late_timer_rate_bps
from narrows.studies.find import all_claims, experiments_of, studies
from narrows.studies.ledger import deciding, judge_all, measured, to_ledger
from narrows.studies.told import told

QUEUES = ("pfifo", "codel", "fq_codel", "sfq")


def one(queue: str, seed: int, mbps: float, rate: int, **key: str) -> Observed:
    timer = {"off": None, "10-30us": (10_000, 30_000)}[key.pop("timer_latency", "off")]
    labels = {"rate": f"{rate}Mbit", "queue": queue, "seed": str(seed), **key}
    if timer:
        labels["timer_latency"] = "10-30us"
    return run(
        labels, rate * 1_000_000, queue, throughput_bps={"down": mbps * 1e6, "up": mbps * 1e6}, timer=timer
    )


def test_every_claim_without_runs_is_not_measured_and_names_an_experiment_that_exists() -> None:
    verdicts = judge_all([])
    assert [v.claim.id for v in verdicts] == [
        *(f"R{n}" for n in range(1, 13)),
        *(f"T{n}" for n in range(1, 9)),
        "T21",
        *(f"B{n}" for n in range(1, 6)),
        *(f"L{n}" for n in (*range(1, 15), 16, 17, 18)),
        *(f"M{n}" for n in range(1, 8)),
        *(f"C{n}" for n in range(1, 6)),
        *(f"O{n}" for n in range(1, 9)),
        *(f"N{n}" for n in range(1, 12)),
        *(f"T{n}" for n in range(9, 24) if n != 21),
        *(f"Q{n}" for n in range(1, 10)),
        *(f"W{n}" for n in range(1, 7)),
    ]
    assert {v.verdict for v in verdicts} == {"not measured"}
    assert all(v.claim.name in named() for v in verdicts)
    assert measured(verdicts, []) == {}


def test_a_verdict_without_numbers_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="rests on no number"):
        Verdict(Claim("R0", "x", "Figure 0", "x.py"), "holds", "because")


def test_pass_marks_are_in_the_claims_files_alone() -> None:
    compared = 0
    for name, module in all_claims().values():
        marks = {mark for mark in vars(module) if mark.isupper()}
        for file in experiments_of(name, module).values():
            assigned = [node for node in ast.parse(file.read_text()).body if isinstance(node, ast.Assign)]
            names = {each.id for node in assigned for each in node.targets if isinstance(each, ast.Name)}
            assert not marks & names, f"{file.stem}: {marks & names}"
            compared += len(marks)
    assert compared >= 20


def test_r1_does_not_hold_when_the_link_is_full_with_exact_timers() -> None:
    runs = [one(q, s, 760, 800, burst="off", cross="no") for q in QUEUES for s in range(3)]
    assert r01.judge(runs).verdict == "does not hold here"


def test_r1_holds_in_part_when_only_late_timers_bring_it_under_700() -> None:
    runs = [one(q, s, 760, 800, burst="off", cross="no") for q in QUEUES for s in range(3)]
    runs += [
        one(q, s, 640, 800, burst="off", cross="no", timer_latency="10-30us")
        for q in QUEUES
        for s in range(3)
    ]
    verdict = r01.judge(runs)
    assert verdict.verdict == "holds in part"
    assert any(n.conditions["timers"] == "10 to 30 µs late" for n in verdict.numbers)


def test_r1_holds_when_every_run_with_exact_timers_is_under_700() -> None:
    runs = [one(q, s, 650, 800, burst="off", cross="no") for q in QUEUES for s in range(3)]
    assert r01.judge(runs).verdict == "holds"


def test_the_bucket_loses_nothing_while_the_timer_is_earlier_than_its_depth() -> None:
    # 1600 B at 800 Mbit/s are 16 µs; a timer 10 µs late finds 10 µs of tokens, all kept
    assert late_timer_rate_bps(800e6, 1600, 10e-6, 10e-6) == pytest.approx(800e6, rel=1e-3)


def test_the_bucket_loses_tokens_when_the_timer_is_later_than_its_depth() -> None:
    # 20 µs late: the bucket is full (16 µs). Two frames of 15.14 µs go (16 → 0.86 → -14.28); until the next
    # timer
    # 14.28 + 20 = 34.28 µs pass: 2 × 12112 bit / 34.28 µs = 706.65 Mbit/s
    assert late_timer_rate_bps(800e6, 1600, 20e-6, 20e-6) == pytest.approx(706.65e6, rel=1e-3)


def test_r3_names_the_conditions_that_stay_under_95_percent() -> None:
    # 765 Mbit/s is what 800 allows: 760 is 99 %, 650 is 85 %
    runs = [one(q, s, 760, 800, burst="text", cross="no") for q in QUEUES[:3] for s in range(3)]
    runs += [one("sfq", s, 650, 800, burst="text", cross="no") for s in range(3)]
    verdict = r03.judge(runs)
    assert verdict.verdict == "holds in part"
    assert "sfq" in verdict.reason
    assert "codel" not in verdict.reason


def _loaded_and_calm(loaded: tuple[float, ...], calm: tuple[float, ...]) -> list[Observed]:
    runs = [one(q, s, mbps, 900, burst="text", cross="up") for q in QUEUES for s, mbps in enumerate(loaded)]
    return runs + [
        one(q, s, mbps, 900, burst="off", cross="no") for q in QUEUES for s, mbps in enumerate(calm)
    ]


def test_r5_holds_when_throughput_drops_and_its_deviation_grows_tenfold() -> None:
    assert r05.judge(_loaded_and_calm((300, 430, 560), (858, 859, 860))).verdict == "holds"


def test_r5_holds_in_part_when_throughput_drops_but_repeats_exactly() -> None:
    verdict = r05.judge(_loaded_and_calm((430, 431, 430), (858, 859, 860)))
    assert verdict.verdict == "holds in part"


def test_r5_with_two_repetitions_is_not_measured_because_a_deviation_needs_three() -> None:
    assert r05.judge(_loaded_and_calm((430, 431), (858, 859))).verdict == "not measured"


def test_the_same_physical_run_from_two_experiments_counts_once() -> None:
    first = one("sfq", 0, 430, 900, burst="text", cross="up")
    named = first.plan.model_copy(update={"experiment": "other"})
    other = dataclasses.replace(first, run_id="f" * 16, plan=named)
    assert len(usable([first, other])) == 1
    assert len(usable([first, one("sfq", 1, 430, 900, burst="text", cross="up")])) == 2


def test_failed_runs_count_for_no_verdict() -> None:
    runs = [
        run({"rate": "800Mbit", "queue": "sfq", "burst": "off", "cross": "no", "seed": "0"}, status="failed")
    ]
    assert {v.verdict for v in judge_all(runs)} == {"not measured"}


def test_r6_needs_the_rise_the_level_and_the_difference_between_queues() -> None:
    def runs(levels: dict[str, float]) -> list[Observed]:
        made = []
        for queue, s in itertools.product(levels, range(3)):
            for cross, level in (("up", levels[queue]), ("no", 0.6)):
                key = {"rate": "900Mbit", "queue": queue, "burst": "text", "cross": cross, "seed": str(s)}
                made.append(
                    run(
                        key,
                        900_000_000,
                        queue,
                        throughput_bps={"up": 4e8},
                        rtt_ms={"up": [level] * 9},
                        seed_text=cross,
                    )
                )
        return made

    assert r06.judge(runs({"pfifo": 6.0, "fq_codel": 9.0})).verdict == "holds"
    assert r06.judge(runs({"pfifo": 1.9, "fq_codel": 7.5})).verdict == "holds in part"
    assert r06.judge(runs({"pfifo": 0.7, "fq_codel": 0.7})).verdict == "does not hold here"


def _uploads(rate: int, burst: str, cross: str, swing: dict[str, float]) -> list[Observed]:
    """Bins that alternate between (1 - swing) and (1 + swing) of their mean: variation = swing (n large)."""
    uploads = []
    for queue, s in itertools.product(swing, range(3)):
        key = {"rate": f"{rate}Mbit", "queue": queue, "burst": burst, "cross": cross, "seed": str(s)}
        bins = [4e7 * (1 + swing[queue] * (-1) ** k) for k in range(1000)]
        uploads.append(run(key, rate * 1_000_000, queue, throughput_bps={"up": 4e7}, bins_bps={"up": bins}))
    return uploads


def test_r7_holds_when_every_queue_is_steady() -> None:
    assert r07.judge(_uploads(100, "off", "no", dict.fromkeys(QUEUES, 0.05))).verdict == "holds"


def test_r8_holds_when_fair_queues_are_steady_and_the_others_are_not() -> None:
    swing = {"pfifo": 0.4, "codel": 0.3, "fq_codel": 0.05, "sfq": 0.02}
    assert r08.judge(_uploads(100, "text", "up", swing)).verdict == "holds"
    assert r08.judge(_uploads(100, "text", "up", {**swing, "codel": 0.05})).verdict == "holds in part"


def test_r9_does_not_hold_when_nothing_varies_strongly() -> None:
    assert r09.judge(_uploads(900, "text", "up", dict.fromkeys(QUEUES, 0.05))).verdict == "does not hold here"


def test_r10_sees_a_constant_shift_and_an_unchanged_rate() -> None:
    made = []
    for base_ms, label, mbps in ((0.5, "500us", 95.0), (10.5, "10.5ms", 94.0)):
        key = {
            "rate": "100Mbit",
            "queue": "sfq",
            "burst": "text",
            "cross": "no",
            "base_rtt": label,
            "seed": "0",
        }
        made.append(
            run(
                key,
                queue="sfq",
                throughput_bps={"up": mbps * 1e6},
                idle_ms=[base_ms] * 50,
                loaded_ms={"up": [base_ms + 3.0] * 50},
                base_rtt_ns=round(base_ms * 1e6),
            )
        )
    assert r10.judge(made).verdict == "holds"


def test_r11_finds_equal_means_with_different_tails() -> None:
    made = []
    for queue, wait in (("pfifo", 12.0), ("fq_codel", 0.5)):
        for s in range(3):
            key = {"rate": "100Mbit", "queue": queue, "burst": "off", "cross": "no", "seed": str(s)}
            made.append(
                run(key, queue=queue, throughput_bps={"up": 94e6}, loaded_ms={"up": [0.5 + wait] * 100})
            )
    verdict = r11.judge(made)
    assert verdict.verdict == "holds"
    assert "p99 of the probe's RTT" in verdict.reason
    assert r11.judge(made[:3]).verdict == "not measured"


def test_a_claim_on_every_aqm_only_holds_in_part_when_one_was_not_measured() -> None:
    runs = _uploads(100, "off", "no", {"pfifo": 0.05, "sfq": 0.02})
    (verdict,) = judge_all(runs, ["r7"])
    assert verdict.verdict == "holds in part"
    assert verdict.reason.endswith(
        "measured: 2 of 4 conditions of its experiment, none with queue codel, fq_codel"
    )


def test_a_verdict_from_all_conditions_of_the_experiment_keeps_its_word() -> None:
    runs = _uploads(100, "off", "no", dict.fromkeys(QUEUES, 0.05))
    (verdict,) = judge_all(runs, ["R07"])
    assert verdict.verdict == "holds"
    assert "conditions of its experiment" not in verdict.reason


@cache
def three_rates() -> tuple[Sequence[Observed], Sequence[Verdict]]:
    """A small study, and all verdicts on it."""
    runs = grid(rates_mbps=(100, 800, 900))
    return runs, judge_all(runs)


def test_verdicts_are_written_whole_as_json_and_markdown() -> None:
    runs, verdicts = three_rates()
    whole = told(verdicts, runs, measured(verdicts, runs), (), "narrows claims")
    assert as_json(whole).count('"verdict"') == len(all_claims())
    text = as_md(whole)
    assert all(f"## R{n}: " in text for n in range(1, 13))
    assert "| variation of throughput, 10 ms bins |" in text


def ledger(where: str, old: str = "") -> str:
    runs, verdicts = three_rates()
    return to_ledger(verdicts, measured(verdicts, runs), where, old)


def test_the_ledger_has_a_row_for_each_claim_and_says_where_its_runs_are() -> None:
    lines = ledger("results").splitlines()
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| claim")]
    assert len(rows) == len(all_claims())
    assert len(lines) <= len(all_claims()) + 7 * len(studies()) + 6
    runs_lines = [line for line in lines if line.startswith("Runs: ")]
    assert len(runs_lines) == 1
    assert runs_lines[0].endswith("in `results`.")


def test_a_ledger_keeps_the_rows_of_claims_that_nothing_was_measured_for() -> None:
    runs, _ = three_rates()
    whole = ledger("results")
    assert ledger("results", whole) == whole
    # Without runs nothing is lost.
    assert to_ledger(judge_all([]), {}, "elsewhere", whole) == whole
    other = dataclasses.replace(judge_all(runs, ["R3"])[0], verdict="does not hold here")
    changed = to_ledger([other], measured([other], runs), "results", whole).splitlines()
    differing = [new for old, new in zip(whole.splitlines(), changed, strict=True) if old != new]
    assert [line.startswith("| R3: ") for line in differing if line.startswith("| ")] == [True]


def test_the_row_shows_the_extremes_of_what_decides() -> None:
    numbers = tuple(
        Number("share", "1", value, 3, {"case": words})
        for value, words in ((0.2, "a"), (0.9, "b"), (0.5, "c"))
    )
    besides = Number("share", "1", 0.01, 3, {"kind": "another"})
    claim = Claim("R0", "x", "Figure 0", "x.py", decided_by={"case": ("a", "b", "c")})
    verdict = Verdict(claim, "holds", "because", (besides, *numbers))
    assert [n.conditions for n in deciding(verdict)] == [{"case": "a"}, {"case": "b"}]
