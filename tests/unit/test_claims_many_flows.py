"""Verdicts on T1 to T8 from made-up runs of many flows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from made_up_plans import whole
from narrows.judging.words import conditions as spelt_out
from narrows.metrics.fairness.losses_per_halving import LossesPerHalving
from narrows.metrics.fairness.mathis import Mathis
from narrows.metrics.fairness.mathis_choices import FULL_QUEUE, MathisChoice
from narrows.metrics.fairness.shares import Share
from narrows.metrics.queue.burstiness import Burstiness, FlowBurstiness
from narrows.metrics.queue.first_drain import Drain
from narrows.runs.many_flows import ManyFlows, Settled
from narrows.runs.observed import Observed
from narrows.studies.corescale.case import thesis_cases
from narrows.studies.corescale.claims import t01, t03, t04, t05, t06, t07, t08
from narrows.studies.corescale.claims.measures import conditions, lengths

S = 1_000_000_000
BUFFERS = {100e6: 3_000_000, 1e9: 37_500_000, 10e9: 375_000_000}


def plan(
    rate: float, mix: dict[str, int], *, rtt_ms: int = 20, buffer: float = 1, **other: Any
) -> dict[str, Any]:
    items = [
        {
            "id": cca, "kind": "tcp_bulk", "sender": "sender1", "flows": count, "cca": cca,
            "start_spread_ns": other.get("spread_ns", 20 * S),
        }
        for cca, count in mix.items()
    ]  # fmt: skip
    offloads = {"tso": other.get("tso") == "on", "gso": False, "gro": False}
    limit = int(BUFFERS[rate] * buffer)
    return {
        **({"seed": other["seed"]} if "seed" in other else {}),
        "traffic": items,
        "link": {
            "rate_down_bps": rate, "mtu_bytes": 1500, "base_rtt_ns": rtt_ms * 1_000_000, "queue": "bfifo",
            "down": {"queue_options": {"limit": str(limit)}, "limit_bytes": limit}, "offloads": offloads,
            "pairs": [{"name": "a", "senders": ["sender1"], "base_rtt_ns": rtt_ms * 1_000_000}],
        },
    }  # fmt: skip


def many(**changes: Any) -> ManyFlows:
    settled = Settled(final=0.9, moved=0.004, over_ns=60 * S, settled_ns=100 * S)
    values: dict[str, Any] = {
        "start_ns": 0, "stop_ns": 120 * S, "flows": 1, "drops": 1, "jain": None,
        "jain_by_cca": {}, "shares": {}, "mathis_on_losses": None, "mathis_on_halvings": None,
        "losses_per_halving": None, "drop_burstiness": None, "synchronisation": None, "utilisation": None,
        "occupancy_mean": None, "jain_settled": settled, "share_settled": {}, "time_to_fairness_ns": None,
        "jain_series": pl.DataFrame(),
    }  # fmt: skip
    return ManyFlows(**(values | changes))


def run(number: int, the_plan: dict[str, Any], result: ManyFlows) -> Observed:
    read: Callable[[], ManyFlows | None] = lambda: result  # noqa: E731
    return Observed(
        run_id=f"{number:016x}", experiment="x", question="?", key={}, status="ok", error=None,
        plan=whole({"seed": number} | the_plan), read_many=read,
    )  # fmt: skip


def newreno(
    number: int, rate: float, flows: int, on_losses: float, on_halvings: float, ratio: float
) -> Observed:
    burst = 0.2 if rate == 100e6 else 0.35
    result = many(
        jain=0.995,
        mathis_on_losses=Mathis(on_losses, 0.5, flows, 0),
        mathis_on_halvings=Mathis(on_halvings, 0.05, flows, 0),
        losses_per_halving=LossesPerHalving(ratio, ratio, flows, 0),
        drop_burstiness=Burstiness(0.9, 0.9, 1000),
        flow_burstiness=FlowBurstiness(burst, burst, burst, burst, flows, 0),
        mathis_choices=(MathisChoice(FULL_QUEUE, 1.2 * on_losses, 1.2 * on_halvings),),
    )
    return run(number, plan(rate, {"reno": flows}), result)


def share(number: int, rate: float, mix: dict[str, int], cca: str, part: float) -> Observed:
    total = sum(mix.values())
    found = {name: Share(part if name == cca else 1 - part, n / total, n) for name, n in mix.items()}
    return run(number, plan(rate, mix), many(shares=found))


def test_a_condition_is_read_from_the_plan() -> None:
    (case,) = thesis_cases([run(1, plan(10e9, {"reno": 500, "bbr": 500}, rtt_ms=100), many())])
    assert (case.scale, case.flows, case.rtt, case.is_thesis) == ("core", 1000, "100 ms", True)
    (other,) = thesis_cases([run(1, plan(100e6, {"bbr": 2}, buffer=0.25, spread_ns=0, tso="on"), many())])
    assert (other.buffer, other.start, other.offloads, other.is_thesis) == (0.25, "together", "on", False)
    assert other.words() == "edge, 2 bbr, 20 ms, bfifo, buffer × 0.25, starts together, offloads on"


def test_a_median_over_runs_of_several_lengths_says_so() -> None:
    def conditions(*seconds: int) -> set[str]:
        runs = [
            run(n, plan(10e9, {"reno": 5000}), many(jain=0.9, stop_ns=s * S)) for n, s in enumerate(seconds)
        ]
        return {spelt_out(n.conditions) for n in t04.judge(runs).numbers if n.name == "Jain's index"}

    assert conditions(120, 120) == {"core, 5000 reno, 20 ms"}
    assert conditions(120, 1200) == {"core, 5000 reno, 20 ms, runs of 120 to 1200 s"}


def test_the_thesis_own_numbers_hold() -> None:
    runs = [newreno(1, 100e6, 50, 1.78, 1.47, 1.7), newreno(2, 10e9, 1000, 3.95, 1.36, 8.0)]
    assert t01.judge(runs).verdict == "holds"
    assert t03.judge(runs).verdict == "holds"
    assert t06.judge([share(1, 10e9, {"bbr": 1, "reno": 999}, "bbr", 0.4)]).verdict == "holds"
    against_one = share(2, 100e6, {"bbr": 1, "reno": 1}, "bbr", 0.9)
    assert t06.judge([share(1, 10e9, {"bbr": 1, "reno": 999}, "bbr", 0.4), against_one]).verdict == "holds"
    assert t07.judge([share(1, 10e9, {"bbr": 500, "cubic": 500}, "bbr", 0.999)]).verdict == "holds"
    assert t08.judge([share(1, 10e9, {"cubic": 500, "reno": 500}, "cubic", 0.75)]).verdict == "holds"


def test_what_another_reading_gives_is_told_and_judges_nothing() -> None:
    runs = [newreno(1, 100e6, 50, 1.5, 1.25, 1.7), newreno(2, 10e9, 1000, 3.95, 1.36, 8.0)]
    verdict = t01.judge(runs)
    assert verdict.verdict == "holds"
    # 1.2 times 1.5 and 1.25
    assert "edge 1.8 on losses, 1.5 on halvings" in verdict.cause
    queue = [n.value for n in t03.judge(runs).numbers if n.name == "burstiness of all drops of the queue"]
    assert queue == [0.9, 0.9]
    assert t03.judge(runs).verdict == "holds"


def test_other_numbers_do_not_hold() -> None:
    runs = [newreno(1, 100e6, 50, 1.4, 1.47, 1.2), newreno(2, 10e9, 1000, 1.5, 2.9, 1.3)]
    assert t01.judge(runs).verdict == "does not hold here"
    assert (
        t08.judge([share(1, 10e9, {"cubic": 500, "reno": 500}, "cubic", 0.5)]).verdict == "does not hold here"
    )


def test_without_core_a_claim_on_core_holds_in_part_and_says_so() -> None:
    verdict = t04.judge([newreno(1, 100e6, 50, 1.4, 1.47, 1.2)])
    assert verdict.verdict == "holds in part"
    assert "n = 1 of each condition, one run has no interval" in verdict.reason
    assert verdict.reason.endswith("not measured: core")
    assert t01.judge([newreno(1, 100e6, 50, 1.4, 1.47, 1.2)]).verdict == "not measured"


def test_a_share_is_told_by_base_rtt() -> None:
    mix = {"bbr": 25, "reno": 25}
    runs = [
        run(n, plan(100e6, mix, rtt_ms=rtt), many(shares={"bbr": Share(part, 0.5, 25)}))
        for n, (rtt, part) in enumerate(((20, 0.44), (20, 0.52), (200, 0.95)))
    ]
    verdict = t07.judge(runs)
    # the median of the two runs at 20 ms is 0.48
    told = {n.conditions["rtt"]: n.said for n in verdict.numbers if n.name == "share of bbr"}
    assert told == {"20 ms": "48 %", "200 ms": "95 %"}
    assert "n = 1 to 2 of each condition" in verdict.reason
    # The claim is about Core: what fails at Edge decides nothing.
    assert verdict.verdict == "not measured"


def test_a_claim_about_edge_fails_there_though_core_was_not_measured() -> None:
    verdict = t05.judge([run(1, plan(100e6, {"bbr": 50}), many(jain=0.99))])
    assert verdict.verdict == "does not hold here"
    assert verdict.reason.endswith("not measured: core")
    few = t05.judge([run(1, plan(100e6, {"bbr": 10}), many(jain=0.99))])
    assert few.verdict == "not measured"


def test_runs_whose_queue_stayed_full_are_told_apart() -> None:
    runs = [
        run(1, plan(100e6, {"bbr": 50}), many(jain=0.3, drain=Drain(S, None))),
        run(2, plan(100e6, {"bbr": 50}), many(jain=0.9, drain=Drain(S, 14 * S))),
        run(3, plan(100e6, {"bbr": 50}), many(jain=0.8, drain=Drain(None, None))),
        run(4, plan(100e6, {"bbr": 50}), many(jain=0.7)),
    ]
    cause = t05.judge(runs).cause
    assert "In 1 run(s) the queue, once full, never fell to 10 % of its limit: Jain's index 0.3." in cause
    assert "In 1 run(s) it did, first 13 s after it was full: Jain's index 0.9." in cause


def test_what_bbr_s_fairness_hangs_on_compares_only_conditions_that_differ_in_one_factor() -> None:
    runs = [
        run(1, plan(100e6, {"bbr": 50}, rtt_ms=20), many(jain=0.9)),
        run(2, plan(100e6, {"bbr": 50}, rtt_ms=200), many(jain=0.6)),
        run(3, plan(100e6, {"bbr": 50}, rtt_ms=200, buffer=4), many(jain=0.8)),
    ]
    verdict = t05.judge(runs)
    assert verdict.verdict == "holds in part"
    # 20 ms against 200 ms, and buffer × 1 against × 4 at 200 ms
    assert "base RTT: 20 ms +0.300 (1), 200 ms -0.300 (1)" in verdict.cause
    assert "buffer: × 1 -0.200 (1), × 4 +0.200 (1)" in verdict.cause
    assert "start" not in verdict.cause.split("comparisons")[1].split("HZ")[0]


def test_a_lowest_index_that_had_not_settled_is_told_as_such() -> None:
    still = Settled(final=0.3, moved=0.4, over_ns=60 * S, settled_ns=None)
    verdict = t05.judge([run(1, plan(10e9, {"bbr": 5000}), many(jain=0.3, jain_settled=still))])
    assert "(core, 5000 bbr, 20 ms, the thesis', still moved by 40 %)" in verdict.reason
    settled = t05.judge([run(1, plan(10e9, {"bbr": 5000}), many(jain=0.3))])
    assert "lowest at Core at most 0.5: yes (core, 5000 bbr, 20 ms, the thesis')" in settled.reason


def test_a_kernel_of_another_configuration_is_a_factor_and_not_the_thesis_condition() -> None:
    slow = run(2, plan(100e6, {"bbr": 50}), many(jain=0.7))
    slow = dataclasses.replace(slow, key={"kernel_config": "HZ=100"})
    verdict = t05.judge([run(1, plan(100e6, {"bbr": 50}), many(jain=0.9)), slow])
    assert "kernel: HZ=100 -0.200 (1), HZ=1000 +0.200 (1)" in verdict.cause
    assert "HZ was not varied" not in verdict.cause
    assert [n.value for n in verdict.numbers if n.name == "lowest index"] == [0.9]
    assert any(
        spelt_out(number.conditions) == "edge, 50 bbr, 20 ms, bfifo, HZ=100" for number in verdict.numbers
    )


def test_what_differs_besides_the_factors_is_not_compared() -> None:
    pulsed = plan(100e6, {"bbr": 50})
    pulsed["link"]["changes"] = ["at 120 s: rate 125 Mbit/s"]
    runs = [
        run(1, plan(100e6, {"bbr": 50}), many(jain=0.9)),
        run(2, plan(100e6, {"bbr": 10}), many(jain=0.7)),
        run(3, pulsed, many(jain=0.1)),
    ]
    assert t05.effects(thesis_cases(runs)) == [
        ("flows", "10", pytest.approx(-0.2), 1), ("flows", "50", pytest.approx(0.2), 1)
    ]  # fmt: skip


def test_parameters_of_a_module_are_a_condition() -> None:
    runs = []
    for number, words in ((1, "segs=1"), (2, "segs=4")):
        module = {"name": "tcp_mine", "path": "x", "sha256": "y", "parameters": words}
        made = plan(100e6, {"mine": 10}, seed=0) | {"machine": {"timer_latency": None, "modules": [module]}}
        runs.append(run(number, made, many(jain=0.9)))
    found = thesis_cases(runs)
    assert [case.kernel for case in found] == ["tcp_mine segs=1", "tcp_mine segs=4"]
    assert not any(case.is_thesis for case in found)


def test_the_path_and_the_hosts_settings_are_conditions() -> None:
    def told(**changes: Any) -> tuple[str, bool]:
        made = plan(100e6, {"cubic": 10}, seed=0)
        made = made | {"link": made["link"] | changes.pop("link", {})} | changes
        (case,) = thesis_cases([run(1, made, many())])
        return case.words().removeprefix("edge, 10 cubic, 20 ms"), case.is_thesis

    ecn = {"node": "sender1", "name": "net.ipv4.tcp_ecn", "value": "1"}
    assert told() == ("", True)
    assert told(sysctls=[ecn]) == (", bfifo, tcp_ecn=1", False)
    lossy = {"up": {"loss_percent": 1.0, "jitter_ns": 500_000}}
    assert told(link=lossy) == (", bfifo, loss 1 %, jitter 0.5 ms", False)
    jumbo = {"mtu_bytes": 9000, "line_rate_bps": 10**9}
    assert told(link=jumbo) == (", bfifo, MTU 9000, line rate 1000 Mbit/s", False)
    assert told(link={"changes": ["40 s: rate 10 Mbit/s"]}) == (", bfifo, 40 s: rate 10 Mbit/s", False)


def test_two_buckets_of_one_shaper_are_two_conditions() -> None:
    runs = []
    for number, burst in ((1, 1600), (2, 64_000)):
        made = plan(100e6, {"cubic": 10}, seed=0)
        made["link"]["down"] |= {"shaper": "htb", "burst_bytes": burst, "cburst_bytes": 1600}
        runs.append(run(number, made, many()))
    assert [case.words() for case in thesis_cases(runs)] == [
        "edge, 10 cubic, 20 ms, bfifo burst 1600", "edge, 10 cubic, 20 ms, bfifo burst 64000",
    ]  # fmt: skip
    assert [case.words() for case in thesis_cases(runs[:1])] == ["edge, 10 cubic, 20 ms"]


def test_of_two_runs_of_the_same_flows_the_longer_counts() -> None:
    runs = []
    for number, seconds in ((1, 180), (2, 1500), (3, 60)):
        made = plan(10e9, {"reno": 1000}, seed=0)
        made["traffic"][0]["stop"] = {"at_ns": seconds * S}
        runs.append(run(number, made, many(jain=0.9)))
    (same,) = thesis_cases(runs).values()
    assert [one.run_id for one in same] == [runs[1].run_id]
    # what was measured counts before what was planned: a run may end as soon as it has settled
    long = dataclasses.replace(runs[2], read_many=lambda: many(jain=0.9, start_ns=0, stop_ns=9000 * S))
    (same,) = thesis_cases([*runs[:2], long]).values()
    assert [one.run_id for one in same] == [long.run_id]


def test_two_experiments_that_drew_other_flows_with_one_seed_are_two_runs() -> None:
    all_of_them = plan(10e9, {"bbr": 1000}, seed=0)
    halves = plan(10e9, {"bbr": 500}, seed=0)
    halves["traffic"].append(halves["traffic"][0] | {"id": "others"})
    runs = [run(number, made, many(jain=0.3)) for number, made in enumerate((all_of_them, halves))]
    (same,) = thesis_cases(runs).values()
    assert {one.run_id for one in same} == {one.run_id for one in runs}


def test_late_timers_are_a_factor_and_not_the_thesis_condition() -> None:
    machine = {"timer_latency": {"min_ns": 10_000, "max_ns": 30_000}}
    late = run(2, plan(100e6, {"bbr": 50}) | {"machine": machine}, many(jain=0.7))
    verdict = t05.judge([run(1, plan(100e6, {"bbr": 50}), many(jain=0.9)), late])
    assert "timers: 10 to 30 µs late -0.200 (1), exact +0.200 (1)" in verdict.cause
    assert [n.value for n in verdict.numbers if n.name == "lowest index"] == [0.9]
    assert any(
        spelt_out(n.conditions) == "edge, 50 bbr, 20 ms, bfifo, timers 10 to 30 µs late"
        for n in verdict.numbers
    )


def test_how_much_a_metric_still_moved_is_part_of_every_verdict() -> None:
    verdict = t04.judge([newreno(1, 10e9, 1000, 1.4, 1.47, 1.2)])
    moved = next(n for n in verdict.numbers if "moved" in n.name)
    assert moved.said == "0.4 %"


def test_lengths_of_runs_that_ended_at_different_times_are_told_in_seconds() -> None:
    same = [
        run(number, plan(100e6, {"reno": 10}), many(stop_ns=seconds * S))
        for number, seconds in enumerate((605, 1200))
    ]
    items = conditions(lambda _: True)
    assert lengths(items(same)) == "edge 605 to 1200 s after warm-up"
    assert lengths(items(same[1:])) == "edge 1200 s after warm-up"
