"""The plans that `make bench` times: exact commands, so that both sides' work can be compared line by line.

Not made by the spec on purpose: a changed default of the spec must not change what is timed. Runs nothing.
"""

from __future__ import annotations

from narrows.plan.items import AtTime, Command, Endpoint, Ready, TcpBulk, TrafficItem, UdpProbe
from narrows.plan.model import (
    Calibration,
    Counted,
    Hop,
    LinkDirection,
    LinkSummary,
    Machine,
    Needs,
    Node,
    Plan,
    Step,
    TapMode,
    Tool,
)

CLIENT, SERVER = "10.0.0.1", "10.0.2.1"
MTU_BYTES = 1500
NS = 1_000_000_000
MIB = 1024 * 1024

LINKS = (
    ("client", "eth0", f"{CLIENT}/24", "router", "eth0", "10.0.0.254/24"),
    ("router", "eth1", "10.0.1.1/24", "path", "eth0", "10.0.1.2/24"),
    ("path", "eth1", "10.0.2.254/24", "server", "eth0", f"{SERVER}/24"),
)
ROUTES = (
    ("client", "default", "10.0.0.254"),
    ("router", "10.0.2.0/24", "10.0.1.2"),
    ("path", "10.0.0.0/24", "10.0.1.1"),
    ("server", "default", "10.0.2.254"),
)


def _topology(
    rate_bps: int, delay_ns: int, queue: str, options: tuple[str, ...], receive_buffer: int
) -> list[Step]:
    """client – router – path – server; HTB and the queue at the router towards the client, delay on path."""
    steps = []

    def add(node: str, tool: Tool, words: str) -> None:
        steps.append(
            Step(
                node=node,
                tool=tool,
                args=tuple(words.split(maxsplit=1) if tool == "sysctl" else words.split()),
            )
        )

    for a, a_if, a_ip, b, b_if, b_ip in LINKS:
        add(a, "ip", f"link add {a_if} type veth peer name {b_if} netns {b}")
        for node, iface, address in ((a, a_if, a_ip), (b, b_if, b_ip)):
            add(node, "ip", f"addr add {address} dev {iface}")
            add(node, "ip", f"link set {iface} txqueuelen 1000 up")
            add(node, "ethtool", f"-K {iface} tso off gso off gro off")
    for node in ("router", "path"):
        add(node, "sysctl", "-w net.ipv4.ip_forward=1")
    for node in ("client", "server"):  # ns-3's buffers do not grow: give both the same receive buffer
        add(node, "sysctl", f"-w net.ipv4.tcp_rmem=4096 {receive_buffer} 33554432")
        add(node, "sysctl", "-w net.ipv4.tcp_wmem=4096 16384 4194304")
    for node, to, via in ROUTES:
        add(node, "ip", f"route add {to} via {via}")
    add("path", "tc", f"qdisc add dev eth0 root netem delay {delay_ns}ns limit 1000000")
    add("path", "tc", f"qdisc add dev eth1 root netem delay {delay_ns}ns limit 1000000")
    add("router", "tc", "qdisc add dev eth0 root handle 1: htb default 1")
    add("router", "tc", f"class add dev eth0 parent 1: classid 1:1 htb rate {rate_bps}bit quantum 1514")
    add("router", "tc", " ".join(("qdisc add dev eth0 parent 1:1", queue, *options)))
    return steps


