"""Trials: whose rate, over which time, against which fair rate; what does not count; what claims say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up_trials import plans, trial

from narrows.comparing.pair_shares import summaries
from narrows.comparing.trials import fair_rates, trials
from narrows.comparing.trials import share as share_of
from narrows.runs.observed import Observed
from narrows.runs.settled import LATE, faults, settled_window
from narrows.studies.find import claims
from narrows.studies.prudentia.claims import t09, t11, t14, t20, t22, t23
from narrows.studies.prudentia.claims.measures import alike
from narrows.studies.prudentia.figures import heat_map

S = 1_000_000_000


def key(pair: str, seed: int = 0, **more: str) -> dict[str, str]:
    return {"rate": "8Mbit", "length": "10s", "pair": pair, "seed": str(seed)} | more


def test_rates_are_of_the_middle_three_fifths_of_the_time_that_both_ran(tmp_path: Path) -> None:
    plan = plans(tmp_path)["x+y"]
    assert settled_window(plan) == (2 * S, 8 * S)
    (one,) = trials([trial(plan, key("x+y"), (3.0, 5.0), settled_only=True)])
    assert [use.rate_bps for use in one.uses] == pytest.approx([3e6, 5e6])
    assert one.utilisation == pytest.approx(1.0)


def test_shares_are_of_fair_rates_that_follow_from_what_each_takes_alone(tmp_path: Path) -> None:
    plan = plans(tmp_path)
    runs = [
        trial(plan["x"], key("x"), (2.0,)),  # takes 2 of 8 alone: its fair rate
        trial(plan["y"], key("y"), (8.0,)),
        trial(plan["x+y"], key("x+y"), (1.0, 7.0)),
        trial(plan["x+y"], key("x+y", 1), (1.5, 6.5)),
        trial(plan["x+y"], key("x+y", 2), (1.2, 6.0)),
    ]
    by_pair = {one.pair: one for one in summaries(trials(runs))}
    x, y = by_pair["x", "y"].sides
    assert (x.fair_mbps, y.fair_mbps) == (2.0, 6.0)
    assert (x.rate_mbps, y.rate_mbps) == (1.2, 6.5)  # medians
    assert (x.share, y.share) == (pytest.approx(0.6), pytest.approx(6.5 / 6))
    assert x.low_mbps is None  # three trials have no interval
    assert by_pair["x", "y"].n == 3


def test_a_service_that_was_never_alone_has_no_share(tmp_path: Path) -> None:
    plan = plans(tmp_path)
    runs = [trial(plan["x"], key("x"), (8.0,)), trial(plan["x+y"], key("x+y"), (1.0, 7.0))]
    (both,) = (one for one in summaries(trials(runs)) if len(one.pair) == 2)
    assert [side.share for side in both.sides] == [None, None]
    assert [side.rate_mbps for side in both.sides] == [1.0, 7.0]


def test_other_conditions_have_other_demands(tmp_path: Path) -> None:
    plan = plans(tmp_path)
    runs = [
        trial(plan["x"], key("x", queue="usual"), (8.0,)),
        trial(plan["y"], key("y", queue="usual"), (8.0,)),
        trial(plan["x+y"], key("x+y", queue="double"), (1.0, 7.0)),
    ]
    (both,) = (one for one in summaries(trials(runs)) if len(one.pair) == 2)
    assert both.sides[0].share is None


@pytest.mark.parametrize(
    ("figures", "word"),
    [
        (
            {("a", None, "video_frames"): 1000.0, ("a", None, "video_frames_dropped"): 11.0},
            "11 of 1000 frames",
        ),
        ({("a", None, "video_top_rung_playable"): 0.0}, "highest rung"),
        ({("b", None, "video_frozen_ms"): 9000.0}, "stood still for 9 s"),
        ({("a", None, "browser_processes_gone"): 1.0}, "processes of the browser died"),
        ({("b", None, "call_cpu_limited_s"): 0.5}, "limited by the processor"),
    ],
)
def test_a_trial_that_is_not_valid_says_why_and_does_not_count(
    tmp_path: Path, figures: dict[tuple[str, str | None, str], float], word: str
) -> None:
    plan = plans(tmp_path)
    bad = trial(plan["x+y"], key("x+y"), (1.0, 7.0), figures=figures)
    assert word in faults(bad)[0]
    good = trial(plan["x+y"], key("x+y", 1), (4.0, 4.0))
    (both,) = summaries(trials([bad, good]))
    assert (both.n, both.sides[0].rate_mbps) == (1, 4.0)


def test_one_frame_of_a_hundred_may_be_dropped(tmp_path: Path) -> None:
    figures = {("a", None, "video_frames"): 1000.0, ("a", None, "video_frames_dropped"): 10.0}
    assert faults(trial(plans(tmp_path)["x"], key("x"), (8.0,), figures=figures)) == ()


def test_losses_are_dropped_over_arrived_of_the_services_own_packets(tmp_path: Path) -> None:
    figures = {
        ("bottleneck/a", "down", "tap_arrived"): 200.0, ("bottleneck/a", "down", "tap_dropped"): 3.0,
        ("bottleneck/a", "down", "sojourn_p50_ms"): 120.0,
    }  # fmt: skip
    (one,) = trials([trial(plans(tmp_path)["x+y"], key("x+y"), (4.0, 4.0), figures=figures)])
    assert (one.uses[0].loss, one.uses[0].delay_ms) == (0.015, 120.0)
    assert one.uses[1].loss is None


def test_late_packets_are_those_whose_base_rtt_and_queueing_exceed_190_ms(tmp_path: Path) -> None:
    # 140 ms and the base RTT of 50 are 190: not above
    histogram = (np.array([10.0, 140.0, 150.0]), np.array([60.0, 20.0, 20.0]))
    run = trial(plans(tmp_path)["x"], key("x"), (8.0,), sojourn_of={"a": histogram})
    assert run.quantity(LATE, "a") == pytest.approx(0.2)
    assert run.quantity(LATE, "nobody") is None


def named(pair: str, seed: int = 0, **more: str) -> dict[str, str]:
    """A key in which x and y are two of the study's ten."""
    return key(pair.replace("x", "bbr").replace("y", "reno"), seed, **more)


