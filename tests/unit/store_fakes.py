"""Plans, taps and an engine without a kernel, for tests of store and runner."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from narrows.engine.types import Carried, EngineInfo, OneKernel, Progress, RunFault, RunRequest, Slot
from narrows.plan.items import Content
from narrows.plan.model import Plan

EPOCH_NS = 3_000_000_000
KERNEL, AGENT = "kernel-under-test", "a" * 64
ETHERNET = 14


def plan_dict(
    *, seed: int = 1, queue: str = "pfifo", duration_s: float = 2.0, tap: str = "packets", **changes: Any
) -> dict[str, Any]:
    """A plan of four nodes that a real agent could carry out: one TCP flow down, one probe."""
    rate = 10_000_000
    end_ns = round(duration_s * 1e9)
    one = {
        "queue": queue, "queue_options": {}, "shaper": "htb", "shaper_options": {}, "rate_bps": rate,
        "ceil_bps": rate, "burst_bytes": 15140, "cburst_bytes": 15140, "delay_ns": 5_000_000, "jitter_ns": 0,
        "loss_percent": 0.0, "peak_rate_bps": None,
        "counted": {"of": "frame", "overhead_bytes": 0, "mpu_bytes": 0, "cells": "none"},
        "sets_own_rate": False, "limit_packets": None, "limit_bytes": None, "memory_limit_bytes": None,
        "splits_super_packets": False, "changes": [],
    }  # fmt: skip

    def ip(node: str, *lines: str) -> list[dict[str, Any]]:
        return [{"node": node, "tool": "ip", "args": line.split()} for line in lines]

    def tc(node: str, *lines: str) -> list[dict[str, Any]]:
        return [{"node": node, "tool": "tc", "args": line.split()} for line in lines]

    setup = [
        *[
            {"node": n, "tool": "sysctl", "args": ["-w", "net.ipv6.conf.default.disable_ipv6=1"]}
            for n in ("client", "router", "path", "server")
        ],
        *ip("client", "link add eth0 type veth peer name eth0 netns router"),
        *ip("router", "link add eth1 type veth peer name eth0 netns path"),
        *ip("path", "link add eth1 type veth peer name eth0 netns server"),
    ]
    for node, ifaces in (("client", 1), ("router", 2), ("path", 2), ("server", 1)):
        for i in range(ifaces):
            setup += [
                {
                    "node": node,
                    "tool": "ethtool",
                    "args": ["-K", f"eth{i}", "tso", "off", "gso", "off", "gro", "off"],
                },
                *ip(node, f"link set eth{i} up"),
            ]
    setup += [
        *ip("client", "addr add 10.0.0.1/24 dev eth0", "route add default via 10.0.0.254"),
        *ip("router", "addr add 10.0.0.254/24 dev eth0", "addr add 10.0.1.1/24 dev eth1",
            "route add 10.0.2.0/24 via 10.0.1.254"),
        *ip("path", "addr add 10.0.1.254/24 dev eth0", "addr add 10.0.2.254/24 dev eth1",
            "route add 10.0.0.0/24 via 10.0.1.1"),
        *ip("server", "addr add 10.0.2.1/24 dev eth0", "route add default via 10.0.2.254"),
    ]  # fmt: skip
    setup += [
        {"node": n, "tool": "sysctl", "args": ["-w", "net.ipv4.ip_forward=1"]} for n in ("router", "path")
    ]
    for iface in ("eth0", "eth1"):
        setup += tc(
            "router",
            f"qdisc add dev {iface} root handle 1: htb default 11",
            f"class add dev {iface} parent 1: classid 1:11 htb rate 10mbit burst 15140 cburst 15140",
            f"qdisc add dev {iface} parent 1:11 handle 11: {queue}",
        )
        setup += tc("path", f"qdisc add dev {iface} root handle 1: netem delay 5ms limit 100000")
    plan: dict[str, Any] = {
        "format": 2,
        "experiment": "fake",
        "question": "Does the store keep what it is given?",
        "key": {"queue": queue, "seed": str(seed)},
        "seed": seed,
        "wall_clock_ns": 1767225600000000000,
        "epoch_monotonic_ns": EPOCH_NS,
        "limit_ns": end_ns + 10_000_000_000,
        "machine": {"memory_bytes": 256 * 2**20, "timer_latency": None},
        "nodes": [{"name": n, "role": n} for n in ("client", "router", "path", "server")],
        "link": {
            "rate_down_bps": rate, "rate_up_bps": rate, "base_rtt_ns": 10_000_000, "mtu_bytes": 1500,
            "line_rate_bps": None, "queue": queue, "queue_up": queue, "shaper": "htb", "shaper_up": "htb",
            "down": one, "up": one, "changes": [], "offloads": {"tso": False, "gso": False, "gro": False},
        },
        "sysctls": [],
        "needs": {"qdiscs": [["htb"], [queue], ["netem", "delay", "5ms"]], "default_ccas": []},
        "setup": setup,
        "changes": [],
        "hops": [
            {"hop": "bottleneck", "direction": "down", "node": "router", "iface": "eth0", "ingress": ["eth1"],
             "tap": tap},
            {"hop": "bottleneck", "direction": "up", "node": "router", "iface": "eth1", "ingress": ["eth0"],
             "tap": tap},
        ],
        "calibration": {
            "client": "client", "server": "server", "server_address": "10.0.2.1",
            "client_address": "10.0.0.1",
            "rtt_ns": 10_000_000, "rtt_tolerance_ns": 1_000_000, "rate_down_bps": None, "rate_up_bps": None,
            "rate_tolerance": 0.02, "rate_is_upper_bound": False,
        },
        "traffic": [
            {"id": "cross", "item": "cross", "kind": "tcp_bulk", "sender": "server", "receiver": "client",
             "receiver_address": "10.0.0.1", "port": 5201, "flows": 1, "cca": "cubic", "dscp": 0,
             "ecn": False, "bytes": None, "start_spread_ns": 0, "sample_interval_ns": None,
             "start": {"at_ns": 0}, "stop": {"at_ns": end_ns}},
            {"id": "probe", "item": "probe", "kind": "udp_probe", "client": "client", "server": "server",
             "server_address": "10.0.2.1", "port": 5301, "interval_ns": 10_000_000, "payload_bytes": 64,
             "dscp": 0, "start": {"at_ns": 0}, "stop": {"at_ns": end_ns}},
        ],
        "samplers": [],
        "captures": [],
    }  # fmt: skip
    return plan | changes


def make_plan(**options: Any) -> Plan:
    """The same, checked."""
    return Plan.from_json(json.dumps(plan_dict(**options)))


def flow_record(hop: int, flow: int, src: str, sport: int, dst: str, dport: int, protocol: int = 6) -> bytes:
    """Record type 1."""

    def address(text: str) -> bytes:
        return bytes(int(part) for part in text.split(".")).ljust(16, b"\0")

    return struct.pack(
        "<BBBBIHH16s16sI", 1, hop, protocol, 4, flow, sport, dport, address(src), address(dst), 0
    )


def packet_record(
    hop: int, t_ns: int, sojourn_ns: int, *, flow: int = 1, size: int = 1514, outcome: int = 1,
    reason: int = 0, tos_in: int = 0, tos_out: int | None = None, found: tuple[int, int] = (0, 0),
    left: tuple[int, int] = (0, 0),
) -> bytes:  # fmt: skip
    """Record type 2; t_ns is the arrival in run time, found and left are (bytes, packets)."""
    return struct.pack(
        "<BBHIQQIIIIHBBB3s",
        2, hop, size, flow, EPOCH_NS + t_ns, sojourn_ns, *found, *left, reason, outcome, tos_in,
        tos_in if tos_out is None else tos_out, b"",
    )  # fmt: skip


def totals(packets: list[bytes], hop: int) -> dict[str, int]:
    """What the agent says of one hop's records."""
    sums = dict.fromkeys(
        [
            f"{what}_{unit}"
            for what in ("arrived", "departed", "dropped", "queued")
            for unit in ("packets", "bytes")
        ]
        + ["marked_packets"],
        0,
    )
    for record in packets:
        if record[0] != 2 or record[1] != hop:
            continue
        size = struct.unpack_from("<H", record, 2)[0]
        outcome, tos_in, tos_out = record[42], record[43], record[44]
        for what in ("arrived", {1: "departed", 2: "dropped", 3: "queued"}[outcome]):
            sums[f"{what}_packets"] += 1
            sums[f"{what}_bytes"] += size
        sums["marked_packets"] += outcome == 1 and tos_out & 3 == 3 and tos_in & 3 != 3
    return sums


