"""Rows of `make bench` about many flows: 1 to 5000 of each CCA beside ns-3, cost per packet, memory.

Ours are Dumbbells made by the spec, with the taps that CoreScale has on: what a user runs is what is timed.
ns-3 has the same rate, buffer, base RTT, flows and start, the same three nodes, and no traces.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from measure import NS, BenchError, Cost, PeakMemory, Spread, cost_of, guest, program, wall_per_virtual_s
from rows import Bench, Row, ns3_program

from narrows.engine import layout
from narrows.engine.types import Progress
from narrows.plan.build import plan_file
from narrows.plan.model import Plan
from narrows.store import tap

CCAS = {"reno": "TcpLinuxReno", "cubic": "TcpCubic", "bbr": "TcpBbr"}
SHOWN = {"reno": "NewReno", "cubic": "CUBIC", "bbr": "BBR"}
CORE_S_PER_VIRTUAL_S = 1.5
CORE_RATIO = 60.0
LINEAR_RATIO = 1.3
STEADY_FROM_S = 5.0
LINEAR_S = 10.0
STEADY_NS3_S = 2.0
"""How long ns-3 is watched after that; all of it takes about ten minutes."""
MEMORY_MIB = 4096.0
PEAK_INTERVAL_S = 0.5
"""Looking at memory walks the guest's page tables: not too often in a run that is timed."""
NS3_BUFFER_BYTES = 6 << 20
NS3_LONE_BUFFER_BYTES = 128 << 20
"""ns-3's buffers do not grow: a lone flow is to fill the bottleneck's, as it does in Linux."""


@dataclass(frozen=True)
class Case:
    """A bottleneck and who shares it."""

    flows: int
    cca: str
    rate_gbps: int
    seconds: float
    rtt_ms: int = 20
    late: bool = False
    """Timers 10 to 30 µs late: the bottleneck sends about twenty packets at once."""

    @property
    def buffer_bytes(self) -> int:
        """300 ms, as everywhere in CoreScale."""
        return 37_500_000 * self.rate_gbps

    @property
    def name(self) -> str:
        """For people."""
        flows = "1 flow" if self.flows == 1 else f"{self.flows} flows"
        late = ", late timers" if self.late else ""
        return f"{flows}, {SHOWN[self.cca]}, {self.rate_gbps} Gbit/s, {self.seconds:g} virtual s{late}"

    def plan(self) -> Plan:
        """Ours."""
        shaper, machine = "", ""
        if self.late:
            shaper = '    shaper=htb(burst="64 KB", cburst="64 KB"),\n'
            machine = 'machine(timer_latency=("10 us", "30 us"))\n'
        text = f'''"""What do many flows cost?"""
from narrows.spec import *
link = Dumbbell(
    rate="{self.rate_gbps} Gbit/s",
    queue=bfifo(limit="{self.buffer_bytes} B"),
{shaper}    pairs=[pair("{self.rtt_ms} ms")],
)
{machine}flows = bulk(
    cca="{self.cca}", flows={self.flows}, duration="{round(self.seconds * 1000)} ms", start_jitter="0 s"
)
tap("drops", interval="100 ms")
flow_tap()
sample(tcp_info=None, qdisc=None, link=None)
'''
        with tempfile.TemporaryDirectory(prefix="narrows-bench-") as folder:
            file = Path(folder) / "bench_flows.py"
            file.write_text(text)
            (plan,) = plan_file(file).plans
        return plan

    def ns3(self, wall_limit_s: float, from_s: float = 0.0) -> list[str]:
        """The arguments of `ns3_dumbbell`; its `late_…` numbers count from `from_s` on."""
        buffer = NS3_LONE_BUFFER_BYTES if self.flows == 1 else NS3_BUFFER_BYTES
        return [
            f"--flows={self.flows}", f"--seconds={self.seconds}", f"--rate={self.rate_gbps}Gbps",
            f"--rtt={self.rtt_ms}ms", f"--queue={self.buffer_bytes}B", f"--cca={CCAS[self.cca]}",
            f"--buffer={buffer}", "--path=false", f"--wall_limit={wall_limit_s}", f"--from={from_s}",
        ]  # fmt: skip


@dataclass(frozen=True)
class Ours:
    """One run of narrows."""

    cost: Cost
    packets: int
    dropped: int
    traffic_s: float | None
    """Wall time per virtual second between two lines of progress, without boot and end; None: too short."""
    pss_mib: float | None
    """Peak; None: not looked at, which on the guest's own core costs over one per cent of the time."""
    late_packets_per_s: float | None
    """Packets that left per virtual second, from `from_s` until the flows end; None: they end before."""

    @property
    def us_per_packet(self) -> float:
        return self.cost.wall_s * 1e6 / self.packets

    @property
    def late_us_per_packet(self) -> float | None:
        """From `from_s` until the flows end; None: too short."""
        if self.traffic_s is None or not self.late_packets_per_s:
            return None
        return self.traffic_s * 1e6 / self.late_packets_per_s


