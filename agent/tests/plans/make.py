"""Writes the example plans of this directory: a four-node path with hand-written setup steps.

Run it again after changing it; the JSON files beside it are its output. It is not part of the Python side.
"""

import json
import pathlib

HERE = pathlib.Path(__file__).parent
BURST = ["burst", "15k", "cburst", "1600"]


def ip(node: str, line: str) -> dict[str, object]:
    return {"node": node, "tool": "ip", "args": line.split()}


def tc(node: str, line: str) -> dict[str, object]:
    return {"node": node, "tool": "tc", "args": line.split()}


def topology(path: bool) -> list[dict[str, object]]:
    """client -- router -- [path --] server; the path node holds the delay."""
    steps = [
        ip("client", "link add eth0 type veth peer name eth0 netns router"),
        ip("client", "address add 10.0.0.1/24 dev eth0"),
        ip("client", "link set eth0 up"),
        ip("client", "route add default via 10.0.0.254"),
    ]
    last, hop = ("path", "eth0") if path else ("server", "eth0")
    steps += [
        ip("router", f"link add eth1 type veth peer name {hop} netns {last}"),
        ip("router", "address add 10.0.0.254/24 dev eth0"),
        ip("router", "address add 10.0.1.1/24 dev eth1"),
        ip("router", "link set eth0 up"),
        ip("router", "link set eth1 up"),
        ip("router", "route add default via 10.0.1.2"),
    ]
    if path:
        steps += [
            ip("path", "link add eth1 type veth peer name eth0 netns server"),
            ip("path", "address add 10.0.1.2/24 dev eth0"),
            ip("path", "address add 10.0.2.254/24 dev eth1"),
            ip("path", "link set eth0 up"),
            ip("path", "link set eth1 up"),
            ip("path", "route add default via 10.0.1.1"),
            ip("server", "address add 10.0.2.1/24 dev eth0"),
            ip("server", "link set eth0 up"),
            ip("server", "route add default via 10.0.2.254"),
        ]
    else:
        steps += [
            ip("server", "address add 10.0.1.2/24 dev eth0"),
            ip("server", "address add 10.0.2.1/32 dev eth0"),
            ip("server", "link set eth0 up"),
            ip("server", "route add default via 10.0.1.1"),
        ]
    for node, ifaces in {
        "client": ["eth0"],
        "router": ["eth0", "eth1"],
        "path": ["eth0", "eth1"] if path else [],
        "server": ["eth0"],
    }.items():
        for iface in ifaces:
            offloads = "tso off gso off gro off".split()
            steps.append({"node": node, "tool": "ethtool", "args": ["-K", iface, *offloads]})
    for node in ["router"] + (["path"] if path else []):
        steps.append({"node": node, "tool": "sysctl", "args": ["-w", "net.ipv4.ip_forward=1"]})
    for node in ["client", "router", "server"] + (["path"] if path else []):
        steps.append({"node": node, "tool": "sysctl", "args": ["-w", "net.ipv6.conf.all.disable_ipv6=1"]})
    return steps


def shaped(iface: str, rate_bps: int, queue: str, burst: list[str]) -> list[dict[str, object]]:
    klass = f"class add dev {iface} parent 1: classid 1:11 htb rate {rate_bps}bit ceil {rate_bps}bit"
    return [
        tc("router", f"qdisc add dev {iface} root handle 1: htb default 11"),
        tc("router", f"{klass} quantum 1514 " + " ".join(burst)),
        tc("router", f"qdisc add dev {iface} parent 1:11 handle 20: {queue}"),
    ]


def plan(name: str, rate_bps: int, queue: str, rtt_ms: int, traffic: list[dict[str, object]], **more: object):
    path = rtt_ms > 0
    nodes = ["client", "router"] + (["path"] if path else []) + ["server"]
    steps = topology(path)
    burst = more.pop("burst", BURST)
    steps += shaped("eth0", rate_bps, queue, burst) + shaped("eth1", rate_bps, queue, burst)  # type: ignore
    if path:
        half = rtt_ms * 1000 // 2
        steps += [
            tc("path", f"qdisc add dev eth0 root netem delay {half}us limit 100000"),
            tc("path", f"qdisc add dev eth1 root netem delay {half}us limit 100000"),
        ]
    ip_rate = rate_bps * 1500 / 1514
    body = {
        "format": 1,
        "experiment": name,
        "question": "An example for the agent's own tests.",
        "key": {},
        "seed": 42,
        "wall_clock_ns": 1767225600000000000,
        "epoch_monotonic_ns": 3000000000,
        "limit_ns": 120000000000,
        "machine": {"memory_bytes": 536870912, "timer_latency": None},
        "nodes": [{"name": n, "role": n} for n in nodes],
        "link": {"rate_down_bps": rate_bps, "rate_up_bps": rate_bps, "mtu_bytes": 1500, "queue": queue},
        "setup": steps,
        "changes": [],
        "hops": [
            {"hop": "bottleneck", "direction": "down", "node": "router", "iface": "eth0", "ingress": ["eth1"],
             "tap": "packets"},
            {"hop": "bottleneck", "direction": "up", "node": "router", "iface": "eth1", "ingress": ["eth0"],
             "tap": "packets"},
        ],
        "calibration": {
            "client": "client", "server": "server", "server_address": "10.0.2.1", "client_address": "10.0.0.1",
            "rtt_ns": rtt_ms * 1000000, "rtt_tolerance_ns": 500000,
            "rate_down_bps": ip_rate, "rate_up_bps": ip_rate, "rate_tolerance": 0.02,
            "rate_is_upper_bound": False,
        },
        "traffic": traffic,
        "samplers": [],
        "captures": [],
        **more,
    }
    (HERE / f"{name}.json").write_text(json.dumps(body, indent=1) + "\n")