def default_records() -> list[bytes]:
    """Two flows down (one packet dropped, one marked, one left queued), one ACK up."""
    return [
        flow_record(0, 1, "10.0.2.1", 40000, "10.0.0.1", 5201),
        packet_record(0, -500_000_000, 0),
        packet_record(0, 1_000_000, 1_200_000, left=(1514, 1)),
        packet_record(0, 1_500_000, 2_000_000, found=(1514, 1), tos_in=2, tos_out=3),
        packet_record(0, 2_000_000, 0, outcome=2, reason=2, found=(1514, 1), left=(1514, 1)),
        flow_record(0, 2, "10.0.2.1", 5301, "10.0.0.1", 50000, protocol=17),
        packet_record(0, 15_000_000, 300_000, flow=2, size=106),
        packet_record(0, 1_990_000_000, 10_000_000, outcome=3),
        flow_record(1, 1, "10.0.0.1", 5201, "10.0.2.1", 40000),
        packet_record(1, 5_000_000, 100, size=66),
    ]


def write_raw(raw: Path, plan: Plan, records: list[bytes] | None = None, **changes: Any) -> None:
    """Raw files as an agent leaves them; `changes` replace keys of result.json."""
    raw.mkdir(parents=True, exist_ok=True)
    records = default_records() if records is None else records
    (raw / "tap.bin").write_bytes(b"".join(records))
    hops, tc, before, links_after, links_before = [], {}, {}, {}, {}
    for number, hop in enumerate(plan.hops):
        sums = totals(records, number)
        hops.append(
            {"hop": hop.hop, "direction": hop.direction, "node": hop.node, "iface": hop.iface, "tap": sums}
        )
        root = {"kind": "htb", "handle": "1:", "root": True}
        tc[hop.iface] = {"qdisc": [root | {
            "packets": sums["departed_packets"], "bytes": sums["departed_bytes"],
            "drops": sums["dropped_packets"], "qlen": sums["queued_packets"],
            "backlog": sums["queued_bytes"]}], "class": []}  # fmt: skip
        before[hop.iface] = {
            "qdisc": [root | {"packets": 0, "bytes": 0, "drops": 0, "qlen": 0, "backlog": 0}], "class": []
        }  # fmt: skip
        links_before[hop.ingress[0]] = {"rx_packets": 5, "tx_packets": 0}
        links_after[hop.ingress[0]] = {"rx_packets": 5 + sums["arrived_packets"], "tx_packets": 0}
    (raw / "probe.csv").write_text("seq,sent_ns,server_ns,received_ns\n0,0,5000000,10100000\n1,10000000,,\n")
    (raw / "cross.flows.csv").write_text(
        "flow,src,sport,dst,dport,cca,start_ns,end_ns,bytes_sent,bytes_received,bytes_acked,bytes_retrans,"
        "segs_out,segs_retrans,min_rtt_us,ended_by\n"
        "0,10.0.2.1,40000,10.0.0.1,5201,cubic,0,2000000000,2600000,2500000,2500000,26000,1800,18,10020,stop\n"
    )
    ended = {"status": "stopped", "start_ns": 0, "end_ns": 2_000_000_000, "exit_code": None}
    result = {
        "format": 1, "status": "ok", "error": None, "kernel": "7.2.12 fake", "tools": {"tc": "tc 7.2"},
        "epoch_monotonic_ns": EPOCH_NS, "end_ns": 2_000_000_000, "items": {"cross": ended, "probe": ended},
        "calibration": {"rtt_min_ns": 10_000_000, "rtt_median_ns": 10_010_000, "rtt_samples": 10,
                        "rate_down_bps": None, "rate_up_bps": None, "ok": True, "problems": []},
        "sysctls": {"client": {"net.ipv4.tcp_rmem": "4096 131072 6291456"}},
        "tc_before": {"router": before}, "tc_after": {"router": tc},
        "links_before": {"router": links_before}, "links_after": {"router": links_after}, "hops": hops,
    }  # fmt: skip
    (raw / "result.json").write_text(json.dumps(result | changes))


