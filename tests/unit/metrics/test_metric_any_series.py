"""Every metric on one series: hand-made values, and what must hold for any input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.ndimage import median_filter

from narrows.metrics.latency.glitches import glitches
from narrows.metrics.statistics.arrays import Floats, quantiles
from narrows.metrics.statistics.columns import first_of_each
from narrows.scoring.any_latency import Delays, latency_values, rpm_values
from narrows.scoring.any_throughput import throughput_values

MS = 1e6


def delays(ms: list[float], every_ms: float = 10.0, isochronous: bool = True) -> Delays:
    t_ns = np.arange(len(ms), dtype=np.float64) * (every_ms * MS)
    return Delays(t_ns, np.array(ms, dtype=np.float64) * MS, int(every_ms * MS) if isochronous else None)


def values_of(series: Delays, idle: Delays | None = None) -> dict[tuple[str, str], float | None]:
    return {(v.metric, v.version.split(",")[0]): v.value for v in latency_values(series, idle)}


def test_figures_of_a_steady_delay_are_that_delay_and_its_rpm() -> None:
    # 40 ms throughout: 60000 / 40 = 1500 round trips per minute in every variant; nothing varies
    found = values_of(delays([40.0] * 100))
    for metric in ("latency_min", "latency_p50", "latency_p99", "latency_max"):
        assert found[metric, "Hyndman and Fan type 7"] == 40.0
    rpms = [value for (metric, _), value in found.items() if metric == "rpm"]
    assert len(rpms) >= 3
    assert rpms == pytest.approx([1500.0] * len(rpms))
    assert found["jitter", "RFC 3550"] == 0.0
    assert found["pdv_p99.9", "RFC 5481"] == 0.0
    assert found["loss_ratio", "lost of sent"] == 0.0


def test_the_last_20_pings_are_thinned_to_one_per_400_ms_before_they_are_counted() -> None:
    # 10 s at 10 ms each: the first 2 s at 100 ms, then 10 ms. One ping per 400 ms is 25 pings, the last 20 of
    # which begin at 2.0 s: their median is 10. All samples' last 20 would be the last 200 ms only.
    series = delays([100.0] * 200 + [10.0] * 800)
    last = next(v for v in latency_values(series) if v.metric == "latency_last20_median")
    assert (last.value, last.n) == (10.0, 20)


@pytest.mark.parametrize("seed", range(5))
def test_glitches_are_those_of_the_median_of_every_window(seed: int) -> None:
    # the program works the median out only where it can matter; here it is worked out everywhere
    random = np.random.default_rng(seed)
    rtt = (
        40
        + 15 * np.sin(np.arange(3000) / 300)
        + random.exponential(6, 3000)
        + 30 * (random.random(3000) < 0.01)
    )
    above = rtt - median_filter(rtt, size=51, mode="nearest") >= 20.0
    edges = np.diff(np.concatenate(([False], above)).astype(int)) > 0
    assert glitches(rtt, 20.0).count == np.count_nonzero(edges) > 0


def test_the_first_sample_of_each_interval_is_found_whether_dense_or_sparse() -> None:
    dense = np.array([0.0, 1.0, 9.0, 10.0, 11.0, 35.0])
    assert first_of_each(dense, 0.0, 10.0).tolist() == [0, 3, 5]  # intervals 0, 1 and 3
    assert first_of_each(dense, 0.0, 1.0).tolist() == [0, 1, 2, 3, 4, 5]  # 36 intervals, six of them with one
    assert first_of_each(np.array([]), 0.0, 1.0).tolist() == []


def test_working_latency_is_the_loaded_quantile_less_the_idle_median() -> None:
    found = values_of(delays([30.0, 50.0, 70.0]), delays([19.0, 20.0, 21.0]))
    assert found["working_latency_p50", "narrows: loaded quantile - idle median"] == 30.0  # 50 - 20


def test_drafts_08_and_09_look_back_4_and_20_seconds() -> None:
    # 30 s, one sample a second: 100 ms until the last 4 s, which have 50 ms.
    series = delays([100.0] * 26 + [50.0] * 4, every_ms=1000.0)
    found = values_of(series)
    # -08: samples of the last 4 s; three of four are kept: 50 ms, 1200 / min
    assert found["rpm", "draft-ietf-ippm-responsiveness-08"] == pytest.approx(1200.0)
    # -09: 20 samples, 19 kept: 4 of 50 and 15 of 100: mean 1700 / 19 ms
    assert found["rpm", "draft-ietf-ippm-responsiveness-09"] == pytest.approx(60000.0 * 19 / 1700)


def test_foreign_and_own_round_trips_part_the_draft_from_goresponsiveness() -> None:
    # design: at 10 ms foreign and 100 ms self the draft says 3300, goresponsiveness 1091
    foreign, own = delays([10.0] * 50), delays([100.0] * 50)
    found = {(v.metric, v.version): v.value for v in rpm_values(foreign, own)}
    assert found["rpm", "draft-ietf-ippm-responsiveness-09"] == pytest.approx(3300.0)
    assert found["rpm", "goresponsiveness, 5 % trimmed mean"] == pytest.approx(60000.0 / 55.0)


def test_an_outage_and_an_excursion_are_told_as_each_metric_defines_them() -> None:
    # 1000 probes of 20 ms, one per 10 ms: five lost at 5.00 to 5.04 s, twenty of 120 ms at 7.00 to 7.19 s
    ms = [20.0] * 1000
    ms[500:505] = [math.nan] * 5
    ms[700:720] = [120.0] * 20
    found = {(v.metric, v.version): (v.value, v.n) for v in latency_values(delays(ms))}
    assert found["loss_ratio", "lost of sent"] == (pytest.approx(0.005), 1000)
    # both stand out from the median of a second; in 10 s: 12 a minute, 6 without the loss
    glitch = {version: value for (metric, version), value in found.items() if metric == "glitches_per_minute"}
    assert glitch == {
        "narrows 1: 20 ms above 1 s median, or lost": (12.0, 1000),
        "narrows 1: delay only": (6.0, 1000),
    }
    # a step of 100 ms up and one down, over 999 pairs less the six that touch a lost probe
    assert found["jitter", "@cloudflare/speedtest 1.14.1, every sample"][0] == pytest.approx(200 / 993)
    # 100 ms above the smallest. From the first arrival (20 ms) to the last (10.01 s) there are 200 intervals
    # of 50 ms; nothing arrives in [5.02, 5.07), [7.02, 7.07), [7.07, 7.12); what was late in four of them
    assert found["delay_range_max", "RFC 9097, feedback of 50 ms"] == (100.0, 197)
    assert found["delay_range_slows", "RFC 9097, range above 90 ms"] == (pytest.approx(4 / 197), 197)
    assert found["high_delay_share", "above 190 ms"] == (0.0, 995)


def test_frames_behind_a_late_one_are_shown_with_it_and_that_is_one_freeze() -> None:
    # 100 frames, one per 40 ms, 20 ms on the way; the twentieth takes 320. It is shown at 1.12 s, and with it
    # those of 0.84 to 1.08 s: a gap of 340 ms, the only one. From 0.02 to 3.98 s: 60 / 3.96 s.
    ms = [20.0] * 100
    ms[20] = 320.0
    freezes = {
        v.version: v.value for v in latency_values(delays(ms, 40.0)) if v.metric == "freezes_per_minute"
    }
    assert freezes == {
        "libwebrtc, 30 frames/s of one packet": pytest.approx(60 / 3.96),
        "prior, 30 frames/s of one packet": pytest.approx(60 / 3.96),
    }


def test_working_latency_at_p95_is_of_the_loaded_tail() -> None:
    # 100 to 200 ms: p95 is 195; the idle median 100
    version = "narrows: loaded quantile - idle median"
    found = values_of(delays([100.0 + k for k in range(101)]), delays([99.0, 100.0, 101.0]))
    assert (found["working_latency_p50", version], found["working_latency_p95", version]) == (50.0, 95.0)


@pytest.mark.parametrize("ms", [[], [5.0], [math.nan], [math.nan, math.nan], [math.nan, 3.0]], ids=str)
def test_fewer_than_two_samples_give_no_latency(ms: list[float]) -> None:
    assert {v.metric for v in latency_values(delays(ms))} <= {"loss_ratio"}


def test_times_that_go_back_are_refused() -> None:
    with pytest.raises(ValueError, match=r"row 2 .* is earlier than row 1"):
        Delays(np.array([1.0, 9.0, 3.0]), np.array([1.0, 1.0, 1.0]))


def test_an_infinite_delay_is_refused() -> None:
    with pytest.raises(ValueError, match="infinite"):
        latency_values(delays([1.0, math.inf, 2.0]))


def drawn(seed: int) -> list[float]:
    """0 to 120 delays of any kind: constant, heavy-tailed, ramps, zeros, with none to all of them lost."""
    random = np.random.default_rng(seed)
    n = int(random.integers(0, 121))
    kinds = (
        np.full(n, random.uniform(0, 500)),
        random.pareto(1.2, n) * 10,
        np.sort(random.uniform(0, 1e4, n)),
        random.choice([0.0, 1e-6, 1e4], n),
    )
    ms = kinds[int(random.integers(len(kinds)))].copy()
    ms[random.random(n) < random.choice([0.0, 0.1, 0.5, 1.0])] = math.nan
    return [float(x) for x in ms]


@pytest.mark.parametrize("isochronous", [True, False])
@pytest.mark.parametrize("every_ms", [1.0, 10.0, 400.0])
@pytest.mark.parametrize("seed", range(60))
def test_every_value_of_any_series_is_finite_and_within_what_it_can_be(
    seed: int, every_ms: float, isochronous: bool
) -> None:
    ms = drawn(seed)
    present = [x for x in ms if not math.isnan(x)]
    for value in latency_values(delays(ms, every_ms, isochronous)):
        assert value.value is not None, value
        assert math.isfinite(value.value), value
        assert value.n > 0
        if value.metric.startswith("latency_"):
            assert min(present) - 1e-9 <= value.value <= max(present) + 1e-9, value
        if value.unit == "1" or value.metric in ("high_delay_share", "loss_ratio", "delay_range_slows"):
            assert 0.0 <= value.value <= 1.0, value
        assert value.value >= 0.0, value


@pytest.mark.parametrize("seed", range(30))
def test_figures_that_do_not_depend_on_order_do_not_change_with_it(seed: int) -> None:
    ms = [x for x in drawn(seed) if not math.isnan(x)]
    shuffled = [float(x) for x in np.random.default_rng(seed).permutation(ms)]
    free = ("latency_p50", "latency_p95", "latency_interquartile_mean", "high_delay_share", "pdv_p99.9")
    one, other = (
        {v.metric: v.value for v in latency_values(delays(order)) if v.metric in free}
        for order in (ms, shuffled)
    )
    assert one == pytest.approx(other)


def packets(seconds: int, per_second: int, size: float) -> tuple[Floats, Floats, Floats, Floats]:
    t_ns = np.arange(seconds * per_second, dtype=np.float64) * (1e9 / per_second)
    full = np.full(t_ns.size, size)
    return t_ns, full, full + 52.0, np.zeros(t_ns.size)


def test_all_rates_of_a_steady_stream_agree_at_their_layer() -> None:
    # 1000 packets/s of 1250 payload bytes: 10 Mbit/s of payload; with 52 bytes of headers 10.416 Mbit/s of IP
    found = {v.metric: v.value for v in throughput_values(*packets(10, 1000, 1250.0), (0, 10_000_000_000))}
    for metric in ("throughput_mean", "throughput_after_omit", "throughput_p90_requests"):
        assert found[metric] == pytest.approx(10e6, rel=2e-3)
    assert found["throughput_best_second"] == pytest.approx(10.416e6)
    assert found["throughput_variation"] == pytest.approx(0.0, abs=1e-9)


def test_the_omitted_ramp_lifts_the_result_of_a_slow_start() -> None:
    # 2 s at 1 Mbit/s, then 8 s at 10: the mean is 8.2; what is left after 2 s is 10
    slow, fast = packets(2, 100, 1250.0), packets(8, 1000, 1250.0)
    t_ns = np.concatenate((slow[0], fast[0] + 2e9))
    size, whole, flow = (np.concatenate((slow[n], fast[n])) for n in (1, 2, 3))
    values = throughput_values(t_ns, size, whole, flow, (0, 10_000_000_000))
    after = {v.version: v.value for v in values if v.metric == "throughput_after_omit"}
    assert after["iperf3: intervals of 1 s, 0 s omitted"] == pytest.approx(8.2e6, rel=1e-3)
    assert after["iperf3: intervals of 1 s, 2 s omitted"] == pytest.approx(10e6, rel=1e-3)


def test_the_p90_of_requests_and_the_best_second_read_the_best_tenth_of_a_varying_link() -> None:
    # 9 s at 4 Mbit/s, 1 s at 10: the mean is 4.6. Requests of 100 kB: 45 of 4 Mbit/s, 12 of 10: their p90 is
    # of the latter. The best second is 10 Mbit/s of payload, 10.416 of IP.
    slow, fast = packets(9, 400, 1250.0), packets(1, 1000, 1250.0)
    t_ns = np.concatenate((slow[0], fast[0] + 9e9))
    size, whole, flow = (np.concatenate((slow[n], fast[n])) for n in (1, 2, 3))
    values = throughput_values(t_ns, size, whole, flow, (0, 10_000_000_000))
    found = {v.metric: v.value for v in values if "1000 kB" not in v.version and "10000 kB" not in v.version}
    assert found["throughput_mean"] == pytest.approx(4.6e6)
    assert found["throughput_p90_requests"] == pytest.approx(10e6, rel=1e-3)
    assert found["throughput_best_second"] == pytest.approx(10.416e6)
    # 900 bins of 4 and 100 of 10: variance (900 x 0.36 + 100 x 29.16) / 999
    assert found["throughput_variation"] == pytest.approx(math.sqrt(3240 / 999) / 4.6)


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_packets_give_no_rate(count: int) -> None:
    x = np.arange(count, dtype=np.float64)
    assert throughput_values(x, x, x, x, (0, 10)) == []


@pytest.mark.parametrize("seed", range(20))
def test_quantiles_of_ordered_values_are_numpys(seed: int) -> None:
    x = np.sort(np.random.default_rng(seed).exponential(size=seed + 2))
    shares = [0.0, 0.25, 0.5, 0.9, 0.999, 1.0]
    assert quantiles(x, shares) == pytest.approx(np.quantile(x, shares), rel=1e-12)
