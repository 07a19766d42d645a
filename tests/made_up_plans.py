"""Whole plans from the few fields a test states: what it leaves out gets a value that means nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from narrows.plan.model import Plan

SIDE: dict[str, Any] = {
    "queue": "bfifo", "queue_options": {}, "shaper": None, "shaper_options": {}, "rate_bps": None,
    "ceil_bps": None, "burst_bytes": None, "cburst_bytes": None, "delay_ns": 0, "jitter_ns": 0,
    "loss_percent": 0.0, "peak_rate_bps": None, "counted": None, "sets_own_rate": False,
    "limit_packets": None, "limit_bytes": None, "memory_limit_bytes": None, "splits_super_packets": False,
    "changes": [],
}  # fmt: skip
LINK: dict[str, Any] = {
    "rate_down_bps": None, "rate_up_bps": None, "base_rtt_ns": 0, "mtu_bytes": 1500, "line_rate_bps": None,
    "queue": "bfifo", "queue_up": "bfifo", "shaper": None, "shaper_up": None, "changes": [], "pairs": [],
    "offloads": {},
}  # fmt: skip
START = {"start": {"at_ns": 0}, "stop": None}
ITEMS: dict[str, dict[str, Any]] = {
    "tcp_bulk": {
        "sender": "server", "receiver": "client", "receiver_address": "10.0.1.1", "port": 5001, "flows": 1,
        "cca": None, "dscp": 0, "ecn": False, "bytes": None, "start_spread_ns": 0, "sample_interval_ns": None,
    } | START,
    "udp_probe": {
        "client": "client", "server": "server", "server_address": "10.0.2.1", "port": 7000,
        "interval_ns": 10_000_000, "payload_bytes": 64, "dscp": 0,
    } | START,
    "icmp_echo": {
        "client": "client", "server": "server", "server_address": "10.0.2.1", "interval_ns": 10_000_000,
        "payload_bytes": 64, "dscp": 0,
    } | START,
    "command": {
        "tool": "command", "node": "client", "argv": ["true"], "env": {}, "stop_signal": "INT",
        "ok_exits": [0], "background": False, "ready": None, "endpoints": [], "programs": [], "files": [],
        "memory_bytes": 0,
    } | START,
}  # fmt: skip
PLAN: dict[str, Any] = {
    "format": 2, "experiment": "made_up", "question": "?", "key": {}, "seed": 0, "wall_clock_ns": 0,
    "epoch_monotonic_ns": 1, "limit_ns": 1, "nodes": [], "sysctls": [], "setup": [], "changes": [],
    "needs": {"qdiscs": [], "default_ccas": []}, "hops": [],
    "traffic": [], "composites": [], "samplers": [], "captures": [],
    "calibration": {
        "client": "client", "server": "server", "server_address": "10.0.2.1", "client_address": "10.0.1.1",
        "rtt_ns": 0, "rtt_tolerance_ns": 0, "rate_down_bps": None, "rate_up_bps": None, "rate_tolerance": 0.0,
        "rate_is_upper_bound": False, "others": [],
    },
}  # fmt: skip


def whole(fields: Mapping[str, Any]) -> Plan:
    """A plan with these fields; numbers may be floats where a plan has whole ones."""
    link = LINK | fields.get("link", {})
    sides = {way: SIDE | link.get(way, {}) for way in ("down", "up")}
    machine = {"memory_bytes": 2**29, "timer_latency": None} | fields.get("machine", {})
    traffic = [_item(item) for item in fields.get("traffic", [])]
    composites = [{"tool": "x", "options": {}, "in_turn": {}} | one for one in fields.get("composites", [])]
    made = fields | {"link": link | sides, "machine": machine, "traffic": traffic, "composites": composites}
    return Plan.from_json(json.dumps(_plain(PLAN | made)), where="a test")


def _item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Of the item's kind; what another kind has, as a test's helper may give it to all, is left out."""
    known = ITEMS[item["kind"]]
    return (
        {"item": item["id"]}
        | known
        | {k: v for k, v in item.items() if k in known or k in ("id", "item", "kind")}
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value >= 1e6 and value.is_integer() else value