def cases(seconds: float | None = None) -> dict[str, Case]:
    """By the name of their row; `seconds` is instead of their own virtual time."""
    made = {}
    for flows, rate_gbps, own in ((1, 1, 4.0), (100, 1, 4.0), (1000, 10, 3.0), (5000, 10, 3.0)):
        for cca in CCAS:
            made[f"flows-{flows}-{cca}"] = Case(flows, cca, rate_gbps, seconds or own)
    return made


def run(bench: Bench, case: Case, from_s: float = 0.0, *, watch_memory: bool = False) -> Ours:
    """From before the boot until after the power-off; `traffic_s` is of the time after `from_s`."""
    plan = case.plan()
    stamps: list[tuple[int, float]] = []
    kept: dict[str, Any] = {}

    def keep(directory: Path) -> None:
        kept.update(json.loads((directory / layout.RAW / layout.RESULT).read_text()))
        intervals = tap.read(directory / layout.RAW / layout.TAP).intervals
        t_ns = intervals["start_ns"].astype(int) - kept["epoch_monotonic_ns"]
        late = (t_ns >= from_s * NS) & (t_ns < case.seconds * NS)  # then the queue drains
        kept["late_packets"] = int(intervals["departed_packets"][late].sum(dtype=int))

    def look(progress: Progress) -> None:
        stamps.append((progress.t_ns, time.monotonic()))

    peak = PeakMemory(PEAK_INTERVAL_S) if watch_memory else None
    with peak or nullcontext():
        cost = cost_of(lambda: guest(bench.engine, plan, bench.cpu, keep, look))
    (hop,) = kept["hops"]
    seen = hop["tap"]
    return Ours(
        cost,
        seen["departed_packets"],
        seen["dropped_packets"],
        wall_per_virtual_s(stamps, from_s, case.seconds),
        peak.pss_bytes / 2**20 if peak else None,
        kept["late_packets"] / (case.seconds - from_s) if case.seconds > from_s else None,
    )


def beside_ns3(bench: Bench, case: Case, *, ns3_repeats: int, ns3_limit_s: float) -> list[Row]:
    """Wall time per virtual second and per packet of one case, ns-3's beside it, in turns."""
    theirs: list[tuple[Cost, dict[str, Any]]] = []
    ours: list[Ours] = []
    missing = ""
    try:
        yardstick = str(ns3_program(bench))
    except BenchError as error:
        yardstick, missing = "", f"no ns-3: {error}"
    for i in range(bench.repeats):
        if yardstick and i < ns3_repeats:
            bench.say(f"ns-3: {case.name}, {i + 1} of {ns3_repeats}")
            shown: dict[str, Any] = {}
            words = [yardstick, *case.ns3(ns3_limit_s)]
            cost = cost_of(lambda w=words, s=shown: s.update(program(w, bench.cpu)))  # type: ignore[misc]
            theirs.append((cost, shown))
        bench.say(f"narrows: {case.name}, {i + 1} of {bench.repeats}")
        ours.append(run(bench, case, watch_memory=True))
    whole = Spread.of([o.cost.wall_s / case.seconds for o in ours])
    packet = Spread.of([o.us_per_packet for o in ours])
    slopes = [o.traffic_s for o in ours if o.traffic_s is not None]
    per_second = Spread.of(slopes) if len(slopes) == len(ours) else None
    note = (
        f"µs of wall per packet {packet.text()}; {ours[-1].packets} packets, {ours[-1].dropped} dropped; "
        f"with boot and end {whole.text()} s per virtual second; "
        f"peak PSS {max(o.pss_mib or 0 for o in ours):.0f} MiB"
    )
    numbers: dict[str, Any] = {"case": asdict(case), "narrows": [asdict(o) for o in ours]}
    ratio = None
    if theirs:
        ns3_packet = Spread.of([c.wall_s * 1e6 / s["forwarded_packets"] for c, s in theirs])
        ns3_second = Spread.of([c.wall_s / s["virtual_s"] for c, s in theirs])
        ratio = ns3_packet.median / packet.median
        came = min(s["virtual_s"] for _, s in theirs)
        short = f" (stopped at {came:g} virtual s)" if came < case.seconds * 0.999 else ""
        note += (
            f"; ns-3 {ns3_packet.text()} µs per packet, {ns3_second.text()} s per virtual second{short}, "
            f"{theirs[-1][1]['forwarded_packets']} packets, {theirs[-1][1]['dropped_packets']} dropped: "
            f"narrows is {ratio:.1f} × per packet, "
            f"{ns3_second.median / whole.median:.1f} × per virtual second"
        )
        numbers["ns3"] = [asdict(c) | s for c, s in theirs]
        numbers["ratio_per_packet"] = ratio
    else:
        note += f"; {missing or 'ns-3 not run'}"
    measured = f"{whole.text()} s per virtual s with boot and end (too short for less)"
    if per_second is not None:
        measured = f"{per_second.text()} s per virtual s"
    measured += f", {packet.median:.2f} µs per packet"
    measured += f", {ratio:.1f} × ns-3" if ratio is not None else ""
    if (case.flows, case.cca) != (1000, "reno"):
        return [Row(case.name, "said, not judged", measured, None, note, numbers)]
    beats = ratio is not None and ratio >= CORE_RATIO
    return [
        Row(
            f"{case.name}: wall s per virtual s",
            f"≤ {CORE_S_PER_VIRTUAL_S} s",
            "not measured: too short" if per_second is None else per_second.text(),
            per_second is not None and per_second.median <= CORE_S_PER_VIRTUAL_S,
            note,
            numbers,
        ),
        Row(
            f"{case.name}: ns-3 / narrows, per packet",
            f"≥ {CORE_RATIO:.0f} ×",
            "not measured" if ratio is None else f"{ratio:.1f} ×",
            beats,
            "the numbers of the row above",
        ),
    ]


