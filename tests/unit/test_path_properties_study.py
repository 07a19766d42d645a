"""The study of path properties where no guest is needed: its populations, and what it makes of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up_runs import grid

from narrows.figures.drawing import Missing
from narrows.judging.verdict import Verdict
from narrows.judging.words import counted
from narrows.paths.busy_hours import busy_hours
from narrows.runs import archive
from narrows.runs.load import load
from narrows.studies.find import claims
from narrows.studies.path_properties.claims.n4 import _rates
from narrows.studies.path_properties.figures import DRAWN, figures
from narrows.studies.path_properties.population import BUSY_H, QUIET_H, sessions
from narrows.studies.path_properties.seen import seen


def test_a_population_is_the_same_for_the_same_seed_and_has_what_was_asked_for() -> None:
    made = sessions(1, 20_000, proxied_ases=0.2, proxied_share=0.5)
    assert made.equals(sessions(1, 20_000, proxied_ases=0.2, proxied_share=0.5))
    assert made["true_proxy"].mean() == np.float64(made["true_proxy"].sum() / 20_000)
    assert 0.09 < float(made["true_proxy"].mean() or 0) < 0.11  # type: ignore[arg-type]
    assert 70e6 < float(made["peak_queueing_delay_ns"].median() or 0) < 90e6  # type: ignore[arg-type]
    hours = made["start_ns"] // 3_600_000_000_000
    busy, quiet = (int(hours.is_between(low, high - 1).sum()) for low, high in (BUSY_H, QUIET_H))
    assert 2.5 < busy / quiet < 3.5


def test_proxies_are_found_among_devices_that_keep_to_their_range_and_not_among_others() -> None:
    precision, recall = _rates(0, 10_000, noisy=False)
    assert precision > 0.95
    assert recall > 0.95
    precision, _ = _rates(0, 10_000, noisy=True)
    assert precision < 0.6


def test_busy_hours_that_add_nothing_are_not_found_and_those_that_add_100_ms_are() -> None:
    plain, added = sessions(3, 8_000), sessions(3, 8_000, busy_ms=100.0)
    assert not any(test.significant for test in busy_hours(plain))
    assert any(test.significant_holm and test.shift_ms >= 20 for test in busy_hours(added))


def test_without_runs_nothing_is_measured() -> None:
    assert seen([]) == []
    for module in claims("path_properties"):
        verdict = module.judge([])
        assert verdict.verdict == "not measured"
        assert "narrows run n1_conditions" in verdict.reason
    assert [module.judge.claim.id for module in claims("path_properties")] == [f"N{n}" for n in range(1, 12)]


def test_what_was_read_of_captures_is_judged_alike_from_a_shard(tmp_path: Path) -> None:
    rows = [
        {"captured_at": "server:eth0", "base_rtt_ns": 20_200_000, "true_base_rtt_ns": 20_000_000},
        {"captured_at": "router:eth1", "base_rtt_ns": 30_000_000, "true_base_rtt_ns": 20_000_000},
    ]
    (some, *_) = grid(seeds=1, rates_mbps=(100,))
    key = {"path": "plain", "base_rtt": "20ms"}
    run = replace(some, experiment="n1_conditions", key=key, path_logs=rows)
    n1 = claims("path_properties")[0]
    verdict = n1.judge([run])
    assert verdict.verdict == "holds"
    error = {number.conditions["place"]: number.value for number in verdict.numbers}
    assert error["sender"] == pytest.approx(0.01)
    assert error["bottleneck"] == pytest.approx(0.5)
    manifest = {"run_id": run.run_id, "engine": "uml", "plan_hash": "p"}
    archive.write([replace(run, manifest=manifest)], tmp_path / "a.runs.parquet")
    assert n1.judge(load(tmp_path / "a.runs.parquet")) == verdict


def test_a_policed_path_of_which_no_log_says_so_fails_its_mark() -> None:
    plain, policed = grid(seeds=2, rates_mbps=(100,))[:2]

    def verdict(told: bool | None) -> Verdict:
        rows = {
            "plain": {"captured_at": "server:eth0", "policed": False, "true_policed": False},
            "policer": {"captured_at": "server:eth0", "policed": told, "true_policed": True},
        }
        runs = [
            replace(run, experiment="n1_conditions", key={"path": path, "base_rtt": "20ms"}, path_logs=[row])
            for run, (path, row) in zip((plain, policed), rows.items(), strict=True)
        ]
        return claims("path_properties")[10].judge(runs)

    # Neither rate nor burst nor many policers are there: these marks have no sample, so they fail.
    assert "logs of a policed path say whether it is: yes (policer, 20 ms, sender)" in verdict(True).reason
    assert "logs of a policed path say whether it is: no (policer, 20 ms, sender)" in verdict(None).reason
    assert "judged rightly in 90 % and more: yes (plain, 20 ms, sender)" in verdict(None).reason


def test_the_page_has_a_figure_for_each_estimator_and_says_what_is_missing() -> None:
    made = [make() for _, make in figures([])]
    assert [one.name for one in made] == [name for name, *_ in DRAWN]
    assert all(isinstance(one, Missing) for one in made)


def test_what_is_wrong_is_named() -> None:
    assert counted({"a": True, "b": False}) == "1 of 2 (not: b)"
    assert counted({"a": True}) == "1 of 1"
