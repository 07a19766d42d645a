"""A QUIC stack: what it should do, one short run a case, and what its tables say of it."""

import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from narrows.checks import table
from narrows.engine import layout
from narrows.engine.uml import guest_path
from narrows.plan.build import plan_experiment
from narrows.plan.model import Plan
from narrows.spec import Link, command, fq_codel, pfifo, quic, tap
from narrows.spec.load import made
from narrows.tools.quic.stack import Stack

BYTES = 10_000_000
ENOUGH = 0.8
"""The share of the link's rate that a flow alone with a queue of 1 BDP should have."""
RATES = (("0.1", 20, 10), ("1", 10, 10), ("10", 5, 33), ("100", 5, 330), ("300", 5, 1000))
"""Mbit/s, how long, and the queue's limit in packets."""
NEW_ADDRESS = "10.0.0.9"
NEIGHBOUR = f"ip neighbour add {NEW_ADDRESS} lladdr 02:00:00:00:00:01 dev eth0 nud permanent"
"""As the plan has all others: no packet of ARP is the flow's."""
MOVE = f"""set -e
port=$((0x$(awk 'FNR > 1 {{split($2, at, ":"); print at[2]; exit}}' /proc/net/udp /proc/net/udp6)))
ip address add {NEW_ADDRESS}/32 dev eth0
nft -f - <<END
table ip moved {{
 chain out {{
  type filter hook output priority 0; udp dport 4433 ip saddr set {NEW_ADDRESS} udp sport set 61001
 }}
 chain in {{
  type filter hook prerouting priority 0; udp sport 4433 ip daddr set 10.0.0.1 udp dport set $port
 }}
}}
END"""


@dataclass(frozen=True)
class Seen:
    """What a run's tables say."""

    metrics: pl.DataFrame
    flows: pl.DataFrame
    seconds: float

    def value(self, name: str, way: str, hop: str | None = None) -> float | None:
        """A figure of the item or of its packets at a hop, if there is one."""
        own = self.metrics.filter(quantity=name, direction=way, item="mine")
        rows = own.filter(pl.col("hop").eq_missing(pl.lit(hop)), pl.col("part").is_null())
        return None if rows.is_empty() else float(rows["value"][0])


Judged = tuple[str, str]
"""`ok`, `lacks` or `fails`, and why."""


@dataclass(frozen=True)
class Case:
    """One thing that a stack should do."""

    name: str
    about: str
    options: Mapping[str, Any]
    judge: Callable[[Seen], Judged]
    way: str = "down"
    rate: str = "20 Mbit/s"
    limit: int | None = 66
    """Packets of the queue; None: FQ-CoDel, which marks."""
    link: Mapping[str, Any] = field(default_factory=dict)
    moves: bool = False
    """The client's address changes behind its back, as of a NAT."""

    def plan(self, stack: str, cca: str | None) -> Plan:
        """Its run; the stack by its name or absolute path."""

        def parts() -> dict[str, Any]:
            queue = fq_codel() if self.limit is None else pfifo(limit=self.limit)
            own = dict(self.options) if cca is None else {**self.options, "cca": cca}
            named: dict[str, Any] = {
                "link": Link(rate=self.rate, base_rtt="40 ms", queue=queue, **self.link),
                "mine": quic(stack, **own, start_jitter="0 s"),
            }
            if self.moves:
                named["known"] = command(NEIGHBOUR, node="router", start="1 s")
                named["move"] = command(["sh", "-c", MOVE], node="client", start="1500 ms")
            tap(detail="summary")
            return named

        return plan_experiment(made("quic_check", f"Can the stack do this: {self.about}?", parts)).plans[0]

    def lacks(self, one: Stack) -> str | None:
        """Why it cannot be tried with a stack."""
        if self.way not in one.ways:
            return f"it goes {', '.join(one.ways)} only"
        if "duration" not in self.options and not any(map(one.has, ("bytes", "size", "part"))):
            return "no @bytes in its words"
        if self.moves and shutil.which("nft", path=guest_path(None)) is None:
            return "not tried: nft is not installed here (apt-get install nftables)"
        return None

    def judged(self, run: Path) -> Judged:
        span = ((layout.read_manifest(run) or {}).get("items") or {}).get("mine") or {}
        seconds = (span.get("end_ns", 0) - span.get("start_ns", 0)) / 1e9
        return self.judge(Seen(table(run, "metrics"), table(run, "flows"), seconds))