def steady(bench: Bench, seconds: float | None, ns3_repeats: int, ns3_limit_s: float) -> list[Row]:
    """What a virtual second of a long run at CoreScale costs once slow start's overshoot is over. In turns
    with late timers, which are cheaper, and another experiment (the README of the study), and with ns-3."""
    two = {late: Case(1000, "reno", 10, seconds or 15.0, late=late) for late in (False, True)}
    runs: dict[bool, list[Ours]] = {late: [] for late in two}
    theirs: list[dict[str, Any]] = []
    missing = ""
    for i in range(bench.repeats):
        for late, case in two.items():
            bench.say(f"long run: {case.name}, {i + 1} of {bench.repeats}")
            runs[late].append(run(bench, case, STEADY_FROM_S))
        if i < ns3_repeats and not missing:
            bench.say(f"ns-3: {two[False].name}, {i + 1} of {ns3_repeats}")
            try:
                theirs.append(steady_ns3(bench, two[False], ns3_limit_s))
            except BenchError as error:
                missing = f"no ns-3: {error}"
    slopes = {late: [o.traffic_s for o in each if o.traffic_s is not None] for late, each in runs.items()}
    numbers = {("late" if late else "exact"): [asdict(o) for o in each] for late, each in runs.items()}
    name = f"{two[False].name}: wall s per virtual s from {STEADY_FROM_S:g} s on"
    target = f"≤ {CORE_S_PER_VIRTUAL_S} s"
    if any(len(slopes[late]) < len(runs[late]) for late in two):
        return [Row(name, target, "not measured", False, "the runs end too early", numbers)]
    cost = {late: Spread.of(each) for late, each in slopes.items()}
    whole = {
        late: Spread.of([o.cost.wall_s / two[late].seconds for o in each]) for late, each in runs.items()
    }
    row = Row(
        name,
        target,
        cost[False].text(),
        cost[False].median <= CORE_S_PER_VIRTUAL_S,
        f"whole, with boot, slow start and end {whole[False].text()}; timers 10 to 30 µs late: "
        f"{cost[True].text()}, whole {whole[True].text()}; {runs[False][-1].packets} and "
        f"{runs[True][-1].packets} packets",
        numbers,
    )
    return [row, steady_beside_ns3(two[False], runs[False], theirs, missing)]


def steady_ns3(bench: Bench, case: Case, limit_s: float) -> dict[str, Any]:
    """What ns-3 printed about the same work, watched for `STEADY_NS3_S` after the same virtual time."""
    short = replace(case, seconds=STEADY_FROM_S + STEADY_NS3_S)
    shown = program([str(ns3_program(bench)), *short.ns3(limit_s, STEADY_FROM_S)], bench.cpu)
    if not shown["late_packets"]:
        raise BenchError(f"it was stopped after {limit_s:g} s at {shown['virtual_s']:g} virtual s")
    return shown


