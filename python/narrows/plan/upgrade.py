"""Upgrades the JSON of plans of earlier formats, so that old results stay readable.

Format 1 left what it knew in its commands, and readers took those apart. The parsing that they did is kept
here, and nowhere else: what is read from an old plan is what was read before. Plans in `evidence/` are such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

EARLIER_FORMATS = (1,)
BROWSER_BYTES = 2048 * 2**20
IPERF3_PORT = 5201
HTTP_PORTS = {"ws": 80, "http": 80, "wss": 443, "https": 443}
CCA = "net.ipv4.tcp_congestion_control"
PINNED = {
    "net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1",
    "net.ipv4.conf.all.rp_filter": "0", "net.ipv4.conf.default.rp_filter": "0", "net.ipv4.ip_forward": "1",
    "net.ipv4.conf.all.send_redirects": "0", "net.ipv4.conf.default.send_redirects": "0",
    "net.ipv4.ip_default_ttl": "64", "net.ipv4.ip_local_port_range": "32768 60999",
    "net.ipv4.tcp_autocorking": "1", "net.ipv4.tcp_comp_sack_delay_ns": "1000000",
    "net.ipv4.tcp_comp_sack_nr": "44", CCA: "cubic", "net.ipv4.tcp_dsack": "1",
    "net.ipv4.tcp_early_retrans": "3",
    "net.ipv4.tcp_ecn": "2", "net.ipv4.tcp_ecn_fallback": "1", "net.ipv4.tcp_fastopen": "1",
    "net.ipv4.tcp_frto": "2", "net.ipv4.tcp_limit_output_bytes": "4194304",
    "net.ipv4.tcp_max_reordering": "300", "net.ipv4.tcp_min_rtt_wlen": "300",
    "net.ipv4.tcp_min_tso_segs": "2", "net.ipv4.tcp_moderate_rcvbuf": "1", "net.ipv4.tcp_mtu_probing": "0",
    "net.ipv4.tcp_no_metrics_save": "1", "net.ipv4.tcp_notsent_lowat": "4294967295",
    "net.ipv4.tcp_pacing_ca_ratio": "120", "net.ipv4.tcp_pacing_ss_ratio": "200",
    "net.ipv4.tcp_recovery": "1", "net.ipv4.tcp_reordering": "3", "net.ipv4.tcp_rmem": "4096 131072 33554432",
    "net.ipv4.tcp_sack": "1", "net.ipv4.tcp_slow_start_after_idle": "1", "net.ipv4.tcp_timestamps": "1",
    "net.ipv4.tcp_tso_win_divisor": "3", "net.ipv4.tcp_window_scaling": "1",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
}  # fmt: skip
"""What every run of format 1 pinned, whatever it asked for."""
_URL = re.compile(r"\b(wss?|https?)://(\[[0-9a-fA-F:]+\]|[0-9.]+)(?::(\d+))?")
_HOST_PORT = re.compile(r"(?<![\d.])((?:\d{1,3}\.){3}\d{1,3}):(\d+)")
_NUMBER = re.compile(r"([\d.]+)([A-Za-z%]*)")
_UNITS = {"": 1, "bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9, "Tbit": 10**12}
_UNITS |= {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


def upgraded(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan of an earlier format as one of today's. What is not a plan is left for the model to refuse."""
    try:
        return _of_format_1(plan)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return dict(plan)


def _of_format_1(plan: Mapping[str, Any]) -> dict[str, Any]:
    composites = [{**one, "in_turn": _in_turn(one)} for one in plan.get("composites") or ()]
    owners = _owners(plan)
    return {
        **plan,
        "format": 2,
        "link": (link := _link(plan)),
        **_moving(link),
        "sysctls": _asked_for(plan),
        "needs": {"qdiscs": _qdiscs(plan), "default_ccas": _default_ccas(plan)},
        "traffic": [_item(item, owners[item["id"]]) for item in plan["traffic"]],
        "composites": composites,
    }


# ---- items -----------------------------------------------------------------------------------------------


def _item(item: Mapping[str, Any], owner: str) -> dict[str, Any]:
    made = {**item, "item": owner}
    if item["kind"] != "command":
        return made
    argv = item["argv"]
    ours = argv[0] == "@agent"
    named = [word for switch, word in pairwise(argv) if switch == "--browser" or (ours and switch == "--")]
    made["programs"] = named if ours else [argv[0], *named]
    made["memory_bytes"] = BROWSER_BYTES if "--browser" in argv else 0
    made["files"] = []
    made["endpoints"] = [
        {"protocol": protocol, "address": address, "port": port}
        for address, port in _command_ends(item)
        for protocol in ("tcp", "udp")
    ]
    return made