def _whole(bytes_: int, way: str) -> Callable[[Seen], Judged]:
    def judge(seen: Seen) -> Judged:
        got = seen.value("quic_bytes", way)
        passed = seen.value("tap_departed_bytes", way, "bottleneck/mine") or 0.0
        if (passed if got is None else got) < bytes_:
            return "fails", f"{got or passed:.0f} bytes came, not {bytes_}"
        lost = seen.value("quic_lost_packets", way)
        said = "" if lost is None else f", {lost:.0f} packets lost by its count"
        return "ok", f"{bytes_} bytes in {seen.seconds:.2f} s{said}"

    return judge


def _marks(seen: Seen) -> Judged:
    hop = "bottleneck"
    all_, ect0, ect1, marked = (
        seen.value(name, "down", hop) or 0.0
        for name in ("tap_arrived", "tap_arrived_ect0", "tap_arrived_ect1", "tap_marked")
    )
    if not ect0 + ect1:
        return "lacks", f"none of {all_:.0f} packets is ECN-capable"
    lost = seen.value("tap_dropped", "down", hop) or 0.0
    which = "ECT(1)" if ect1 > ect0 else "ECT(0)"
    return "ok", f"{100 * (ect0 + ect1) / all_:.0f} % {which}, {marked:.0f} marked, {lost:.0f} dropped"


def _moved(seen: Seen) -> Judged:
    if not seen.flows["label"].cast(pl.String).str.contains(NEW_ADDRESS).any():
        return "fails", "no packet had the new address"
    return _whole(BYTES, "down")(seen)


def _filled(rate_bps: float) -> Callable[[Seen], Judged]:
    def judge(seen: Seen) -> Judged:
        rate = seen.value("quic_goodput_bps", "down") or seen.value("quic_tap_bps", "down") or 0.0
        said = f"{rate / 1e6:.3g} Mbit/s, {100 * rate / rate_bps:.0f} %"
        return ("ok" if rate >= ENOUGH * rate_bps else "fails"), said

    return judge


def cases() -> dict[str, Case]:
    """All, by their names, in the order in which they are told."""
    whole = {"bytes": f"{BYTES} B", "time_limit": "120 s"}
    found = [
        Case("handshake", "a kilobyte", {"bytes": "1 kB", "time_limit": "20 s"}, _whole(1000, "down")),
        Case("down", "10 MB down", whole, _whole(BYTES, "down")),
        Case("up", "10 MB up", {**whole, "direction": "up"}, _whole(BYTES, "up"), way="up"),
        Case("loss", "10 MB at 1 % loss", whole, _whole(BYTES, "down"), link={"loss": "1 %"}),
        Case("ecn", "marks in place of drops", {"duration": "5 s"}, _marks, limit=None),
        Case("migration", "the client's address changes", {**whole, "port": 4433}, _moved, moves=True),
    ]
    for rate, seconds, packets in RATES:
        judge, length = _filled(float(rate) * 1e6), {"duration": f"{seconds} s"}
        rated = Case(f"rate {rate}", f"{rate} Mbit/s", length, judge, rate=f"{rate} Mbit/s", limit=packets)
        found.append(rated)
    return {case.name: case for case in found}


def equal(runs: list[Path]) -> Judged:
    """Whether one plan's runs are the same: every packet at the same time."""
    digests = {hashlib.sha256((run / "queue.parquet").read_bytes()).hexdigest() for run in runs}
    return ("ok", "equal to the byte") if len(digests) == 1 else ("fails", "other packets, or other times")
