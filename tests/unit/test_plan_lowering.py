"""Lowering: which commands, ports, times and expectations an experiment becomes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import lab
from narrows.errors import SpecError
from narrows.plan.build import plan_file
from narrows.plan.items import AfterItem, AtTime, Command, TcpBulk, WithItem
from narrows.plan.model import Plan
from narrows.plan.sysctls import asked_for
from narrows.plan.topology import dumbbell

FLOW = 'flow = bulk(duration="5 s")'


def plan_of(folder: Path, *lines: str) -> Plan:
    file = folder / "study.py"
    file.write_text('"""Does it?"""\nfrom narrows.spec import *\n' + "\n".join(lines) + "\n")
    (plan,) = plan_file(file).plans
    return plan


def commands(plan: Plan, node: str, tool: str) -> list[str]:
    return [" ".join(s.args) for s in plan.setup if (s.node, s.tool) == (node, tool)]


def item(plan: Plan, item_id: str) -> Command:
    found = next(i for i in plan.traffic if i.id == item_id)
    assert isinstance(found, Command)
    return found


@pytest.mark.parametrize(
    ("loss", "echoes", "epoch_s"),
    [
        # A tenth of round trips may be lost without more, and the plan says nothing of echoes. Beyond the
        # usual time are 0.15 s for 200 packets, 2 s for lost ones, and 15 ms for each echo more, less 2.43 s.
        ('loss="10 %", loss_up="0 %"', 20, 3),
        # Mean runs of losses: 1 / 0.4 = 2.5 echoes, so 10 + 32 x 2.5; 0.77 s beyond it are no whole second.
        ('loss="60 %", loss_up="0 %"', 90, 3),
        # 1 / (0.4 x 0.4) = 6.25, so 10 + 200; 2.57 s beyond it.
        ('loss="60 %"', 210, 6),
        # A burst of 4 downstream is 4 / 0.5 echoes where half of them are lost before; 3.41 s beyond it.
        ('loss="2 %", loss_up="50 %", loss_burst=4', 266, 7),
    ],
)
def test_as_many_echoes_are_sent_as_the_loss_needs(
    tmp_path: Path, loss: str, echoes: int, epoch_s: int
) -> None:
    plan = plan_of(tmp_path, f'link = Link(rate="20 Mbit/s", base_rtt="2 ms", {loss})', FLOW)
    assert plan.calibration.echoes == echoes
    assert ("echoes" in plan.calibration.model_dump()) == (echoes != 20)
    assert plan.epoch_monotonic_ns == epoch_s * 10**9


def test_each_direction_has_its_own_shaper_queue_and_delay(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        'link = Link(rate="100 Mbit/s", rate_up="10 Mbit/s", queue=codel(), queue_up=pfifo(limit=50),',
        '            base_rtt="30 ms", delay_down="10 ms", loss_up="1 %", shaper_up=tbf(burst="15 KB"))',
        FLOW,
    )
    tc = commands(plan, "router", "tc")
    assert tc[:3] == [
        "qdisc add dev eth0 root handle 1: htb default 11",
        "class add dev eth0 parent 1: classid 1:11 htb rate 100Mbit ceil 100Mbit burst 1600 cburst 1600 "
        "quantum 200000",
        "qdisc add dev eth0 parent 1:11 handle 110: codel limit 1000 target 5ms interval 100ms noecn",
    ]
    assert tc[3:] == [
        "qdisc add dev eth1 root handle 1: tbf rate 10Mbit burst 15000 latency 50ms",
        "qdisc add dev eth1 parent 1:1 handle 110: pfifo limit 50",
    ]
    assert commands(plan, "path", "tc") == [
        "qdisc add dev eth0 root handle 1: netem limit 10000000 delay 10ms",
        "qdisc add dev eth1 root handle 1: netem limit 10000000 delay 20ms loss random 1%",
    ]
    assert (plan.link.down.delay_ns, plan.link.up.delay_ns) == (10_000_000, 20_000_000)


def test_the_papers_burst_shaping_and_that_of_its_listing_can_both_be_said(tmp_path: Path) -> None:
    # The listing: rate_kbit × 36 / 1000 "k", which tc reads as KiB: 100 000 × 36 / 1000 × 1024 bytes
    text = 'link = Link(rate="100 Mbit/s", shaper=htb(ceil_factor=1.6, {}))'
    paper = plan_of(tmp_path, text.format('burst="15 KB", cburst="30 KB"'), FLOW)
    assert "ceil 160Mbit burst 15000 cburst 30000" in commands(paper, "router", "tc")[1]
    listing = plan_of(tmp_path, text.format('burst_per_rate="294.912 ms"'), FLOW)
    assert "burst 3686400 cburst 3686400" in commands(listing, "router", "tc")[1]


def test_cake_shapes_by_itself_unless_a_shaper_is_named(tmp_path: Path) -> None:
    own = plan_of(tmp_path, 'link = Link(rate="50 Mbit/s", queue=cake())', FLOW)
    assert commands(own, "router", "tc")[0].startswith(
        "qdisc add dev eth0 root handle 1: cake bandwidth 50Mbit diffserv3 triple-isolate"
    )
    assert own.link.shaper == "cake"
    under = plan_of(tmp_path, 'link = Link(rate="50 Mbit/s", queue=cake(), shaper=htb())', FLOW)
    assert "cake unlimited diffserv3" in commands(under, "router", "tc")[2]
    assert under.link.shaper == "htb"


def test_a_limit_in_bdp_follows_rate_and_base_rtt(tmp_path: Path) -> None:
    # 100 Mbit/s × 20 ms = 250 000 bytes = 165.1 frames of 1514 bytes
    link = 'link = Link(rate="100 Mbit/s", base_rtt="20 ms", queue={})'
    in_bytes = plan_of(tmp_path, link.format('bfifo(limit="1 BDP")'), FLOW)
    assert commands(in_bytes, "router", "tc")[2].endswith("bfifo limit 250000")
    in_packets = plan_of(tmp_path, link.format("pfifo(limit=bdp(1))"), FLOW)
    assert commands(in_packets, "router", "tc")[2].endswith("pfifo limit 166")


def test_the_quantum_is_one_frame_of_the_links_mtu(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 'link = Link(rate="1 Gbit/s", mtu=1400, queue=fq_codel())', FLOW)
    assert "quantum 1414" in commands(plan, "router", "tc")[2]
    assert " mtu 1400 " in commands(plan, "client", "ip")[0]


def test_choke_sfb_and_hhf_are_said_in_tcs_own_units(tmp_path: Path) -> None:
    # CHOKe needs the link's rate; SFB takes bare milliseconds and shares of 1; HHF's times have units.
    said = {
        "choke(limit=250, ecn=True)": "choke limit 250 probability 0.02 ecn bandwidth 10Mbit",
        "sfb()": "sfb limit 1000 rehash 600000 db 60000 max 25 target 20 increment 0.0005 decrement 5e-05 "
        "penalty_rate 10 penalty_burst 20",
        "hhf()": "hhf limit 1000 quantum 1514 hh_limit 2048 reset_timeout 40ms admit_bytes 131072 "
        "evict_timeout 1s non_hh_weight 2",
    }
    for queue, words in said.items():
        plan = plan_of(tmp_path, f'link = Link(rate="10 Mbit/s", queue={queue})', FLOW)
        assert commands(plan, "router", "tc")[2] == f"qdisc add dev eth0 parent 1:11 handle 110: {words}"


def test_changes_become_tc_commands_in_both_directions_and_say_so(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        'link = Link(rate="50 Mbit/s", base_rtt="10 ms", queue=cake(), queue_up=codel(), shaper_up=htb())',
        'link.at("20 s", rate="10 Mbit/s", rate_up="5 Mbit/s")',
        'link.at("10 s", base_rtt="40 ms", loss="2 %")',
        'flow = bulk(duration="30 s")',
    )
    assert [(c.at_ns // 10**9, c.node, " ".join(c.args)) for c in plan.changes] == [
        (10, "path", "qdisc change dev eth0 root handle 1: netem limit 10000000 delay 20ms loss random 2%"),
        (10, "path", "qdisc change dev eth1 root handle 1: netem limit 10000000 delay 20ms loss random 2%"),
        (20, "router", "qdisc change dev eth0 root handle 1: cake bandwidth 10Mbit"),
        (
            20,
            "router",
            "class change dev eth1 parent 1: classid 1:11 htb rate 5Mbit ceil 5Mbit burst 1600 cburst 1600 "
            "quantum 62500",
        ),
    ]
    assert plan.link.changes == (
        "at 10 s: base_rtt 40 ms, loss 2 %",
        "at 20 s: rate 10 Mbit/s, rate_up 5 Mbit/s",
    )


def test_every_interface_has_a_fixed_address_and_a_permanent_neighbour(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 'link = Link(rate="50 Mbit/s")', FLOW)
    ip = [c for node in plan.nodes for c in commands(plan, node.name, "ip")]
    assert len([c for c in ip if c.startswith("link add")]) == 3
    assert len([c for c in ip if c.startswith("neigh add") and c.endswith("nud permanent")]) == 6
    macs = [w for c in ip if c.startswith("link add") for w in c.split() if w.startswith("02:")]
    assert len(set(macs)) == 6
    assert plan.calibration.client_address == "10.0.0.1"
    assert plan.calibration.server_address == "10.0.2.1"


def test_offloads_are_off_and_ipv6_is_gone_before_any_interface_exists(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 'link = Link(rate="50 Mbit/s", offloads={"gro": True})', FLOW)
    assert commands(plan, "router", "ethtool") == [
        f"-K eth{n} tso off gso off gro on tx-udp-segmentation off" for n in (0, 1)
    ]
    tools = [(s.tool, s.args) for s in plan.setup]
    first_link = next(n for n, (tool, args) in enumerate(tools) if tool == "ip" and args[0] == "link")
    off = [n for n, (_, args) in enumerate(tools) if "net.ipv6.conf.all.disable_ipv6=1" in args]
    assert len(off) == len(plan.nodes)
    assert max(off) < first_link


def test_sysctls_are_written_out_and_those_of_the_experiment_win(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        'link = Link(rate="50 Mbit/s", sysctls={"all": {"net.ipv4.tcp_sack": 0},',
        '            "server": {"net.ipv4.tcp_wmem": "4096 16384 8388608"}})',
        FLOW,
    )
    assert "-w net.ipv4.tcp_wmem=4096 16384 8388608" in commands(plan, "server", "sysctl")
    assert "-w net.ipv4.tcp_wmem=4096 16384 4194304" in commands(plan, "client", "sysctl")
    assert "-w net.ipv4.tcp_rmem=4096 131072 33554432" in commands(plan, "server", "sysctl")
    assert "-w net.ipv4.tcp_sack=0" in commands(plan, "client", "sysctl")
    assert "-w net.ipv4.ip_forward=1" in commands(plan, "router", "sysctl")
    assert "-w net.ipv4.ip_forward=1" not in commands(plan, "client", "sysctl")


def test_what_an_experiment_set_otherwise_can_be_told_from_its_plan(tmp_path: Path) -> None:
    def told(*lines: str) -> tuple[str, ...]:
        return asked_for(plan_of(tmp_path, *lines).sysctls)

    many = 'Dumbbell(rate="1 Gbit/s", queue=bfifo(limit="37.5 MB"), pairs=[pair("20 ms", senders=2)]'
    assert told('link = Link(rate="50 Mbit/s")', FLOW) == ()
    assert told(f"link = {many})", FLOW) == ()  # its buffers are sized by the link
    assert told('link = Link(rate="50 Mbit/s")', 'flow = bulk(ecn=True, duration="5 s")') == ("tcp_ecn=1",)
    asked = '{"all": {"net.ipv4.tcp_retries2": 255}, "client": {"net.ipv4.tcp_rmem": "4096 131072 6291456"}}'
    both = ("tcp_retries2=255", "tcp_rmem=4096 131072 6291456")
    assert told(f"link = {many}, sysctls={asked})", FLOW) == both


def test_settings_for_a_node_that_is_not_there_are_refused(tmp_path: Path) -> None:
    many = 'Dumbbell(rate="1 Gbit/s", pairs=[pair("20 ms")], sysctls={"path": {"net.ipv4.ip_forward": 0}})'
    with pytest.raises(SpecError, match="no node here has the role 'path'") as error:
        plan_of(tmp_path, f"link = {many}", FLOW)
    assert error.value.remedy == "here are client, router, server, and all"


def test_ecn_of_a_flow_is_switched_on_at_its_sender_only(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 'link = Link(rate="50 Mbit/s")', 'flow = bulk(ecn=True, duration="5 s")')
    assert "-w net.ipv4.tcp_ecn=1" in commands(plan, "server", "sysctl")
    assert "-w net.ipv4.tcp_ecn=2" in commands(plan, "client", "sysctl")


def test_flows_with_and_without_ecn_from_one_host_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="asks for ECN, b does not"):
        plan_of(
            tmp_path,
            'link = Link(rate="50 Mbit/s")',
            'a = bulk(ecn=True, duration="5 s")',
            'b = bulk(duration="5 s")',
        )


def test_ndt7_is_a_server_that_is_up_before_the_epoch_and_a_client(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 'link = Link(rate="50 Mbit/s")', 'ndt = ndt7(start="5 s", start_jitter="0 s")')
    server, client = item(plan, "ndt-server"), item(plan, "ndt")
    assert server.argv == (
        *("@agent", "ndt7-server", "--listen", "10.0.2.1:80"),
        *("--log", "@out/ndt-server.jsonl"),
    )
    assert (server.node, server.background, server.start) == ("server", True, AtTime(at_ns=0))
    assert server.ready is not None
    assert server.ready.tcp == "10.0.2.1:80"
    assert client.argv == (
        *("@agent", "ndt7-client", "--server", "ws://10.0.2.1:80"),
        *("--tests", "download,upload"),
    )
    assert (client.node, client.background, client.start) == ("client", False, AtTime(at_ns=5 * 10**9))
    assert (client.tool, server.tool) == ("ndt7", "ndt7-server")


def test_ndt7_can_use_tls_another_cca_and_the_official_programs(tmp_path: Path) -> None:
    link = 'link = Link(rate="50 Mbit/s")'
    tls = plan_of(tmp_path, link, 'ndt = ndt7(tls=True, cca="cubic", tests="upload")')
    assert item(tls, "ndt-server").argv[-3:] == ("--tls", "--cca", "cubic")
    assert item(tls, "ndt").argv[2:] == (
        *("--server", "wss://10.0.2.1:443", "--tests", "upload"),
        *("--insecure", "--cca", "cubic"),
    )
    go = plan_of(tmp_path, link, 'ndt = ndt7(client="ndt7-client", server="ndt-server")')
    assert item(go, "ndt").argv[:5] == ("ndt7-client", "-server", "10.0.2.1:80", "-scheme", "ws")
    server = item(go, "ndt-server")
    assert server.argv[:2] == ("ndt-server", "-ndt7_addr_cleartext=10.0.2.1:80")
    assert {"-ndt7_addr=127.0.0.1:0", "-health_addr=127.0.0.1:0"} < set(server.argv)
    assert server.ready is not None
    assert server.ready.tcp == "10.0.2.1:80"


def test_the_official_server_over_tls_gets_a_certificate_made_for_it(tmp_path: Path) -> None:
    link = 'link = Link(rate="50 Mbit/s")'
    plan = plan_of(tmp_path, link, 'ndt = ndt7(client="ndt7-client", server="ndt-server", tls=True)')
    made = ("--cert", "@out/ndt-server.crt", "--key", "@out/ndt-server.key")
    server = item(plan, "ndt-server").argv
    assert server[: server.index("--")] == ("@agent", "certified", "--name", "10.0.2.1", *made)
    assert server[server.index("--") + 1 :][:2] == ("ndt-server", "-ndt7_addr=10.0.2.1:443")
    assert server[-2:] == ("-cert=@out/ndt-server.crt", "-key=@out/ndt-server.key")


def test_ndt7_in_javascript_is_run_from_the_package(tmp_path: Path) -> None:
    link = 'link = Link(rate="50 Mbit/s")'
    js = plan_of(tmp_path, link, 'ndt = ndt7(client="js")')
    assert item(js, "ndt").argv[:2] == ("node", "@checkout/tools/ndt7/client/run.mjs")


def test_cross_traffic_starts_before_the_test_and_stops_with_it(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        'link = Link(rate="50 Mbit/s")',
        'test = ndt7(start="5 s")',
        'cross = iperf3(cca="cubic", stop=with_(test), start_jitter="0 s")',
    )
    client = item(plan, "cross")
    assert client.argv == (
        *("iperf3", "-c", "10.0.2.1", "-p", "5201", "--json", "-t", "0", "-P", "1", "-i", "1"),
        *("-C", "cubic", "-R"),
    )
    assert client.start == AtTime(at_ns=0)
    assert client.stop == WithItem(with_="test")
    assert item(plan, "cross-server").argv == ("iperf3", "-s", "-1", "-p", "5201", "--json")


def test_iperf3_options_become_its_arguments(tmp_path: Path) -> None:
    text = (
        'x = iperf3(direction="both", duration="8 s", omit="2 s", flows=4, interval="0.1 s", '
        'port=6000, udp_rate="5 Mbit/s")'
    )
    plan = plan_of(tmp_path, 'link = Link(rate="50 Mbit/s")', text)
    assert " ".join(item(plan, "x").argv) == (
        "iperf3 -c 10.0.2.1 -p 6000 --json -t 8 -P 4 -i 0.1 -O 2 -u -b 5000000 --bidir"
    )


def test_iperf3_with_a_dscp_runs_from_the_end_that_sends(tmp_path: Path) -> None:
    # its server does not mark what it sends
    text = 'x = iperf3(direction="down", duration="8 s", dscp="CS1")'
    plan = plan_of(tmp_path, 'link = Link(rate="50 Mbit/s")', text)
    assert (item(plan, "x").node, item(plan, "x-server").node) == ("server", "client")
    assert " ".join(item(plan, "x").argv) == (
        "iperf3 -c 10.0.0.1 -p 5201 --json -t 8 -P 1 -i 1 -C cubic --dscp 8"
    )
    with pytest.raises(SpecError, match="does not mark"):
        plan_of(
            tmp_path, 'link = Link(rate="50 Mbit/s")', 'x = iperf3(direction="both", dscp=8, duration="1 s")'
        )


def test_each_item_gets_a_port_of_its_own(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        'link = Link(rate="50 Mbit/s")',
        'flows = [bulk(duration="5 s") for _ in range(3)]',
        'tests = [ndt7(), ndt7(start="30 s")]',
        'own = bulk(port=5001, duration="5 s")',
    )
    bulks = {i.id: i.port for i in plan.traffic if isinstance(i, TcpBulk)}
    assert bulks == {"flows-0": 5002, "flows-1": 5003, "flows-2": 5004, "own": 5001}
    listens = [i.ready.tcp for i in plan.traffic if isinstance(i, Command) and i.ready]
    assert listens == ["10.0.2.1:80", "10.0.2.1:8080"]


def test_a_port_that_two_items_ask_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="port 7000 is already that of a"):
        plan_of(
            tmp_path,
            'link = Link(rate="50 Mbit/s")',
            'a = bulk(port=7000, duration="5 s")',
            'b = bulk(port=7000, duration="5 s")',
        )


def test_a_flow_lasts_its_duration_from_when_it_really_starts(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 'link = Link(rate="50 Mbit/s")', 'flow = bulk(start="2 s", duration="5 s")')
    (flow,) = plan.traffic
    assert isinstance(flow.start, AtTime)
    assert isinstance(flow.stop, AtTime)
    assert 2 * 10**9 <= flow.start.at_ns <= 2 * 10**9 + 10_000_000
    assert flow.stop.at_ns - flow.start.at_ns == 5 * 10**9
    assert plan.limit_ns > flow.stop.at_ns


def test_an_item_can_follow_another(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        'link = Link(rate="50 Mbit/s")',
        'a = bulk(duration="5 s")',
        'b = bulk(start=after(a, "2 s"), bytes="1 MB", start_jitter="0 s")',
    )
    assert plan.traffic[1].start == AfterItem(after="a", delay_ns=2 * 10**9)
    assert plan.traffic[1].stop is None


def test_the_calibration_expects_the_ip_layers_share_of_the_rate(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 'link = Link(rate="100 Mbit/s", rate_up="5 Gbit/s", line_rate="1 Gbit/s")', FLOW)
    # A qdisc counts 1514 bytes for an IP packet of 1500.
    assert plan.calibration.rate_down_bps == 100_000_000 * 1500 // 1514
    assert plan.calibration.rate_up_bps == 1_000_000_000 * 1500 // 1514
    assert plan.calibration.rtt_ns == 1_000_000
    assert plan.calibration.rate_is_upper_bound is False


@pytest.mark.parametrize(
    "lines",
    [
        ['link = Link(rate="9 Mbit/s", loss="1 %")', FLOW],
        ['link = Link(rate="9 Mbit/s", jitter="100 us")', FLOW],
        ['link = Link(rate="9 Mbit/s", queue=cake(autorate_ingress=True))', FLOW],
        ['link = Link(rate="9 Mbit/s")', FLOW, 'machine(timer_latency=("0 us", "5 us"))'],
        ['link = Home(medium=lte(rate="5 Mbit/s"), router=home_router(ingress=cake(ingress=True)))', FLOW],
    ],
)
def test_what_keeps_a_rig_below_its_rate_makes_the_rate_an_upper_bound(
    tmp_path: Path, lines: list[str]
) -> None:
    assert plan_of(tmp_path, *lines).calibration.rate_is_upper_bound is True


def test_both_directions_of_the_bottleneck_are_tapped(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 'link = Link(rate="9 Mbit/s")', FLOW, 'tap("summary")')
    assert [(h.direction, h.node, h.iface, h.ingress, h.tap) for h in plan.hops] == [
        ("down", "router", "eth0", ("eth1",), "summary"),
        ("up", "router", "eth1", ("eth0",), "summary"),
    ]


def test_samplers_have_defaults_and_can_be_left_out(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 'link = Link(rate="9 Mbit/s")', FLOW)
    ids = [s.id for s in plan.samplers]
    assert ids[:4] == ["tcp-client", "tcp-server", "qdisc-down", "qdisc-up"]
    assert "link-client" in ids
    assert "link-router-eth1" in ids
    none = plan_of(
        tmp_path, 'link = Link(rate="9 Mbit/s")', FLOW, "sample(tcp_info=None, qdisc=None, link=None)"
    )
    assert none.samplers == ()


@pytest.mark.parametrize(("clients", "servers"), [(1, 1), (1, 3), (4, 2)])
def test_on_any_dumbbell_every_host_reaches_every_other_through_the_bottleneck(
    clients: int, servers: int
) -> None:
    topology = dumbbell(clients, servers)
    next_hop = {(r.node, r.subnet): r for r in topology.routes}
    by_address = {i.address: i.node for i in topology.interfaces}
    assert len({i.mac for i in topology.interfaces}) == len(topology.interfaces)
    for client in topology.named("client"):
        for server in topology.named("server"):
            for start, end in ((client, server), (server, client)):
                subnet = topology.subnet(topology.of(end)[0].cable)
                here, passed = start, [start]
                while here != end:
                    direct = [i for i in topology.of(here) if topology.subnet(i.cable) == subnet]
                    if direct:
                        here = direct[0].peer_node
                    else:
                        route = next_hop.get((here, subnet)) or next_hop[here, "default"]
                        here = by_address[route.via]
                    passed.append(here)
                    assert len(passed) < 10, passed
                assert topology.bottleneck in passed
                assert topology.path in passed


def test_a_parameter_that_a_module_does_not_have_is_refused_with_its_name(tmp_path: Path) -> None:
    described = b"\x7fELF\0vermagic=7.2.12\0parmtype=beta:int\0parmtype=window:int\0"
    (tmp_path / "tcp_mine.ko").write_bytes(described)
    text = """
        link = Link(rate="10 Mbit/s", base_rtt="20 ms")
        flow = bulk(duration="1 s")
        machine(modules=["tcp_mine.ko {}"])
    """
    assert lab.plan(tmp_path, text.format("beta=50 window=8")).machine.modules[0].parameters
    with pytest.raises(SpecError, match=r"tcp_mine\.ko has no parameter 'betta'") as raised:
        lab.plan(tmp_path, text.format("betta=50"))
    assert "beta" in str(raised.value.remedy)


def test_a_module_that_is_older_than_what_it_was_made_of_is_refused_with_the_file(tmp_path: Path) -> None:
    text = """
        link = Link(rate="10 Mbit/s", base_rtt="20 ms")
        flow = bulk(duration="1 s")
        machine(modules=["tcp_mine.ko"])
    """
    module = tmp_path / "tcp_mine.ko"
    module.write_bytes(b"built")
    (tmp_path / "tcp_mine.mod").write_text("./one.o\n./two.o\n")
    (tmp_path / ".two.o.cmd").write_text("deps_two.o := two.c ./mine/own.h /usr/include/of_the_system.h\n")
    (tmp_path / "mine").mkdir()
    for name in ("tcp_mine.c", "two.c", "mine/own.h", "other.c"):
        (tmp_path / name).write_text("source")
        os.utime(tmp_path / name, (1000, 1000))
    os.utime(module, (2000, 2000))
    lab.plan(tmp_path, text)
    os.utime(tmp_path / "other.c", (3000, 3000))  # it is no part of it
    lab.plan(tmp_path, text)
    for name in ("tcp_mine.c", "two.c", "mine/own.h"):
        os.utime(tmp_path / name, (3000, 3000))
        with pytest.raises(SpecError, match=rf"tcp_mine\.ko is older than {name}"):
            lab.plan(tmp_path, text)
        os.utime(tmp_path / name, (1000, 1000))


@pytest.mark.parametrize(
    ("queue", "limit"),
    [
        ("pfifo(limit=100)", "limit 100"),
        ('bfifo(limit="77 KB")', "limit 77000"),
        ("pfifo_head_drop(limit=50)", "limit 50"),
        ("bfifo(limit=bdp(2))", "limit 100000"),  # 2 × 20 Mbit/s × 20 ms, of the rate it was set up with
        ("fq_codel(limit=300)", "latency 50ms"),
    ],
)
def test_a_new_rate_of_a_tbf_leaves_the_fifo_inside_its_limit(tmp_path: Path, queue: str, limit: str) -> None:
    """The kernel gives a FIFO inside a tbf the tbf's limit at each change of it."""
    plan = plan_of(
        tmp_path,
        f'link = Link(rate="20 Mbit/s", base_rtt="20 ms", queue={queue}, shaper=tbf(burst="15 KB"))',
        'link.at("1 s", rate="5 Mbit/s")',
        'flow = bulk(duration="2 s")',
    )
    told = {" ".join(change.args) for change in plan.changes}
    assert told == {
        f"qdisc change dev {dev} root handle 1: tbf rate 5Mbit burst 15000 {limit}"
        for dev in ("eth0", "eth1")
    }


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        # 20 Mbit/s × 20 ms are 50 KB, and the bucket: tc-tbf(8), tc/q_tbf.c
        ('shaper=tbf(burst="10 KB", latency="20 ms")', 60_000),
        ('shaper=tbf(burst="10 KB", limit="50 KB")', 50_000),
        ('shaper=tbf(burst="10 KB", latency="20 ms", peakrate="21 Mbit/s", mtu="1600 B")', 54_100),
        ('shaper=tbf(burst="10 KB")', None),
    ],
)
def test_a_tbf_without_a_queue_under_it_holds_what_its_own_limit_or_latency_says(
    tmp_path: Path, options: str, limit: int | None
) -> None:
    plan = plan_of(tmp_path, f'link = Link(rate="20 Mbit/s", base_rtt="20 ms", {options})', FLOW)
    assert [way.limit_bytes for way in (plan.link.down, plan.link.up)] == [limit, limit]
    assert plan.link.queue == ("pfifo" if limit is None else "bfifo")