def made(tmp_path: Path) -> list[Observed]:
    """bbr gets half of its share beside reno, each is fair to itself."""
    plan = plans(tmp_path)
    rates = {"x": (8.0,), "y": (8.0,), "x+x": (4.0, 4.0), "y+y": (3.9, 4.1), "x+y": (2.0, 6.0)}
    return [trial(plan[pair], named(pair), rates[pair]) for pair in rates]


def test_a_run_that_two_experiments_share_counts_under_the_labels_of_each(tmp_path: Path) -> None:
    plan = plans(tmp_path)
    alone = [trial(plan[one], key(one), (8.0,)) for one in "xy"]
    again = [replace(run, key={**run.key, "queue": "usual"}) for run in alone]
    both = trial(plan["x+y"], key("x+y"), (2.0, 6.0))
    assert len(trials([*alone, *again])) == 4
    (found,) = (one for one in summaries(trials([*again, *alone, both])) if len(one.pair) == 2)
    assert [side.share for side in found.sides] == [0.5, 1.5]


def test_pairs_are_compared_at_one_length(tmp_path: Path) -> None:
    plan = plans(tmp_path)
    alone = [
        trial(plan[one], named(one, length=length), (8.0,)) for one in "xy" for length in ("60s", "180s")
    ]
    runs = [*alone, trial(plan["x+y"], named("x+y", length="60s"), (2.0, 6.0))]
    both = [("bbr", "reno"), ("bbr", "bbr")]
    assert alike(runs, "8Mbit", both) == []
    runs.append(trial(plan["x+x"], named("x+x", length="180s"), (4.0, 4.0)))
    assert alike(runs, "8Mbit", both) == []
    runs.append(trial(plan["x+y"], named("x+y", length="180s"), (3.0, 5.0)))
    assert [(one.key["beside"], one.of.share) for one in alike(runs, "8Mbit", both)] == [
        ("reno", 0.75), ("bbr", 1.0)
    ]  # fmt: skip


