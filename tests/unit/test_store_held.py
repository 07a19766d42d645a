"""Queues that hold packets and send none: which are named, and which are only slow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from store_fakes import flow_record, make_plan, packet_record, plan_dict, write_raw

from narrows.plan.model import Plan
from narrows.store import agent_result, held, ingest, tap
from narrows.store.agent_result import AgentResult

FLOW = flow_record(0, 1, "10.0.2.1", 40000, "10.0.0.1", 5201)
MS = 1_000_000


def sent(at_ms: int) -> bytes:
    """A packet that departed then, having waited 1 ms."""
    return packet_record(0, (at_ms - 1) * MS, MS)


def kept(since_ms: int, until_ms: int = 2000) -> bytes:
    """One that came then and was in the queue when the tap was read."""
    return packet_record(0, since_ms * MS, (until_ms - since_ms) * MS, outcome=tap.QUEUED)


def seen(tmp_path: Path, plan: Plan, *packets: bytes, **changes: Any) -> tuple[AgentResult, tap.Tap]:
    write_raw(tmp_path, plan, [FLOW, *packets], **changes)
    return agent_result.read(tmp_path / "result.json"), tap.read(tmp_path / "tap.bin")


def shown(*qdiscs: dict[str, Any]) -> dict[str, Any]:
    return {"router": {"eth0": {"qdisc": list(qdiscs), "class": []}}}


def test_a_queue_that_sends_nothing_more_is_named_with_the_time_since_when(tmp_path: Path) -> None:
    # The last packet left at 0.1 s, the first that is held came at 0.2 s: 1.8 s until it was looked at.
    plan = make_plan()
    result, data = seen(tmp_path, plan, sent(100), kept(200), kept(300), kept(400))
    line = "hop bottleneck down: htb holds 3 packets and sent none from 0.200 s on"
    assert held.warnings(plan, result, data) == [line]
    assert held.warnings(plan, result, None) == []


def test_a_queue_that_sent_within_the_last_second_is_only_full(tmp_path: Path) -> None:
    plan = make_plan()
    result, data = seen(tmp_path, plan, kept(200), sent(1100))
    assert held.warnings(plan, result, data) == []  # 2.0 - 1.1 s = 0.9 s
    result, data = seen(tmp_path, plan, kept(200), sent(900))
    assert len(held.warnings(plan, result, data)) == 1


def test_ten_packets_of_a_slow_link_take_longer_than_a_second(tmp_path: Path) -> None:
    # Ten of 1500 bytes take 2.4 s at 50 kbit/s, 1.5 s at 80 kbit/s.
    for bps, lines in ((50_000, 0), (80_000, 1)):
        slow = plan_dict()["link"]["down"] | {"rate_bps": bps}
        plan = make_plan(link=plan_dict()["link"] | {"down": slow})
        result, data = seen(tmp_path, plan, kept(200))
        assert len(held.warnings(plan, result, data)) == lines


def test_netem_and_a_link_of_turns_are_not_judged(tmp_path: Path) -> None:
    plan = make_plan()
    netem = {"kind": "netem", "qlen": 1, "packets": 0}
    result, data = seen(tmp_path, plan, kept(200), tc_after=shown(netem))
    assert held.warnings(plan, result, data) == []
    result, data = seen(tmp_path, plan, kept(200))
    moving = plan.model_copy(update={"moving": object()})
    assert held.warnings(moving, result, data) == []


@pytest.mark.parametrize("stage", ["calibration", "setup"])
def test_the_line_of_a_run_whose_packets_did_not_arrive_names_the_innermost_queue_that_holds_them(
    tmp_path: Path, stage: str
) -> None:
    plan = make_plan()
    qdiscs = shown(
        {"kind": "htb", "qlen": 3, "packets": 0}, {"kind": "mine", "qlen": 3, "packets": 7},
        {"kind": "ingress", "qlen": 0, "packets": 9},
    )  # fmt: skip
    error = {"stage": stage, "message": "no echo of 3 came back: is the path routed both ways?"}
    result, _ = seen(tmp_path, plan, status="failed", error=error, tc_after=qdiscs)
    assert held.when_failed(plan, result) == " (hop bottleneck down: mine holds 3 packets and has sent 7)"
    found = ingest._agent_fault(plan, result)
    assert found is not None
    assert found.message == {"setup": "no echo of 3 came back: is the path routed both ways?"}.get(
        stage, "no echo of 3 came back (hop bottleneck down: mine holds 3 packets and has sent 7)"
    )


def test_without_a_packet_in_any_queue_the_line_asks_for_the_path(tmp_path: Path) -> None:
    plan = make_plan()
    error = {"stage": "calibration", "message": "no echo of 3 came back: is the path routed both ways?"}
    result, _ = seen(tmp_path, plan, status="failed", error=error, tc_after={})
    found = ingest._agent_fault(plan, result)
    assert found is not None
    assert found.message == error["message"]