@pytest.mark.parametrize(
    ("options", "ready"),
    [
        ('ready="@server:8080"', {"tcp": "10.0.2.1:8080"}),
        ('ready="udp://@server:4433"', {"udp": "10.0.2.1:4433"}),
        ('ready_line="it is up"', {"line": "it is up"}),
    ],
)
def test_a_server_is_up_when_it_accepts_is_bound_or_says_so(
    tmp_path: Path, options: str, ready: dict[str, str]
) -> None:
    plan = plan_of(
        tmp_path,
        'link = Link(rate="50 Mbit/s")',
        f'server = command("serve", node="server", background=True, {options})',
        'get = command("get @server:8080")',
    )
    assert plan.to_dict()["traffic"][0]["ready"] == ready
    with pytest.raises(SpecError, match="say when it is up"):
        plan_of(
            tmp_path, 'link = Link(rate="9 Mbit/s")', 'a = command("x", ready="@server:1", ready_line="up")'
        )


def test_iperf3_is_given_its_own_options_and_says_its_mss(tmp_path: Path) -> None:
    options = 'rate="3 Mbit/s", mss="1000 B", length="4 KB", window="64 KB", duration="3 s"'
    plan = plan_of(tmp_path, 'link = Link(rate="9 Mbit/s")', f"a = iperf3({options})")
    server, client = plan.traffic
    assert isinstance(server, Command)
    assert isinstance(client, Command)
    words = " ".join(client.argv)
    assert " -C cubic -b 3000000 -M 1000 -l 4000 -w 64000 -R" in words
    assert client.uses is not None
    assert server.uses == client.uses
    assert (client.uses.cca, client.uses.mss_bytes) == ("cubic", 1000)
    with pytest.raises(SpecError, match="mss is of TCP, and udp_rate asks for UDP"):
        plan_of(
            tmp_path, 'link = Link(rate="9 Mbit/s")',
            'a = iperf3(mss="1000 B", udp_rate="1 Mbit/s", duration="3 s")',
        )  # fmt: skip