def _plan(
    name: str,
    *,
    rate_bps: int,
    base_rtt_ns: int,
    queue: str,
    options: tuple[str, ...] = (),
    tap: TapMode,
    traffic: tuple[TrafficItem, ...],
    limit_s: int,
    receive_buffer: int = 131072,
) -> Plan:
    def direction(bps: int | None, kind: str) -> LinkDirection:
        return LinkDirection(
            queue=kind,
            queue_options={},
            shaper="htb" if bps else None,
            shaper_options={},
            rate_bps=bps,
            ceil_bps=bps,
            burst_bytes=None,
            cburst_bytes=None,
            delay_ns=base_rtt_ns // 2,
            jitter_ns=0,
            loss_percent=0.0,
            peak_rate_bps=None,
            counted=Counted(of="frame", overhead_bytes=0, mpu_bytes=0, cells="none") if bps else None,
            sets_own_rate=False,
            limit_packets=None,
            limit_bytes=None,
            memory_limit_bytes=None,
            splits_super_packets=False,
            changes=(),
        )

    return Plan(
        experiment=f"bench_{name}",
        question="What does a packet cost?",
        key={},
        seed=1,
        wall_clock_ns=1_767_225_600 * NS,
        epoch_monotonic_ns=4 * NS,
        limit_ns=limit_s * NS,
        machine=Machine(memory_bytes=512 * MIB, timer_latency=None),
        nodes=tuple(Node(name=n, role=n) for n in ("client", "router", "path", "server")),
        link=LinkSummary(
            rate_down_bps=rate_bps,
            rate_up_bps=None,
            base_rtt_ns=base_rtt_ns,
            mtu_bytes=MTU_BYTES,
            line_rate_bps=None,
            queue=queue,
            queue_up="pfifo_fast",
            shaper="htb",
            shaper_up=None,
            down=direction(rate_bps, queue),
            up=direction(None, "pfifo_fast"),
            changes=(),
            offloads={"tso": False, "gso": False, "gro": False},
        ),
        sysctls=(),
        needs=Needs(qdiscs=(), default_ccas=("cubic",)),
        setup=tuple(_topology(rate_bps, base_rtt_ns // 2, queue, options, receive_buffer)),
        changes=(),
        hops=(
            Hop(hop="bottleneck", direction="down", node="router", iface="eth0", ingress=("eth1",), tap=tap),
        ),
        calibration=Calibration(
            client="client",
            server="server",
            server_address=SERVER,
            client_address=CLIENT,
            rtt_ns=base_rtt_ns,
            rtt_tolerance_ns=200_000,
            rate_down_bps=None,
            rate_up_bps=None,
            rate_tolerance=0.02,
            rate_is_upper_bound=False,
        ),
        traffic=traffic,
        samplers=(),
        captures=(),
    )


def bulk(seconds: int, *, tap: TapMode = "off") -> Plan:
    """The work that ns-3 is given too: 100 NewReno flows, 1 Gbit/s, 20 ms, a FIFO of 16000 packets."""
    item = TcpBulk(
        id="bulk",
        item="bulk",
        sender="server",
        receiver="client",
        receiver_address=CLIENT,
        port=5201,
        flows=100,
        cca="reno",
        dscp=0,
        ecn=False,
        bytes=None,
        start_spread_ns=0,
        sample_interval_ns=None,
        start=AtTime(at_ns=0),
        stop=AtTime(at_ns=seconds * NS),
    )
    return _plan(
        "bulk",
        rate_bps=NS,
        base_rtt_ns=20_000_000,
        queue="pfifo",
        options=("limit", "16000"),
        tap=tap,
        traffic=(item,),
        limit_s=seconds + 30,
        receive_buffer=6 * MIB,
    )


def ndt7_download(*, tap: TapMode) -> Plan:
    """One NDT7 download through FQ-CoDel at 1 Gbit/s; ends by itself after its ten seconds."""
    server = Command(
        id="ndt-server",
        item="ndt",
        tool="ndt7-server",
        node="server",
        argv=("@agent", "ndt7-server", "--listen", f"{SERVER}:80"),
        env={},
        stop_signal="INT",
        ok_exits=(0,),
        background=True,
        ready=Ready(tcp=f"{SERVER}:80"),
        endpoints=(),
        programs=(),
        files=(),
        memory_bytes=0,
        start=AtTime(at_ns=0),
        stop=None,
    )
    client = Command(
        id="ndt",
        item="ndt",
        tool="ndt7",
        node="client",
        argv=("@agent", "ndt7-client", "--server", f"ws://{SERVER}:80", "--tests", "download"),
        env={},
        stop_signal="INT",
        ok_exits=(0,),
        background=False,
        ready=None,
        endpoints=(Endpoint(protocol="tcp", address=SERVER, port=80),),
        programs=(),
        files=(),
        memory_bytes=0,
        start=AtTime(at_ns=100_000_000),
        stop=None,
    )
    return _plan(
        "ndt7",
        rate_bps=NS,
        base_rtt_ns=20_000_000,
        queue="fq_codel",
        tap=tap,
        traffic=(server, client),
        limit_s=40,
    )


def nothing() -> Plan:
    """Boot, set-up and power-off: the topology, and one packet so that there is something to end."""
    item = TcpBulk(
        id="bulk",
        item="bulk",
        sender="server",
        receiver="client",
        receiver_address=CLIENT,
        port=5201,
        flows=1,
        cca=None,
        dscp=0,
        ecn=False,
        bytes=1,
        start_spread_ns=0,
        sample_interval_ns=None,
        start=AtTime(at_ns=0),
        stop=None,
    )
    return _plan(
        "nothing",
        rate_bps=NS,
        base_rtt_ns=20_000_000,
        queue="fq_codel",
        tap="off",
        traffic=(item,),
        limit_s=30,
    )


def scored() -> Plan:
    """A run as `narrows calibrate` scores it: a speed test beside a probe and a cross flow, at 1 Gbit/s."""
    plan = ndt7_download(tap="packets")
    probe = UdpProbe(
        id="probe",
        item="probe",
        client="client",
        server="server",
        server_address=SERVER,
        port=7000,
        interval_ns=20_000_000,
        payload_bytes=64,
        dscp=0,
        start=AtTime(at_ns=0),
        stop=None,
    )
    test = plan.traffic[-1].model_copy(update={"id": "test", "item": "test"})
    cross = nothing().traffic[0].model_copy(update={"id": "cross", "item": "cross"})
    link = plan.link.model_copy(update={"rate_up_bps": NS})
    return plan.model_copy(update={"link": link, "traffic": (test, probe, cross)})