def steady_beside_ns3(case: Case, ours: list[Ours], theirs: list[dict[str, Any]], missing: str) -> Row:
    """Per packet: should a link not be full, it is not flattered by that."""
    name = f"{case.name}: ns-3 / narrows, per packet, from {STEADY_FROM_S:g} s on"
    target = f"≥ {CORE_RATIO:.0f} ×"
    packet_us = [o.late_us_per_packet for o in ours if o.late_us_per_packet is not None]
    if not theirs or len(packet_us) < len(ours):
        return Row(name, target, "not measured", False, missing or "no packet left after that")
    ns3_us = [shown["late_wall_s"] * 1e6 / shown["late_packets"] for shown in theirs]
    ratio = statistics.median(ns3_us) / statistics.median(packet_us)
    pairs = [b / a for a, b in zip(packet_us, ns3_us, strict=False)]
    per_s = Spread.of([shown["late_wall_s"] / shown["late_virtual_s"] for shown in theirs])
    before_s = Spread.of([(shown["run_wall_s"] - shown["late_wall_s"]) / STEADY_FROM_S for shown in theirs])
    return Row(
        name,
        target,
        f"{ratio:.1f} × (pairs {min(pairs):.1f}–{max(pairs):.1f})",
        ratio >= CORE_RATIO,
        f"µs per packet: ns-3 {Spread.of(ns3_us).text(1)} and narrows {Spread.of(packet_us).text()}; ns-3 "
        f"wall s per virtual s {per_s.text(1)} over {theirs[-1]['late_virtual_s']:g} virtual s, before that "
        f"{before_s.text(1)}",
        {"ns-3": theirs},
    )


def linear(bench: Bench, seconds: float | None) -> Row:
    """Cost per packet of a long run with 100, 1000 and 5000 flows through the same bottleneck, in turns; and
    with 100 through a tenth of it, where CoreScale has 100 (Middle), and where TCP sends two segments at once
    as with 1000 and 5000, not eight (docs/benchmarks.md). Without boot, connections and slow start: they are
    paid once, and the note tells what they come to."""
    same = [Case(flows, "reno", 10, seconds or LINEAR_S) for flows in (100, 1000, 5000)]
    middle = Case(100, "reno", 1, seconds or LINEAR_S)
    runs: dict[Case, list[Ours]] = {case: [] for case in (*same, middle)}
    for i in range(bench.repeats):
        for case, each in runs.items():
            bench.say(f"cost per packet: {case.name}, {i + 1} of {bench.repeats}")
            each.append(run(bench, case, STEADY_FROM_S))
    name = f"cost per packet, 5000 flows / 100 flows, NewReno, 10 Gbit/s, from {STEADY_FROM_S:g} s on"
    target = f"≤ {LINEAR_RATIO} ×"
    numbers = {case.name: [asdict(o) for o in each] for case, each in runs.items()}
    if not all(o.late_us_per_packet for each in runs.values() for o in each):
        return Row(name, target, "not measured", False, "the runs end too early", numbers)
    late = {case: [o.late_us_per_packet or 0 for o in each] for case, each in runs.items()}
    few, many = same[0], same[-1]
    ratio, pairs = _ratio(late[many], late[few])
    to_middle, _ = _ratio(late[many], late[middle])
    whole, _ = _ratio([o.us_per_packet for o in runs[many]], [o.us_per_packet for o in runs[few]])
    return Row(
        name,
        target,
        f"{ratio:.2f} × (pairs {min(pairs):.2f}–{max(pairs):.2f})",
        ratio <= LINEAR_RATIO,
        "µs of wall per packet: "
        + "; ".join(f"{case.name} {Spread.of(each).text()}" for case, each in late.items())
        + f"; 5000 flows to 100 at 1 Gbit/s {to_middle:.2f} ×; whole runs, with boot and slow start, "
        f"{whole:.2f} ×",
        numbers,
    )


def _ratio(over: list[float], under: list[float]) -> tuple[float, list[float]]:
    """Of the medians, and of each pair of one turn."""
    pairs = [a / b for a, b in zip(over, under, strict=True)]
    return statistics.median(over) / statistics.median(under), pairs


def full(bench: Bench, seconds: float | None) -> Row:
    """Peak memory when the path and the bottleneck's buffer are full."""
    case = Case(5000, "reno", 10, seconds or 3.0, rtt_ms=200)
    bench.say(f"memory: {case.name}, {case.rtt_ms} ms")
    one = run(bench, case, watch_memory=True)
    pss_mib = one.pss_mib or 0
    was_full = one.dropped > 0
    return Row(
        f"peak PSS, {case.name}, base RTT {case.rtt_ms} ms, {case.buffer_bytes // 10**6} MB of buffer full",
        f"< {MEMORY_MIB:.0f} MiB",
        f"{pss_mib:.0f} MiB" + ("" if was_full else ": the buffer did not fill"),
        was_full and 0 < pss_mib < MEMORY_MIB,
        f"{one.packets} packets, {one.dropped} dropped; looked at every {PEAK_INTERVAL_S} s",
        {"run": asdict(one)},
    )
