"""Flows that are stopped once a metric has settled, in a guest: when, why, and that looking costs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import lab
from narrows.runs.load_many import reader
from narrows.runs.many_flows import ManyFlows
from narrows.store import flow_tap

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

S = 1_000_000_000
FAIR = """
link = Dumbbell(rate="20 Mbit/s", queue=bfifo(limit="60 KB"), pairs=[pair("20 ms")])
flows = bulk(cca="reno", flows=4, start_spread="500 ms", duration="60 s")
probe = udp_probe(stop=with_(flows))
tap("drops", interval="100 ms")
sample(tcp_info=None, qdisc=None, link=None)
flow_tap(warm_up="3 s", interval="500 ms")
"""
RULE = 'until_settled("jain", window="5 s")\n'
LIMIT_NS = 60 * S


def judged(made: lab.Made) -> ManyFlows:
    read = reader(made.directory, lab.Plan.read(made.directory / "plan.json"))
    found = None if read is None else read()
    assert found is not None
    return found


def test_fair_flows_are_stopped_as_soon_as_their_index_has_settled(tmp_path: Path) -> None:
    (made,) = lab.make([lab.plan(tmp_path, FAIR + RULE)], tmp_path / "results")
    made.ok()
    ended = made.manifest["until_settled"]
    assert ended["reason"] == "settled"
    # No sooner than warm-up, window and the first interval, in which the record begins; and before the limit.
    assert 8.5 * S <= ended["at_ns"] < LIMIT_NS
    assert ended["at_ns"] % (S // 2) < 1000  # when the flow tap samples
    (jain,) = ended["metrics"]
    assert jain["moved"] < 0.01
    # What went with the flows ended with them, and nothing goes on for long.
    items = made.manifest["items"]
    for name in ("flows", "probe"):
        assert items[name]["status"] == "stopped"
        assert items[name]["end_ns"] == pytest.approx(ended["at_ns"], abs=100_000)
    assert made.manifest["resources"]["virtual_s"] < ended["at_ns"] / 1e9 + 5
    # The tables, made from the kernel's own record, say the same of the same time.
    many = judged(made)
    assert many.stop_ns == pytest.approx(ended["at_ns"], abs=100_000)
    assert many.jain_settled is not None
    assert many.jain_settled.over_ns == 5 * S
    assert many.jain_settled.final == pytest.approx(jain["value"], rel=1e-9)
    assert many.jain_settled.moved == pytest.approx(jain["moved"], rel=1e-6)
    assert many.jain_settled.settled_ns == pytest.approx(ended["at_ns"], abs=100_000)


def test_flows_that_cannot_settle_run_to_their_limit(tmp_path: Path) -> None:
    text = FAIR.replace("60 s", "12 s") + RULE.replace(")", ', within="0.001 %")')
    (made,) = lab.make([lab.plan(tmp_path, text)], tmp_path / "results")
    made.ok()
    ended = made.manifest["until_settled"]
    assert ended["reason"] == "limit"
    assert ended["at_ns"] == pytest.approx(12 * S, abs=20_000_000)  # and the start's jitter
    (jain,) = ended["metrics"]
    assert jain["moved"] >= 1e-5


def test_the_same_plan_stops_at_the_same_instant_and_looking_changes_no_packet(tmp_path: Path) -> None:
    rule = lab.plan(tmp_path, FAIR + RULE)
    first, second = (lab.carry(rule, tmp_path / name).ok() for name in ("first", "second"))
    ended = first.result["until_settled"]
    assert ended == second.result["until_settled"]
    assert first.bytes_of("tap.bin") == second.bytes_of("tap.bin")
    # Without a rule, the flows do the same up to the stop: losses and their reactions, to the nanosecond.
    free = lab.carry(lab.plan(tmp_path, FAIR.replace("60 s", "30 s"), "free"), tmp_path / "free").ok()
    assert ended["at_ns"] < 30 * S
    until = first.result["epoch_monotonic_ns"] + ended["at_ns"]
    for part in ("events", "samples"):
        both = [getattr(flow_tap.read(one.raw / "flow_tap.bin"), part) for one in (first, free)]
        kept = [each[each["t_ns"] < until] for each in both]
        assert kept[0].size > 50, part
        assert kept[0].tobytes() == kept[1].tobytes(), part