Behaviour = Callable[[Plan, Path, threading.Event], RunFault | None]


class FakeEngine(OneKernel):
    """An engine whose guests only write files. `behave` may break one run or wait for `stop`."""

    def __init__(self, behave: Behaviour | None = None, memory_bytes: int = 0, slots: int = 2) -> None:
        self.info = EngineInfo("fake", KERNEL, AGENT)
        self.started: list[Plan] = []
        self._behave, self._memory, self._slots = behave, memory_bytes, slots

    def check(self, plans: list[Plan]) -> None:
        """All is well."""

    def make(self, content: Content) -> None:
        """Nothing is served."""

    def memory_bytes(self, plan: Plan) -> int:
        return self._memory

    def slots(self, jobs: int | None) -> list[Slot]:
        return [Slot(i, None) for i in range(jobs or self._slots)]

    def run(self, request: RunRequest) -> Carried:
        plan, directory = request.plan, request.directory
        self.started.append(plan)
        request.progress(Progress(0, "traffic", "begins"))
        write_raw(directory / "raw", plan)
        fault = self._behave(plan, directory, request.stop) if self._behave else None
        return Carried(fault, 0.5, None, 1 << 20, 0.4, {})


def wait_for(stop: threading.Event, seconds: float = 30.0) -> None:
    """Until stopped; far longer than any test should take."""
    end = time.monotonic() + seconds
    while not stop.is_set() and time.monotonic() < end:
        stop.wait(0.05)
