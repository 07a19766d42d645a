"""Homes: nodes, both routers' queues, truth at both places, and what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

import lab
from narrows.errors import NarrowsError
from narrows.plan.items import TcpBulk
from narrows.plan.model import Plan
from narrows.spec.profiles import PROFILES

MANUAL = (Path(__file__).parents[2] / "docs" / "home.md").read_text(encoding="utf-8")
FLOW = 'flow = bulk(duration="5 s")'
CAKE = "home_router(egress=cake(), ingress=cake(ingress=True))"


def home(options: str = "", more: str = FLOW) -> str:
    return f'link = Home(rate="30 Mbit/s", rate_up="10 Mbit/s", base_rtt="20 ms", {options})\n{more}\n'


def tc(plan: Plan, node: str) -> list[str]:
    return [" ".join(s.args) for s in plan.setup if s.tool == "tc" and s.node == node]


def test_without_a_queue_at_home_only_the_isp_has_one(tmp_path: Path) -> None:
    plan = lab.plan(tmp_path, home())
    assert [n.name for n in plan.nodes] == ["client", "home", "isp", "path", "server"]
    assert tc(plan, "home") == []
    assert [(h.hop, h.direction, h.node, h.iface, h.ingress) for h in plan.hops] == [
        ("isp", "down", "isp", "eth0", ("eth1",)),
        ("isp", "up", "isp", "eth1", ("eth0",)),
    ]
    assert plan.link.home is not None
    assert (plan.link.home.down, plan.link.home.up, plan.link.home.ifb) == (None, None, None)


def test_the_home_router_shapes_to_95_percent_and_its_ingress_is_an_ifb(tmp_path: Path) -> None:
    plan = lab.plan(tmp_path, home(f"router={CAKE}"))
    egress, ingress, hook, redirect = tc(plan, "home")
    assert egress.startswith("qdisc add dev eth1 root handle 1: cake bandwidth 9500kbit ")
    assert ingress.startswith("qdisc add dev ifb4eth1 root handle 1: cake bandwidth 28500kbit ")
    assert ingress.endswith(" ingress")
    assert hook == "qdisc add dev eth1 handle ffff: ingress"
    assert redirect == (
        "filter add dev eth1 parent ffff: protocol all matchall action mirred egress redirect dev ifb4eth1"
    )
    assert [(h.hop, h.direction, h.iface, h.ingress) for h in plan.hops[2:]] == [
        ("home", "down", "ifb4eth1", ("eth1",)),
        ("home", "up", "eth1", ("eth0",)),
    ]
    # 28.5 and 9.5 Mbit/s of frames of 1514 bytes, 1500 of them IP.
    assert (plan.calibration.rate_down_bps, plan.calibration.rate_up_bps) == (28_236_459, 9_412_153)


def test_a_queue_that_cannot_shape_gets_htb_and_the_given_rate(tmp_path: Path) -> None:
    plan = lab.plan(tmp_path, home('router=home_router(egress=fq_codel(), egress_rate="9 Mbit/s")'))
    assert "class add dev eth1 parent 1: classid 1:11 htb rate 9Mbit" in tc(plan, "home")[1]
    assert [(h.hop, h.direction) for h in plan.hops] == [("isp", "down"), ("isp", "up"), ("home", "up")]


def test_traffic_chooses_its_host_and_each_host_has_its_own_way(tmp_path: Path) -> None:
    text = home(
        'hosts=[host(), host(delay="5 ms", jitter="1 ms", loss="1 %")]',
        'a = bulk(duration="5 s")\nb = bulk(duration="5 s", direction="up", host=2)',
    )
    plan = lab.plan(tmp_path, text)
    flows = [i for i in plan.traffic if isinstance(i, TcpBulk)]
    assert [(f.sender, f.receiver) for f in flows] == [("server", "client1"), ("client2", "server")]
    assert tc(plan, "home") == [
        "qdisc add dev eth1 root handle 1: netem limit 1000000 delay 5ms 1ms loss random 1%"
    ]
    assert plan.calibration.rtt_ns == 20_000_000  # of the first host


def test_the_server_answers_on_several_addresses(tmp_path: Path) -> None:
    plan = lab.plan(tmp_path, home("server_addresses=3"))
    added = [s.args[2] for s in plan.setup if s.node == "server" and s.args[:2] == ("addr", "add")]
    assert added == ["10.0.3.1/24", "10.0.3.11/24", "10.0.3.12/24"]
    known = [s.args[2] for s in plan.setup if s.node == "path" and s.args[:2] == ("neigh", "add")]
    assert known[-2:] == ["10.0.3.11", "10.0.3.12"]


def test_prio_has_a_queue_for_each_band_and_a_filter_for_each_code_point(tmp_path: Path) -> None:
    plan = lab.plan(
        tmp_path, home('queue=prio({"CS5": 0, "ef": 0}, bands=[pfifo(limit=50), pfifo(limit=100)])')
    )
    lines = tc(plan, "isp")
    assert "qdisc add dev eth0 parent 110:1 handle 111: pfifo limit 50" in lines
    assert "qdisc add dev eth0 parent 110:2 handle 112: pfifo limit 100" in lines
    # CS5 is 40 and EF 46; the byte holds them above two bits of ECN.
    assert "filter add dev eth0 parent 110: protocol ip flower ip_tos 0xa0/0xfc classid 110:1" in lines
    assert "filter add dev eth0 parent 110: protocol ip flower ip_tos 0xb8/0xfc classid 110:1" in lines
    assert "bands 2 priomap " + " ".join("1" * 16) in lines[2]


def test_a_policer_drops_in_a_filter_of_the_root_so_that_the_drops_are_the_roots(tmp_path: Path) -> None:
    plan = lab.plan(tmp_path, home('shaper=policer(burst="50 KB")'))
    assert tc(plan, "isp")[:2] == [
        "qdisc add dev eth0 root handle 1: prio bands 2 priomap " + " ".join("0" * 16),
        "filter add dev eth0 parent 1: protocol all matchall action police rate 30Mbit burst 50000 "
        "conform-exceed drop",
    ]
    assert (plan.link.shaper, plan.link.rate_down_bps) == ("policer", 30_000_000)


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_every_access_profile_can_be_planned_and_stands_in_the_manual_with_its_sources(
    tmp_path: Path, name: str
) -> None:
    lab.plan(tmp_path, f'link = Home(**access("{name}"), router={CAKE})\n{FLOW}')
    (row,) = [line for line in MANUAL.splitlines() if line.startswith(f"| `{name}` |")]
    assert all(source in row for source in PROFILES[name].sources.values())


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        (home('router=home_router(ingress=cake(), ifb="eth0")'), "eth0 is already an interface", "ifb4wan"),
        (home('router=home_router(ifb="ifb4wan")'), "ifb is given, but there is no ingress", "ingress=cake"),
        (
            home('router=home_router(ingress=cake(), ifb="a long name")'),
            "cannot name an interface",
            "ifb4wan",
        ),
        (home('router=home_router(egress_rate="1 Mbit/s")'), "there is no egress queue", "egress=cake()"),
        (home("router=home_router(egress=pie(), egress_shaper=own_shaper())"), "cannot shape", "htb()"),
        (home("hosts=21"), "21 is out of range", "from 1 to 20"),
        (home('hosts=[host(jitter="1 ms")]'), "more than the delay", "raise the delay"),
        (home(more='flow = bulk(duration="5 s", host=2)'), "host=2, but the home has 1", "Home(hosts=…)"),
        ('link = Link(rate="1 Mbit/s")\nflow = bulk(duration="5 s", host=2)', "only a Home", "Home(hosts=…)"),
        ('link = Link(rate="1 Mbit/s")\nc = command("true", node="home")', "only a Home", "router"),
        (f'link = Home(**access("fttc"))\n{FLOW}', "no access profile is called 'fttc'", "fttc-30-10"),
        (home('queue=prio({"CS9": 0})'), "unknown DSCP 'CS9'", "CS"),
        (home('queue=prio({"CS5": 2})'), "goes to band 2, and there are 2", "bands count from 0"),
        (home("queue=prio({})"), "says of no code point", "CS5"),
    ],
)
def test_a_mistake_is_one_clear_line(tmp_path: Path, text: str, message: str, remedy: str) -> None:
    with pytest.raises(NarrowsError) as caught:
        lab.plan(tmp_path, text)
    assert message in caught.value.message
    assert remedy in (caught.value.remedy or "")
    assert caught.value.where is not None