def bulk(ident: str, seconds: float | None, **more: object) -> dict[str, object]:
    return {
        "id": ident, "kind": "tcp_bulk", "sender": "server", "receiver": "client",
        "receiver_address": "10.0.0.1", "port": 5201, "flows": 1, "cca": "cubic", "dscp": 0, "ecn": False,
        "bytes": None, "start_spread_ns": 0, "sample_interval_ns": None, "start": {"at_ns": 0},
        "stop": None if seconds is None else {"at_ns": int(seconds * 1e9)}, **more,
    }


def probe(ident: str, kind: str, seconds: float) -> dict[str, object]:
    item: dict[str, object] = {
        "id": ident, "kind": kind, "client": "client", "server": "server", "server_address": "10.0.2.1",
        "interval_ns": 20000000, "payload_bytes": 64, "dscp": 0, "start": {"at_ns": 0},
        "stop": {"at_ns": int(seconds * 1e9)},
    }
    return item | {"port": 5301} if kind == "udp_probe" else item


def command(ident: str, node: str, argv: list[str], **more: object) -> dict[str, object]:
    return {
        "id": ident, "kind": "command", "tool": argv[0], "node": node, "argv": argv, "env": {},
        "stop_signal": "INT", "ok_exits": [0], "background": False, "ready": None, "start": {"at_ns": 0},
        "stop": None, **more,
    }


SAMPLERS = [
    {"id": "tcp-server", "kind": "tcp_info", "node": "server", "interval_ns": 10000000},
    {"id": "qdisc-down", "kind": "qdisc", "node": "router", "iface": "eth0", "interval_ns": 100000000},
    {"id": "link-client", "kind": "link", "node": "client", "iface": "eth0", "interval_ns": 1000000000},
]
CAPTURES = [
    {"id": "client-eth0", "node": "client", "iface": "eth0", "snap_bytes": 96, "start_ns": 0, "stop_ns": None}
]

FIFO = "pfifo limit 100"

if __name__ == "__main__":
    everything = [
        bulk("bulk", 5, sample_interval_ns=100000000),
        bulk("fixed", None, port=5202, flows=4, bytes=1000000, start_spread_ns=200000000, start={"at_ns": 1000000000}),
        probe("udp", "udp_probe", 5), probe("icmp", "icmp_echo", 5),
    ]
    iperf = [
        command("iperf-server", "client", ["iperf3", "-s"], background=True, ready={"tcp": "10.0.0.1:5201"}),
        command("iperf", "server", ["iperf3", "-c", "10.0.0.1", "-t", "4", "--json"]),
        probe("udp", "udp_probe", 4) | {"stop": {"with": "iperf"}},
    ]
    step = [{"at_ns": 3000000000, "node": "router", "tool": "tc",
             "args": "class change dev eth0 parent 1: classid 1:11 htb rate 20mbit burst 15k".split()}]
    plan("host_everything", 100_000_000, FIFO, 0, everything, samplers=SAMPLERS, captures=CAPTURES)
    plan("host_iperf_rate_step", 50_000_000, FIFO, 0, iperf, changes=step)
    plan("guest_everything", 100_000_000, "fq_codel", 20, everything, samplers=SAMPLERS, captures=CAPTURES)
    plan("guest_iperf_rate_step", 50_000_000, FIFO, 20, iperf, changes=step)
    plan("guest_1g_one_flow", 1_000_000_000, "fq_codel", 20, [bulk("bulk", 10)])
    plan("guest_1g_100_flows", 1_000_000_000, "pfifo limit 16000", 20, [bulk("bulk", 4, flows=100, cca="reno")])
    plan("guest_1m", 1_000_000, FIFO, 20, [bulk("bulk", 10)])
    deep = ["burst", "3600k", "cburst", "3600k"]
    plan("guest_deep_burst", 100_000_000, FIFO, 20, [bulk("bulk", 3)], burst=deep)