def _owners(plan: Mapping[str, Any]) -> dict[str, str]:
    """Item of the plan → item of the experiment: of a server its client, of a part its tool, of the flows of
    a further sender the first."""
    ids = {item["id"] for item in plan["traffic"]}
    whole = {part: one["id"] for one in plan.get("composites") or () for part in one["parts"]}
    found = {}
    for item in plan["traffic"]:
        own = item["id"]
        client, head = own.removesuffix("-server"), own.rpartition(".")[0]
        if item["kind"] == "command" and item["background"] and client in ids:
            own = client
        elif item["kind"] == "tcp_bulk" and head in ids and own.rpartition(".")[2].isdigit():
            own = head
        found[item["id"]] = whole.get(own, own)
    return found


def _in_turn(composite: Mapping[str, Any]) -> dict[str, str]:
    named = {way: f"{composite['id']}.{way}" for way in ("down", "up")}
    return {way: part for way, part in named.items() if part in composite["parts"]}


def _command_ends(item: Mapping[str, Any]) -> list[tuple[str, int]]:
    argv = item["argv"]
    found = [
        (host.strip("[]"), int(port) if port else HTTP_PORTS[scheme])
        for scheme, host, port in _URL.findall(" ".join(argv))
    ]
    found += [(host, int(port)) for host, port in _HOST_PORT.findall(" ".join(argv))]
    if item["tool"] in ("iperf3", "iperf3-server", "capacity_test"):
        port = int(_option(argv, "-p", "--port") or IPERF3_PORT)
        address = _option(argv, "-c", "--client") or _option(argv, "-B", "--bind")
        if address:
            found.append((address, port))
    if item["ready"] is not None:
        host, _, ready = item["ready"]["tcp"].rpartition(":")
        found.append((host.strip("[]"), int(ready)))
    return sorted(set(found))


def _option(argv: list[str], *names: str) -> str | None:
    for index, word in enumerate(argv):
        for option in names:
            if word == option and index + 1 < len(argv):
                return argv[index + 1]
            if option.startswith("--") and word.startswith(option + "="):
                return word.partition("=")[2]
    return None


# ---- set-up ----------------------------------------------------------------------------------------------


