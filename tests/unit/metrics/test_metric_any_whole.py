"""AIM, RRUL's summary and the draft's stability on any run's samples, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from narrows.metrics.latency.responsiveness import DRAFT_08, DRAFT_09
from narrows.scoring.any_latency import Delays, Value
from narrows.scoring.any_whole import aim_values, path_values, rrul_values, stability_values

MS, S = 1e6, 1e9


def steady(ms: float, start_s: float, seconds: float, every_ms: float = 100.0) -> Delays:
    count = round(seconds * 1000 / every_ms)
    t_ns = np.arange(count, dtype=np.float64) * (every_ms * MS) + start_s * S
    return Delays(t_ns, np.full(t_ns.size, ms * MS), int(every_ms * MS))


def by(values: list[Value], version: str) -> dict[str, float | None]:
    return {value.metric: value.value for value in values if value.version == version}


def test_aim_scores_a_probe_before_and_under_both_loads() -> None:
    # idle 20 ms: 5 points (at a threshold the next step holds); max(45, 30) - 20 = 25 ms more: 5;
    # jitter 0: 10; 60 Mbit/s: 20; loss 0: 10. Streaming 5 + 10 + 20 + 5, gaming 20, rtc 5 + 10 + 10 + 5.
    found = aim_values(steady(20, 0, 2), steady(45, 2, 4), steady(30, 6, 4), 60e6, 0.0)
    measured = by(found, "@cloudflare/speedtest 1.14.1, loss of the probe")
    assert measured == {"aim_streaming_points": 40, "aim_gaming_points": 20, "aim_rtc_points": 30}
    # where loss was not measured it has 0 points, not 10
    silent = by(found, "@cloudflare/speedtest 1.14.1, loss not measured")
    assert silent == {"aim_streaming_points": 30, "aim_gaming_points": 10, "aim_rtc_points": 20}


def test_aim_has_no_score_without_idle_samples_or_a_load_of_one_direction() -> None:
    loaded, nothing = steady(45, 2, 4), Delays(np.array([]), np.array([]))
    assert aim_values(None, loaded, loaded, 60e6, 0.0) == []
    assert aim_values(steady(20, 0, 2), loaded, nothing, 60e6, 0.0) == []


def test_rrul_sums_the_flows_means_while_both_ways_are_loaded() -> None:
    # 25 000 bytes each 0.1 s: 2 in a step of 0.2 s, 2 Mbit/s; the upload has one in five steps: 0.2 Mbit/s
    down = np.arange(10, dtype=np.float64) * 1e8 + 1e9
    flows = {
        ("down", "1"): (down, np.full(10, 25_000.0)),
        ("up", "2"): (np.array([1.05e9]), np.array([25_000.0])),
    }
    probe = Delays(np.array([0.2, 0.4, 1.2, 1.6]) * S, np.array([20.0, 22.0, 30.0, 40.0]) * MS)
    found = by(rrul_values(flows, {"probe": probe}, (1_000_000_000, 2_000_000_000)), "Flent 2.3, step 0.2 s")
    assert found == {
        "rrul_tcp_down_sum": 2e6, "rrul_tcp_down_avg": 2e6, "rrul_tcp_up_sum": pytest.approx(2e5),
        "rrul_tcp_up_avg": pytest.approx(2e5), "rrul_tcp_totals": pytest.approx(2.2e6),
        "rrul_ping_avg": 35.0, "rrul_ping_idle_avg": 21.0,
    }  # fmt: skip


def test_rrul_has_nothing_to_say_of_a_moment_or_without_a_probe() -> None:
    flows = {("down", "1"): (np.array([0.0]), np.array([1.0]))}
    assert rrul_values(flows, {"p": steady(20, 0, 1)}, (0, 300_000_000)) == []
    assert rrul_values(flows, {}, (0, 1_000_000_000)) == []


def test_a_steady_load_is_stable_when_the_drafts_and_goresponsiveness_say() -> None:
    # 20 s of 1000 bytes each 0.1 s and 40 ms. -08: moving averages of 4 intervals are equal from interval 3
    # on, four of them at interval 6, after 7 s; then RPM of intervals 7 to 10, after 11 s. Both stages high
    # (2); 60000 / 40.
    trips = steady(40, 0, 20)
    sent, size = np.arange(200, dtype=np.float64) * 1e8, np.full(200, 1000.0)
    found = stability_values(sent, size, trips, trips, (0, 20_000_000_000))
    assert by(found, DRAFT_08.version) == {
        "rpm_goodput_stable_after": 7.0, "rpm_goodput_confidence": 2.0,
        "rpm_responsiveness_stable_after": 11.0, "rpm_responsiveness_confidence": 2.0,
        "rpm_at_the_end": pytest.approx(1500.0),
    }  # fmt: skip
    # -09: 4 intervals of 5 s are too few for a second stage: medium (1) and low (0)
    assert by(found, DRAFT_09.version) == {
        "rpm_goodput_confidence": 1.0, "rpm_responsiveness_confidence": 0.0,
        "rpm_at_the_end": pytest.approx(1500.0),
    }  # fmt: skip
    # goresponsiveness compares the intervals themselves, four equal ones, and looks an interval later
    assert by(found, "goresponsiveness") == {"rpm_goodput_stable_after": 5.0}


def test_a_load_of_less_than_an_interval_has_no_stability() -> None:
    trips = steady(40, 0, 1)
    assert stability_values(np.array([0.0]), np.array([9.0]), trips, trips, (0, 500_000_000)) == []


def test_scores_of_a_path_take_latency_under_load_or_at_rest_as_their_texts_say() -> None:
    # p99 and p99.9 of 45 and 30 ms pooled are 45 ms: optimal. Loss 1 %:
    # 1 - (0.01 - 0.001) / 0.019 = 0.5263. More by (45 + 30) / 2 - 20 = 17.5 ms: A, the fourth step.
    # At rest 20 ms: web has all but loss (1 % is not below 1 %), 9 of 13; gaming both rates alone, 8 of 17.
    found = path_values(steady(20, 0, 2), steady(45, 2, 4), steady(30, 6, 4), (60e6, 30e6), 0.01)
    measured = {value.metric: value.value for value in found}
    assert measured["qoo"] == pytest.approx(52.63, abs=0.01)
    assert measured["bufferbloat_grade"] == 4
    assert measured["iqb_web"] == pytest.approx(9 / 13)
    assert measured["iqb_gaming"] == pytest.approx(8 / 17)


def test_what_lacks_an_input_has_no_score() -> None:
    loaded = steady(45, 2, 4)
    assert path_values(None, loaded, loaded, (None, 30e6), 0.0) == []
    without_loss = path_values(steady(20, 0, 2), loaded, loaded, (60e6, 30e6), None)
    assert [value.metric for value in without_loss] == ["bufferbloat_grade"]
