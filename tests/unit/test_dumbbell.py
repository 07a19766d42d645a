"""Dumbbells: nodes, delays, how flows are spread, and what cannot fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrows.errors import NarrowsError, PlanError, SpecError
from narrows.plan.build import plan_file
from narrows.plan.capacity import memory_needed, packets_under_way, tcp_buffer_bytes
from narrows.plan.items import TcpBulk
from narrows.plan.model import Plan


def plans_of(folder: Path, *lines: str) -> tuple[Plan, ...]:
    file = folder / "study.py"
    file.write_text('"""Does it?"""\nfrom narrows.spec import *\n' + "\n".join(lines) + "\n")
    return plan_file(file).plans


def plan_of(folder: Path, *lines: str) -> Plan:
    (plan,) = plans_of(folder, *lines)
    return plan


def bulk_items(plan: Plan) -> list[TcpBulk]:
    return [item for item in plan.traffic if isinstance(item, TcpBulk)]


EDGE = 'link = Dumbbell(rate="100 Mbit/s", queue=bfifo(limit="3 MB"), pairs=[{}])'
FLOW = 'flow = bulk(cca="reno", flows={}, duration="5 s")'


def test_senders_a_router_and_a_receiver_and_no_other_hop(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, EDGE.format('pair("20 ms"), pair("100 ms", senders=2)'), FLOW.format(6))
    assert [n.name for n in plan.nodes] == ["receiver", "router", "sender1", "sender2", "sender3"]
    tc = [" ".join(s.args) for s in plan.setup if s.tool == "tc"]
    assert {s.node for s in plan.setup if s.tool == "tc"} == {"router"}
    assert tc[2] == "qdisc add dev eth0 parent 1:11 handle 110: bfifo limit 3000000"
    # The whole base RTT is on the way back, at the router's interface towards each sender.
    assert [line.split(" netem ")[1] for line in tc[3:]] == [
        "limit 10000000 delay 20ms", "limit 10000000 delay 100ms", "limit 10000000 delay 100ms",
    ]  # fmt: skip
    assert [hop.direction for hop in plan.hops] == ["down"]
    assert plan.hops[0].ingress == ("eth1", "eth2", "eth3")
    assert (plan.link.base_rtt_ns, plan.link.rate_up_bps) == (100_000_000, None)


def test_several_receivers_are_behind_one_bottleneck_and_take_turns_over_the_senders(tmp_path: Path) -> None:
    link = EDGE.replace("])", "], receivers=2)").format('pair("20 ms"), pair("100 ms", senders=2)')
    plan = plan_of(tmp_path, link, FLOW.format(6), 'far = bulk(flows=1, pairs="100ms", duration="5 s")')
    assert [n.name for n in plan.nodes] == [
        "receiver1", "receiver2", "access", "router", "sender1", "sender2", "sender3",
    ]  # fmt: skip
    (hop,) = plan.hops
    assert (hop.node, hop.iface, hop.ingress) == ("router", "eth0", ("eth1", "eth2", "eth3"))
    assert [(i.id, i.sender, i.receiver) for i in bulk_items(plan)] == [
        ("flow", "sender1", "receiver1"), ("flow.2", "sender2", "receiver2"),
        ("flow.3", "sender3", "receiver1"), ("far", "sender2", "receiver2"),
    ]  # fmt: skip
    ends = [(i.receiver_address, i.port) for i in bulk_items(plan)]
    assert len(set(ends)) == 4, "two items would count as one"
    assert {s.node for s in plan.setup if s.tool == "tc"} == {"router"}


def test_more_receivers_than_senders_are_refused(tmp_path: Path) -> None:
    link = EDGE.replace("])", "], receivers=3)").format('pair("20 ms", senders=2)')
    with pytest.raises(SpecError, match=r"3 receivers for 2 sender nodes.*\n?.*receivers=2") as error:
        plan_of(tmp_path, link, FLOW.format(6))
    assert "senders=3" in str(error.value)


def test_a_pair_without_a_base_rtt_adds_no_delay_and_a_bdp_then_has_no_meaning(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, EDGE.format("pair(None)"), FLOW.format(2))
    assert not [s for s in plan.setup if "netem" in s.args]
    assert (plan.link.base_rtt_ns, plan.link.pairs[0].name, plan.calibration.rtt_ns) == (0, "bare", 0)
    with pytest.raises(SpecError, match="a BDP needs a base RTT"):
        plan_of(tmp_path, 'link = Dumbbell(rate="1 Mbit/s", queue=bfifo(limit=bdp(1)), pairs=[pair(None)])')


def test_every_senders_rtt_is_calibrated(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, EDGE.format('pair("20 ms"), pair("100 ms", senders=2)'), FLOW.format(6))
    assert (plan.calibration.server, plan.calibration.rtt_ns) == ("sender1", 20_000_000)
    assert [(o.server, o.rtt_ns) for o in plan.calibration.others] == [
        ("sender2", 100_000_000), ("sender3", 100_000_000),
    ]  # fmt: skip


def test_flows_are_spread_evenly_over_the_senders_of_their_pairs(tmp_path: Path) -> None:
    pairs = EDGE.format('pair("20 ms", senders=3), pair("100 ms", name="far")')
    all_of_them = bulk_items(plan_of(tmp_path, pairs, FLOW.format(10)))
    assert [(i.id, i.sender, i.flows) for i in all_of_them] == [
        ("flow", "sender1", 3), ("flow.2", "sender2", 3), ("flow.3", "sender3", 2), ("flow.4", "sender4", 2),
    ]  # fmt: skip
    assert len({i.port for i in all_of_them}) == 4
    (far,) = bulk_items(plan_of(tmp_path, pairs, 'one = bulk(flows=1, pairs="far", duration="5 s")'))
    assert (far.id, far.sender) == ("one", "sender4")
    # A sender without a flow has no item.
    assert len(bulk_items(plan_of(tmp_path, pairs, FLOW.format(2)))) == 2


def test_pairs_may_be_swept_whole_or_in_part(tmp_path: Path) -> None:
    swept = plans_of(
        tmp_path,
        'rtt = axis("rtt", ["20 ms", "200 ms"])',
        'second = axis("second", {"no": None, "yes": pair("100 ms")})',
        EDGE.format("pair(rtt, name='a'), second"),
        FLOW.format(2),
    )
    assert [(p.key["rtt"], p.key["second"], len(p.link.pairs)) for p in swept] == [
        ("20ms", "no", 1), ("20ms", "yes", 2), ("200ms", "no", 1), ("200ms", "yes", 2),
    ]  # fmt: skip
    assert [p.link.base_rtt_ns // 10**6 for p in swept] == [20, 100, 200, 200]


def test_a_limit_in_bdp_is_that_of_the_longest_rtt(tmp_path: Path) -> None:
    link = EDGE.replace("3 MB", "1 BDP").format('pair("20 ms"), pair("200 ms")')
    plan = plan_of(tmp_path, link, FLOW.format(2))
    assert plan.link.down.queue_options["limit"] == "2500000"  # 100 Mbit/s × 200 ms


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('link = Dumbbell(rate="1 Gbit/s", base_rtt="20 ms")', "base_rtt has no meaning here"),
        (
            'link = Dumbbell(rate="1 Gbit/s", pairs=[pair("20 ms"), pair("20 ms")])',
            "two pairs are called 20ms",
        ),
        ('link = Dumbbell(rate="1 Gbit/s", pairs="20 ms")', "is not a list of pairs"),
        (
            'link = Link(rate="1 Gbit/s")\nx = bulk(pairs="20ms", duration="1 s")',
            "pairs are those of a Dumbbell",
        ),
        ('link = Dumbbell(rate="1 Gbit/s")\nx = bulk(pairs="nar", duration="1 s")', "there is no pair 'nar'"),
        (
            'link = Dumbbell(rate="1 Gbit/s")\nx = bulk(direction="up", duration="1 s")',
            "bottleneck is towards the receivers",
        ),
        ('link = Dumbbell(rate="1 Gbit/s")\nlink.at("1 s", loss="1 %")', "loss cannot change here"),
    ],
)
def test_what_a_dumbbell_is_not_is_refused_with_its_line(tmp_path: Path, lines: str, words: str) -> None:
    with pytest.raises(SpecError, match=words) as caught:
        plans_of(tmp_path, lines, *([] if "bulk" in lines else [FLOW.format(2)]))
    assert "study.py:" in str(caught.value.where)


def test_a_medium_is_refused_for_what_it_is(tmp_path: Path) -> None:
    link = 'link = Dumbbell(pairs=[pair("20 ms")], medium=wifi(rate="120 Mbit/s"))'
    with pytest.raises(SpecError, match="medium has no meaning here"):
        plan_of(tmp_path, link, FLOW.format(2))


def test_core_scale_fits_in_less_than_four_gigabytes(tmp_path: Path) -> None:
    link = 'link = Dumbbell(rate="10 Gbit/s", queue=bfifo(limit="375 MB"), pairs=[pair("200 ms")])'
    plan = plan_of(tmp_path, link, FLOW.format(5000))
    # 10 Gbit/s × 200 ms = 250 MB and 375 MB of queue, in frames of 1514 bytes
    assert packets_under_way(plan.link) == 165125 + 247688
    assert plan.machine.memory_bytes == memory_needed(plan.link, plan.traffic, 3) < 4 * 2**30
    assert tcp_buffer_bytes(plan.link) == 2**30
    wide = 'link = Link(rate="10 Gbit/s", queue=bfifo(limit="375 MB"), base_rtt="200 ms")'
    (one,) = plans_of(tmp_path, wide, 'flow = bulk(duration="1 s")')
    assert one.machine.memory_bytes == memory_needed(one.link, one.traffic, 4) > 2**31
    (small,) = plans_of(tmp_path, EDGE.format('pair("20 ms")'), FLOW.format(2))
    assert small.machine.memory_bytes == 512 * 2**20


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            'link = Dumbbell(rate="10 Gbit/s", queue=bfifo(limit="375 MB"), pairs=[pair("200 ms")])\n'
            'machine(memory="1 GiB")\nx = bulk(flows=1000, duration="1 s")',
            r"412813 packets under way and 1000 flows may need \d+ MiB of memory; the machine has 1024 MiB",
        ),
        (
            'link = Dumbbell(rate="10 Gbit/s", queue=bfifo(limit="5 GB"))\n'
            'machine(memory="64 GiB")\nx = bulk(flows=1000, duration="1 s")',
            "bfifo: limit: tc takes no 5 GB",
        ),
        (
            'link = Link(rate="10 Gbit/s", queue_up=cake(memlimit="5 GB"))\nx = bulk(duration="1 s")',
            "cake: memlimit: tc takes no 5 GB",
        ),
        (
            'link = Link(rate="10 Gbit/s", queue=fq_codel(memory_limit="4 GiB"))\nx = bulk(duration="1 s")',
            "fq_codel: memory_limit: tc takes no 4 GiB",
        ),
        (
            'link = Dumbbell(rate="10 Gbit/s")\nx = bulk(flows=30_000, duration="1 s")',
            "30000 flows from sender1 to port 5001; a node has 28232 ports",
        ),
        (
            'link = Link(rate="10 Gbit/s")\nx = bulk(flows=28_233, duration="1 s")',
            "28233 flows from server to port 5001; a node has 28232 ports",
        ),
    ],
)
def test_what_cannot_fit_is_refused_before_it_starts_with_the_number(
    tmp_path: Path, lines: str, words: str
) -> None:
    with pytest.raises(NarrowsError, match=words) as caught:
        plans_of(tmp_path, lines)
    assert isinstance(caught.value, (PlanError, SpecError))
    assert caught.value.remedy


def test_more_flows_than_file_handles_are_refused(tmp_path: Path) -> None:
    lines = [
        'link = Dumbbell(rate="10 Gbit/s", pairs=[pair("20 ms", senders=50)])',
        'machine(memory="64 GiB")',
    ]
    flows = [f'x{n} = bulk(flows=100_000, duration="1 s")' for n in range(5)]
    with pytest.raises(PlanError, match="500000 flows need 1001024 file handles; a process may have 1000000"):
        plans_of(tmp_path, *lines, *flows)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("flow_tap(warm_up='7 s')", r":5: flow_tap: all flows have ended at 5.* s, within"),
        ("a = bulk(duration='9 s', start_spread='10 s')", ":5: bulk: flows start at random within 10 s,"),
        ("a = bulk(start='8 s', stop='9 s', start_spread='2 s')", ":5: bulk: flows start at random within"),
        ("a = bulk(stop=with_(flow), start_spread='6 s')", ":5: bulk: flows start at random within 6 s,"),
    ],
)  # fmt: skip
def test_flows_that_never_start_or_are_never_counted_are_refused(
    tmp_path: Path, line: str, words: str
) -> None:
    with pytest.raises(SpecError, match=words):
        plan_of(tmp_path, EDGE.format('pair("20 ms")'), FLOW.format(2), line)


def test_the_flow_tap_watches_a_group_of_flows_though_another_ends_in_the_warm_up(tmp_path: Path) -> None:
    longer = 'b = bulk(cca="cubic", flows=2, duration="9 s")'
    plan = plan_of(tmp_path, EDGE.format('pair("20 ms")'), FLOW.format(2), longer, "flow_tap(warm_up='7 s')")
    assert plan.flow_tap is not None
    assert len(plan.flow_tap.watch) == 2


def test_the_flow_tap_watches_every_bulk_sender_from_the_end_of_the_warm_up(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path, EDGE.format('pair("20 ms", senders=2)'), FLOW.format(2), 'flow_tap(warm_up="1 s")',
        'tap("drops", interval="100 ms")',
    )  # fmt: skip
    assert plan.flow_tap is not None
    assert [(w.node, w.port) for w in plan.flow_tap.watch] == [("sender1", 5001), ("sender2", 5002)]
    assert plan.flow_tap.window is not None
    assert (plan.flow_tap.window.start_ns, plan.flow_tap.sample_interval_ns) == (10**9, 10**9)
    assert (plan.hops[0].tap, plan.hops[0].tap_interval_ns) == ("drops", 100_000_000)
    # Thousands of sockets are not asked a hundred times a second unless the experiment says so.
    assert "tcp_info" not in {sampler.kind for sampler in plan.samplers}