def _sysctls(plan: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    made: dict[str, dict[str, str]] = {}
    for step in plan["setup"]:
        if step["tool"] == "sysctl":
            name, _, value = step["args"][1].partition("=")
            made.setdefault(step["node"], {})[name.strip()] = value.strip()
    return made


def _asked_for(plan: Mapping[str, Any]) -> list[dict[str, str]]:
    """What is neither pinned nor what Dumbbells had set for their many flows."""
    found = []
    for node, own in _sysctls(plan).items():
        largest = own.get("net.ipv4.tcp_wmem", "").rpartition(" ")[2]
        sized = {
            "net.ipv4.tcp_rmem": f"4096 {6 * 2**20} {largest}",
            "net.ipv4.tcp_wmem": f"4096 16384 {largest}",
            "net.core.somaxconn": "65535",
            "net.ipv4.tcp_max_syn_backlog": "65535",
        }
        found += [
            {"node": node, "name": name, "value": value}
            for name, value in own.items()
            if value not in (PINNED.get(name), sized.get(name))
        ]
    return found


def _default_ccas(plan: Mapping[str, Any]) -> list[str]:
    return sorted({own[CCA] for own in _sysctls(plan).values() if CCA in own})


def _tc(plan: Mapping[str, Any]) -> Iterator[tuple[int | None, str, list[str]]]:
    """Time (None: before the epoch), node and arguments of every `tc` command."""
    for step in plan["setup"]:
        if step["tool"] == "tc":
            yield None, step["node"], step["args"]
    for change in plan.get("changes") or ():
        if change["tool"] == "tc":
            yield change["at_ns"], change["node"], change["args"]


def _qdiscs(plan: Mapping[str, Any]) -> list[list[str]]:
    found = []
    for _, _, args in _tc(plan):
        if args[:1] != ["qdisc"] or args[1:2] not in (["add"], ["replace"], ["change"]):
            continue
        words = _after_place(args)
        if words and words not in found:
            found.append(words)
    return found


def _after_place(args: list[str]) -> list[str]:
    """Kind and options, behind the words that say where."""
    words = list(args[2:])
    while words and words[0] in ("dev", "parent", "handle", "classid", "root"):
        del words[: 1 if words[0] == "root" else 2]
    return words


def _offloads(plan: Mapping[str, Any]) -> dict[str, bool]:
    for step in plan["setup"]:
        if step["tool"] == "ethtool":
            return {name: on == "on" for name, on in zip(step["args"][2::2], step["args"][3::2], strict=True)}
    return {}


# ---- the link --------------------------------------------------------------------------------------------


def _link(plan: Mapping[str, Any]) -> dict[str, Any]:
    link = plan["link"]
    ways = {way: _direction(plan, link[way], way) for way in ("down", "up")}
    return {**link, **ways, "offloads": _offloads(plan)}


def _direction(plan: Mapping[str, Any], way: Mapping[str, Any], name: str) -> dict[str, Any]:
    queue, words = way["queue"], way["queue_options"]
    limit = _whole(words.get("limit"))
    in_bytes = queue in ("bfifo", "red")
    keeps = {"cake": "no-split-gso", "dualpi2": "no_split_gso"}.get(queue)
    peak = way["shaper_options"].get("peakrate")
    return {
        **way,
        "peak_rate_bps": None if peak is None else _value(peak),
        "counted": _counted(way),
        "sets_own_rate": way["shaper"] == "cake" and "autorate-ingress" in words,
        "limit_packets": None if in_bytes else limit,
        "limit_bytes": limit if in_bytes else None,
        "memory_limit_bytes": _whole(words.get("memory_limit", words.get("memlimit"))),
        "splits_super_packets": keeps is not None and keeps not in words,
        "changes": list(_changes(plan, way, name)),
    }


def _moving(link: Mapping[str, Any]) -> dict[str, Any]:
    """The truth of the rate where commands changed it; nothing where it stayed."""
    steps: dict[str, list[dict[str, int]]] = {}
    for name in ("down", "up"):
        rates = [(0, link[name]["rate_bps"])]
        rates += [(each["at_ns"], each["rate_bps"]) for each in link[name]["changes"]]
        changed = [
            one for n, one in enumerate(rates) if one[1] is not None and (not n or one[1] != rates[n - 1][1])
        ]
        steps[name] = [{"at_ns": at, "rate_bps": bps} for at, bps in changed] if len(changed) > 1 else []
    return {"moving": {"shapers": [], **steps}} if any(steps.values()) else {}


def _counted(way: Mapping[str, Any]) -> dict[str, Any] | None:
    if way["shaper"] is None:
        return None
    words = way["shaper_options"] if way["shaper"] in ("htb", "tbf") else way["queue_options"]
    cells = "atm" if words.get("linklayer") in ("atm", "adsl") or "atm" in words else "none"
    return {
        "of": "ip" if way["shaper"] == "cake" and "overhead" in words else "frame",
        "overhead_bytes": int(words.get("overhead", 0)),
        "mpu_bytes": int(words.get("mpu", 0)),
        "cells": "ptm" if "ptm" in words else cells,
    }


def _changes(plan: Mapping[str, Any], way: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """The direction after each time at which a command changed it."""
    fields = ("rate_bps", "ceil_bps", "burst_bytes", "cburst_bytes", "delay_ns", "jitter_ns", "loss_percent")
    state = {field: way[field] for field in fields}
    roles = {node["name"]: node["role"] for node in plan["nodes"]}
    bottleneck = {(hop["node"], hop["iface"]) for hop in plan["hops"] if hop["direction"] == name}
    others = {(hop["node"], hop["iface"]) for hop in plan["hops"]} - bottleneck
    by_time: dict[int, dict[str, Any]] = {}
    for at_ns, node, args in _tc(plan):
        place = (node, args[args.index("dev") + 1]) if "dev" in args else (node, "")
        if at_ns is None or place in others:
            continue
        words = _after_place(args)
        if place in bottleneck:
            state = {**state, **_shaped(words, way)}
        # The path's first interface is the one towards the bottleneck; a Dumbbell has none of its own.
        elif words[:1] == ["netem"] and name == (
            "down" if roles.get(node) == "path" and place[1] == "eth0" else "up"
        ):
            state = {**state, **_netem(words)}
        else:
            continue
        by_time[at_ns] = {"at_ns": at_ns, **state}
    yield from by_time.values()


def _shaped(words: list[str], way: Mapping[str, Any]) -> dict[str, Any]:
    options = dict(pairwise(words))
    if words[:1] not in (["htb"], ["tbf"]):
        return {"rate_bps": _value(options["bandwidth"])}
    found: dict[str, Any] = {"rate_bps": _value(options["rate"])}
    if words[0] == "htb":
        found["ceil_bps"] = _value(options["ceil"])
    for name in ("burst", "cburst"):
        if way[f"{name}_bytes"] is not None:
            found[f"{name}_bytes"] = _value(options[name])
    return found


def _netem(words: list[str]) -> dict[str, Any]:
    at = words.index("delay") + 1
    after = words[at + 1 : at + 2]
    has_jitter = bool(after) and after[0] not in ("loss", "rate")
    loss = float(words[words.index("random") + 1].removesuffix("%")) if "random" in words else 0.0
    return {
        "delay_ns": _value(words[at]),
        "jitter_ns": _value(after[0]) if has_jitter else 0,
        "loss_percent": loss,
    }


def _value(text: str) -> int:
    """A rate in bit/s, a time in ns, a size in bytes."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return round(float(found[1]) * _UNITS[found[2]])


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
