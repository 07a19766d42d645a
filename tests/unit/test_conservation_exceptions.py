"""What the conservation check leaves out, and only then: super-packets, and a backlog miscounted by Linux."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from store_fakes import packet_record

import lab
from narrows.errors import PlanError
from narrows.plan.model import Plan
from narrows.store import conservation, tap
from narrows.store.agent_result import AgentResult, HopResult, TapTotals

LINK = (
    'Dumbbell(rate="20 Mbit/s", queue={queue}, shaper=tbf(burst="100 KB"), pairs=[pair("20 ms")], '
    "offloads={offloads})"
)
TEXT = "link = {link}\nflow = bulk(cca='reno', flows=2, duration='1 s')\ntap('drops')\n"


def plan(folder: Path, queue: str, offloads: str = "{}") -> Plan:
    return lab.plan(folder, TEXT.format(link=LINK.format(queue=queue, offloads=offloads)))


def result(leaf: str, backlog: int = 0, **of_tap: int) -> AgentResult:
    """Ten packets, one of them dropped, by the tap; tc says the same, and `backlog` bytes at the root."""
    totals = {
        "arrived_packets": 10, "arrived_bytes": 10_000, "departed_packets": 9, "departed_bytes": 9_000,
        "dropped_packets": 1, "dropped_bytes": 1_000, "marked_packets": 0, "queued_packets": 0,
        "queued_bytes": 0,
    }  # fmt: skip
    counted = {"packets": 9, "bytes": 9_000, "drops": 1, "qlen": 0}
    qdiscs = [
        {"kind": "tbf", "root": True, "backlog": backlog, **counted},
        {"kind": leaf, "parent": "1:1", "backlog": 0, **counted},
    ]
    empty = [{key: 0 if isinstance(value, int) else value for key, value in q.items()} for q in qdiscs]
    empty[0]["root"] = True
    links = {"router": {"eth1": {"rx_packets": 10}}}
    none = {"router": {"eth1": {"rx_packets": 0}}}
    hop = HopResult.model_construct(
        hop="bottleneck", direction="down", node="router", iface="eth0",
        tap=TapTotals(**(totals | of_tap)), tap_note=None,
    )  # fmt: skip
    return AgentResult.model_construct(
        hops=[hop], tc_before={"router": {"eth0": {"qdisc": empty}}},
        tc_after={"router": {"eth0": {"qdisc": qdiscs}}}, links_before=none, links_after=links,
    )  # fmt: skip


def of_tc(the_plan: Plan, the_result: AgentResult) -> dict[str, Any]:
    (hop,) = conservation.check(the_plan, the_result, None)
    return {check.name.split(" ")[0]: check for check in hop.checks if not check.name.startswith("tap:")}


def tap_of(folder: Path, packets: int) -> tap.Tap:
    """Packets of the largest size that a record can say."""
    path = folder / "tap.bin"
    path.write_bytes(b"".join(packet_record(0, t, 10, size=65535) for t in range(packets)))
    return tap.read(path)


def balance(hop: conservation.HopChecks) -> conservation.Check:
    return next(check for check in hop.checks if check.name.startswith("tap: arrived ="))


def test_only_hhf_s_own_backlog_stands_in_for_its_parents(tmp_path: Path) -> None:
    found = of_tc(plan(tmp_path, "hhf()"), result("hhf", backlog=1448))["tap"]
    assert found.ok is True
    assert found.note == "tbf; its backlog of 1448 B is a miscount, hhf's counts"
    assert of_tc(plan(tmp_path, "pfifo()"), result("pfifo", backlog=1448))["tap"].ok is False
    assert of_tc(plan(tmp_path, "hhf()"), result("hhf"))["tap"].note == "tbf"


@pytest.mark.parametrize("offload", ["tso", "gso", "gro"])
def test_with_super_packets_segments_are_not_compared_with_packets(tmp_path: Path, offload: str) -> None:
    made = plan(tmp_path, "pfifo()", f'{{"{offload}": True}}')
    # Six super-packets left, whose nine segments tc counted.
    seen = result("pfifo", departed_packets=6, arrived_packets=7)
    checks = of_tc(made, seen)
    assert checks["tap"].ok is True
    assert (checks["links:"].ok, checks["links:"].note) == (None, conservation.SUPER_PACKETS)
    # What can be compared still is.
    assert of_tc(made, result("pfifo", departed_bytes=1))["tap"].ok is False
    assert of_tc(made, result("pfifo", dropped_packets=2))["tap"].ok is False
    # Without offloads every difference counts.
    assert of_tc(plan(tmp_path, "pfifo()"), seen)["tap"].ok is False


def test_with_super_packets_records_are_counted_and_missing_bytes_are_told(tmp_path: Path) -> None:
    link = LINK.format(queue="pfifo()", offloads='{"gso": True}')
    made = lab.plan(tmp_path, TEXT.format(link=link).replace("drops", "packets"))
    # Two super-packets of 66 616 bytes, which a record cannot hold; the tap's totals can.
    data = tap_of(tmp_path, 2)
    seen = result(
        "pfifo", arrived_packets=2, arrived_bytes=2 * 66_616, departed_packets=2, departed_bytes=2 * 66_616,
        dropped_packets=0, dropped_bytes=0,
    )  # fmt: skip
    (hop,) = conservation.check(made, seen, data)
    records = next(check for check in hop.checks if check.name == "tap: records = totals")
    assert records.ok is True
    # 1 - 65535 / 66616 = 1.62 %
    (told,) = conservation.uncounted(made, seen, data)
    assert "1.6 % of the departed bytes are in no record" in told
    (hop,) = conservation.check(made, seen, tap_of(tmp_path, 1))
    assert [check.ok for check in hop.checks if check.name == "tap: records = totals"] == [False]
    assert balance(hop).ok is True
    seen = result(
        "pfifo", arrived_packets=2, arrived_bytes=2 * 64_000, departed_packets=2, departed_bytes=2 * 66_616,
        dropped_packets=0, dropped_bytes=0,
    )  # fmt: skip
    (hop,) = conservation.check(made, seen, data)
    assert balance(hop).ok is False


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ('Link(rate="1 Gbit/s", queue=cake(), offloads={"gro": True})', "cake .down. splits super-packets"),
        ('Link(rate="1 Gbit/s", queue_up=dualpi2(), offloads={"tso": True})', "dualpi2 .up. splits"),
        (
            'Link(rate="1 Gbit/s", shaper=tbf(burst="15 KB"), offloads={"gso": True})',
            "tbf with a burst of 15000 bytes .down. splits",
        ),
    ],
)
def test_a_qdisc_that_splits_super_packets_is_refused_where_it_is_tapped(
    tmp_path: Path, link: str, words: str
) -> None:
    text = f"link = {link}\nflow = bulk(duration='1 s')\n"
    with pytest.raises(PlanError, match=words) as caught:
        lab.plan(tmp_path, text)
    assert str(caught.value.where).endswith("tiny.py:3")
    assert 'tap("off")' in str(caught.value.remedy)
    lab.plan(tmp_path, text + 'tap("off")\n')
    lab.plan(
        tmp_path,
        text.replace("cake()", "cake(split_gso=False)")
        .replace("dualpi2()", "dualpi2(split_gso=False)")
        .replace("15 KB", "70 KB"),
    )