def test_how_far_trials_differ_is_asked_of_the_length_of_which_there_are_most(tmp_path: Path) -> None:
    plan = plans(tmp_path)["x+y"]
    few = [trial(plan, named("x+y", seed, length="180s"), (1.0, 7.0)) for seed in range(3)]
    many = [trial(plan, named("x+y", seed, length="60s"), (2.0 + seed, 6.0 - seed)) for seed in range(5)]
    assert t23.judge(few).verdict == "not measured"
    verdict = t23.judge([*few, *many])
    assert verdict.verdict == "holds"
    assert verdict.conditions == "trials of 60 s"
    assert {(n.value, n.n) for n in verdict.numbers} == {(2.0 / 4.0, 5)}, "of five trials"


def test_rates_of_the_link_are_compared_at_one_length(tmp_path: Path) -> None:
    plan = plans(tmp_path)

    def met(rate: str, length: str, video_mbps: float) -> list[Observed]:
        labels = {"rate": rate, "length": length, "seed": "0"}
        return [
            trial(plan["x"], {**labels, "pair": "dash"}, (4.0,)),
            trial(plan["y"], {**labels, "pair": "download"}, (8.0,)),
            trial(plan["x+y"], {**labels, "pair": "dash+download"}, (video_mbps, 8 - video_mbps)),
        ]

    rates = ("8Mbit", "20Mbit", "30Mbit", "50Mbit")
    runs = [run for rate in rates for run in met(rate, "60s", 2.0)] + met("8Mbit", "180s", 4.0)
    assert {number.value for number in t20.judge(runs).numbers} == {0.5}
    assert t20.judge(runs).conditions == "trials of 60 s"
    assert t20.judge(met("8Mbit", "180s", 4.0)).verdict == "not measured"


def test_what_is_not_of_the_ten_is_no_part_of_their_verdict(tmp_path: Path) -> None:
    other = trial(plans(tmp_path)["x+y"], key("eight+reno"), (7.0, 1.0))
    assert t09.judge([*made(tmp_path), other]).numbers == t09.judge(made(tmp_path)).numbers


def test_claims_judge_trials_and_name_their_length(tmp_path: Path) -> None:
    verdict = t09.judge(made(tmp_path))
    assert verdict.verdict == "holds"
    (same, loser) = verdict.numbers
    assert (loser.value, same.value) == (0.5, pytest.approx((1.0 + 0.975) / 2))
    assert verdict.conditions == "trials of 10 s"
    assert len(verdict.run_ids) == 3


@pytest.mark.parametrize("module", claims("prudentia"), ids=lambda module: str(module.judge.claim.id))
def test_without_runs_every_claim_says_so(module: object) -> None:
    verdict = module.judge([])  # type: ignore[attr-defined]
    assert verdict.verdict == "not measured"


def test_two_services_decide_nothing_about_three(tmp_path: Path) -> None:
    assert {m.judge(made(tmp_path)).verdict for m in (t11, t14, t22)} == {"not measured"}


def test_a_heat_map_names_no_service_that_was_not_measured(tmp_path: Path) -> None:
    drawing = heat_map(made(tmp_path), "50Mbit", "share")
    assert "no two services met" in getattr(drawing, "reason", "")


def test_a_share_is_the_rate_over_the_fair_rate(tmp_path: Path) -> None:
    run = trial(plans(tmp_path)["x+y"], key("x+y"), (0.5, 7.5))
    # 8 Mbit/s, of which one wants 1: that leaves 7 to the other
    fair = fair_rates(run, "down", [1e6, 8e6])
    assert fair == (1e6, 7e6)
    assert [share_of(rate, each) for rate, each in zip((0.5e6, 7e6), fair, strict=True)] == [0.5, 1.0]
    assert fair_rates(run, "down", [None, 8e6]) == (None, None), "nobody knows what one wants"
    assert (share_of(None, 1e6), share_of(1e6, 0.0)) == (None, None)
