"""Verdicts on C1 to C5 and R12, from made-up runs whose answers are known."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from labels import said
from made_up_plans import whole
from narrows.judging.items import grouped, of_runs
from narrows.metrics.rate.utilisation import largest_goodput_bps
from narrows.runs.observed import Observed, Probe, Series
from narrows.runs.quantities import Measured
from narrows.studies.aqm.claims import r12
from narrows.studies.operator.claims import c1, c2, c3, c4, c5
from narrows.studies.operator.claims.measures import filled, loaded_rtt_ms, retransmitted

S = 1_000_000_000
RATE = 20e6
FULL_BPS = largest_goodput_bps(RATE)


def made(
    experiment: str,
    key: dict[str, str],
    figures: dict[str, float],
    *,
    rtt_ms: float | None = None,
    probe: str = "probe",
    item: str = "test.down",
) -> Observed:
    """A run with what a test says of itself, and a probe that meets one RTT while it loads (and 20 ms
    before)."""
    probes = {}
    if rtt_ms is not None:
        t = np.arange(0, 11 * S, S / 10)
        # The ramp of the first 3 s after the start at 1 s is not to count.
        value = np.where(t < 1 * S, 20.0, np.where(t < 4 * S, 500.0, rtt_ms))
        probes[probe] = Probe(probe, 100.0, Series(t.astype(float), value))
    plan: dict[str, Any] = {
        "link": {
            "rate_down_bps": RATE, "rate_up_bps": RATE, "mtu_bytes": 1500, "queue": "pie",
            "base_rtt_ns": 20_000_000,
        },
        "traffic": [],
    }  # fmt: skip
    run = Observed(
        run_id=f"{experiment}-{sorted(key.items())}",
        experiment=experiment.removesuffix(".py"),
        question="",
        key=key,
        status="ok",
        error=None,
        plan=whole(plan),
        manifest={"items": {item: {"start_ns": 1 * S, "end_ns": 11 * S}}},
        probes=probes,
        figures=said({("test", "down", name): value for name, value in figures.items()}),
    )
    return dataclasses.replace(run, read_quantities=lambda: Measured(run))


def capacity(share: float, **more: float) -> dict[str, float]:
    return {"capacity_test_throughput_bps": share * FULL_BPS, **more}


def one(connections: str, share: float, seed: str = "0") -> Observed:
    key = {"base_rtt": "20ms", "queue": "fifo", "loss": "0%", "cca": "cubic", "connections": connections}
    return made(c1.judge.claim.experiment, key | {"seed": seed}, capacity(share))


@pytest.mark.parametrize(
    ("alone", "many", "word"),
    [
        (0.79, 0.97, "holds"),
        (0.97, 0.97, "holds in part"),  # one connection fills it, and so do many
        (0.97, 0.85, "does not hold here"),
    ],
)
def test_c1_asks_one_connection_and_the_most(alone: float, many: float, word: str) -> None:
    verdict = c1.judge([one("1", alone), one("4", 0.5), one("8", many)])
    assert verdict.verdict == word
    assert len(verdict.numbers) == 3


def test_c1_goes_by_the_best_run_of_one_connection() -> None:
    runs = [one("1", 0.7, "0"), one("1", 0.81, "1"), one("8", 0.97)]
    assert c1.judge(runs).verdict == "holds in part"


def loaded(queue: str, rtt_ms: float) -> Observed:
    return made(c2.judge.claim.experiment, {"rate": "20Mbit", "queue": queue}, capacity(1), rtt_ms=rtt_ms)


def test_c2_compares_the_probes_median_without_the_ramp() -> None:
    runs = [loaded("fifo_35ms", 50), loaded("fifo_250ms", 265), loaded("docsis_pie", 25)]
    assert c2.judge(runs).verdict == "holds"
    # 35 ms is neither about 25 nor half of 50, but the buffer before is as theirs
    assert c2.judge([runs[0], loaded("docsis_pie", 35)]).verdict == "holds in part"
    assert c2.judge([runs[0]]).verdict == "not measured"


def beside(queue: str, share: float, again: float) -> Observed:
    figures = {
        "capacity_test_throughput_bps": share * RATE, "capacity_test_retransmission_ratio": again,
    }  # fmt: skip
    key = {"tool": "capacity", "beside": "nothing", "queue": queue}
    return made(c3.judge.claim.experiment, key, figures, rtt_ms=30, probe="nqb")


@pytest.mark.parametrize(
    ("share", "again", "word"),
    [
        (0.95, 0.002, "does not hold here"),
        (0.95, 0.0065, "holds in part"),  # retransmissions alone
        (0.89, 0.002, "holds in part"),  # the share alone
        (0.89, 0.0, "holds"),
    ],
)
def test_c3_compares_share_and_retransmissions_with_the_fifo(share: float, again: float, word: str) -> None:
    assert c3.judge([beside("fifo", 0.95, 0.003), beside("docsis_pie", share, again)]).verdict == word


def setting(queue: str, connections: str, share: float) -> Observed:
    key = {"queue": queue, "connections": connections, "omit": "0s", "duration": "3s"}
    return made(c4.judge.claim.experiment, key, capacity(share))


def test_c4_looks_for_a_setting_that_is_no_longer_good() -> None:
    fifo = [setting("fifo", "1", 0.96), setting("fifo", "4", 0.99)]
    worse = [setting("docsis_pie", "1", 0.94), setting("docsis_pie", "4", 0.99)]
    same = [setting("cake", "1", 0.95), setting("cake", "4", 0.99)]
    assert c4.judge(fifo + worse).verdict == "holds"
    assert c4.judge(fifo + same).verdict == "does not hold here"
    both = c4.judge(fifo + worse + same)
    assert both.verdict == "holds in part"
    assert "no longer good connections 1, omit 0 s, duration 3 s" in both.cause


def through(
    tool: str, queue: str, late_ms: float, figures: dict[str, float], beside: str = "nothing"
) -> Observed:
    key = {"tool": tool, "beside": beside, "queue": queue}
    item = c5.ITEMS[tool]
    return made(c5.judge.claim.experiment, key, figures, rtt_ms=late_ms, item=item)


def test_c5_sets_rpm_against_bandwidth() -> None:
    udp = {"iperf3_goodput_bps": largest_goodput_bps(RATE, 1500, 28), "iperf3_loss_ratio": 0.2}
    runs = [
        through("tcp", "fifo", 70, capacity(1)),
        through("tcp", "cake", 22, capacity(0.99)),
        through("rpm", "fifo", 70, {"rpm": 300}),
        through("rpm", "cake", 22, {"rpm": 1500}),
        through("udp", "fifo", 71, udp),
        through("udp", "fifo", 71, udp, beside="flow"),
    ]
    verdict = c5.judge(runs)
    assert verdict.verdict == "holds"
    assert "bandwidth 1.01-fold, RPM 5.0-fold" in verdict.reason
    swapped = [*runs[:2], through("rpm", "fifo", 70, {"rpm": 1500}), through("rpm", "cake", 22, {"rpm": 300})]
    assert "RPM orders all pairs of queues as the probe does: no (0 of 1 pairs)" in c5.judge(swapped).reason


@pytest.mark.parametrize("module", [c1, c2, c3, c4, c5, r12])
def test_without_runs_nothing_is_judged(module: Any) -> None:
    assert module.judge([]).verdict == "not measured"


def test_labels_that_are_numbers_are_sorted_by_value() -> None:
    runs = [one(n, 1) for n in ("8", "16", "1")]
    labels = [key["connections"] for key, _ in grouped(of_runs(runs), ("connections",))]
    assert labels == ["1", "8", "16"]


def test_what_was_not_measured_is_none() -> None:
    nothing = made("x", {}, {})
    assert filled(nothing) is None
    assert retransmitted(nothing) is None
    assert loaded_rtt_ms("probe", "test.down")(nothing) is None
