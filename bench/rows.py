"""The rows of `make bench`: what is timed against what, and the targets. Each row is one function.

Contestants take turns (A B A B …) so that a change of the machine's load falls on both; a row's number is the
median, its range is given beside it. Guests and ns-3 are pinned to one core; what this process computes
itself is not.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import plans
from measure import BenchError, Cost, PeakMemory, Spread, cost_of, guest, program, root_qdisc

from narrows.engine.uml import UmlEngine
from narrows.plan.model import Plan

HERE = Path(__file__).resolve().parent
NS3_PACKAGE = "libns3-dev"
NS3_LIBRARIES = ("applications", "internet", "point-to-point", "traffic-control", "network", "core")
NS3_RATIO = 10.0
TAP_RATIO = 1.5
NDT7_VIRTUAL_S = 10.0
BOOT_S = 1.0
MEMORY_MIB = 200.0


@dataclass
class Row:
    """One line of the table. `ok` is None where there is no verdict (skipped, or a number only)."""

    name: str
    target: str
    measured: str
    ok: bool | None
    note: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Bench:
    """What all rows need."""

    engine: UmlEngine
    cpu: int
    repeats: int
    say: Callable[[str], None]
    build_dir: Path


def ns3_program(bench: Bench) -> Path:
    """The yardstick, built against the distribution's optimised libraries."""
    if not Path("/usr/include/ns3/core-module.h").exists():
        raise BenchError(f"ns-3 is not installed: apt-get install {NS3_PACKAGE}")
    if shutil.which("g++") is None:
        raise BenchError("no C++ compiler: apt-get install g++")
    source, built = HERE / "ns3_dumbbell.cc", bench.build_dir / "ns3_dumbbell"
    if not built.exists() or built.stat().st_mtime < source.stat().st_mtime:
        bench.say("building ns3_dumbbell")
        words = ["g++", "-O3", "-std=c++17", str(source), "-o", str(built)]
        done = subprocess.run(
            [*words, *(f"-lns3-{name}" for name in NS3_LIBRARIES)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise BenchError(f"ns3_dumbbell.cc does not build: {done.stderr.strip()[-1000:]}")
    return built


def against_ns3(bench: Bench, seconds: int) -> list[Row]:
    """Wall time per packet forwarded by the bottleneck; ours from before the boot to after the power-off."""
    name, target = f"ns-3 / narrows, per packet, {seconds} virtual s", f"≥ {NS3_RATIO:.0f} ×"
    try:
        yardstick = ns3_program(bench)
    except BenchError as error:
        return [Row(name, target, "skipped", None, str(error))]
    plan = plans.bulk(seconds)
    ours: list[tuple[Cost, int]] = []
    theirs: list[tuple[Cost, int]] = []
    shown: dict[str, Any] = {}
    for i in range(bench.repeats):
        bench.say(f"ns-3, {seconds} virtual s, {i + 1} of {bench.repeats}")
        cost = cost_of(lambda: shown.update(program([str(yardstick), f"--seconds={seconds}"], bench.cpu)))
        theirs.append((cost, shown["forwarded_packets"]))
        bench.say(f"narrows, {seconds} virtual s, {i + 1} of {bench.repeats}")
        cost, result = timed(bench, plan)
        ours.append((cost, root_qdisc(result, "router", "eth0")["packets"]))
    per_packet = [
        {
            what: Spread.of([getattr(cost, what) * 1e6 / packets for cost, packets in side])
            for what in Cost.__annotations__
        }
        for side in (theirs, ours)
    ]
    ratio = per_packet[0]["wall_s"].median / per_packet[1]["wall_s"].median
    pairs = Spread.of([(a.wall_s / n) / (b.wall_s / m) for (a, n), (b, m) in zip(theirs, ours, strict=True)])
    cpu_ratio = per_packet[0]["cpu_s"].median / per_packet[1]["cpu_s"].median
    row = Row(
        name,
        target,
        f"{ratio:.1f} × (pairs {pairs.low:.1f}–{pairs.high:.1f})",
        ratio >= NS3_RATIO,
        f"µs of wall per packet: ns-3 {per_packet[0]['wall_s'].text()}, "
        f"narrows {per_packet[1]['wall_s'].text()}; "
        f"of CPU {cpu_ratio:.1f} ×; packets {theirs[-1][1]} and {ours[-1][1]}",
        {
            "ns3": [asdict(c) | {"packets": n} for c, n in theirs],
            "ns3_last": shown,
            "narrows": [asdict(c) | {"packets": n} for c, n in ours],
            "narrows_bottleneck": root_qdisc(result, "router", "eth0"),
            "ratio_of_median_wall": ratio,
            "ratio_of_median_cpu": cpu_ratio,
            "pair_ratios": asdict(pairs),
        },
    )
    return [row]


def timed(bench: Bench, plan: Plan) -> tuple[Cost, dict[str, Any]]:
    """One guest, timed, and its result."""
    kept: dict[str, Any] = {}
    cost = cost_of(lambda: kept.update(guest(bench.engine, plan, bench.cpu)))
    return cost, kept


def ndt7(bench: Bench) -> list[Row]:
    """A speed test at 1 Gbit/s through FQ-CoDel, without and with the tap."""
    costs: dict[str, list[Cost]] = {"off": [], "packets": []}
    counted: dict[str, dict[str, int]] = {}
    for i in range(bench.repeats):
        for tap in costs:
            bench.say(f"NDT7 download, tap {tap}, {i + 1} of {bench.repeats}")
            cost, result = timed(bench, plans.ndt7_download(tap=tap))  # type: ignore[arg-type]
            costs[tap].append(cost)
            counted[tap] = root_qdisc(result, "router", "eth0")
    off, on = (Spread.of([c.wall_s for c in costs[tap]]) for tap in costs)
    cpu_off, cpu_on = (Spread.of([c.cpu_s for c in costs[tap]]) for tap in costs)
    same = counted["off"] == counted["packets"]
    rate_mbps = counted["off"]["bytes"] * 8 / NDT7_VIRTUAL_S / 1e6
    rates = f"{rate_mbps:.0f} Mbit/s, {counted['off']['packets']} packets"
    numbers = {
        "tap_off": [asdict(c) for c in costs["off"]],
        "tap_on": [asdict(c) for c in costs["packets"]],
        "bottleneck": counted,
    }
    ratio = on.median / off.median
    return [
        Row(
            "NDT7 download, 1 Gbit/s, FQ-CoDel, tap off, wall s",
            f"< {NDT7_VIRTUAL_S:.0f} s",
            off.text(),
            off.median < NDT7_VIRTUAL_S,
            f"{rates}; CPU {cpu_off.text()} s; {NDT7_VIRTUAL_S / off.median:.1f} × real time",
            numbers,
        ),
        Row(
            "the same, tap on / tap off",
            f"≤ {TAP_RATIO} ×",
            f"{ratio:.2f} ×",
            ratio <= TAP_RATIO and same,
            f"wall {on.text()} s; CPU {cpu_on.text()} s; "
            + ("the same packets, bytes and drops" if same else f"NOT the same packets: {counted}"),
        ),
    ]


def boot(bench: Bench) -> Row:
    """Boot, set-up, power-off."""
    costs = []
    for i in range(2 * bench.repeats):
        bench.say(f"boot and power-off, {i + 1} of {2 * bench.repeats}")
        costs.append(timed(bench, plans.nothing())[0])
    wall = Spread.of([c.wall_s for c in costs])
    cpu = Spread.of([c.cpu_s for c in costs])
    return Row(
        "boot, set-up, power-off of four nodes, wall s",
        f"< {BOOT_S:.0f} s",
        wall.text(),
        wall.median < BOOT_S,
        f"CPU {cpu.text()} s",
        {"runs": [asdict(c) for c in costs]},
    )


def memory(bench: Bench) -> Row:
    """Peak of the resident memory, each page counted once."""
    cases = {
        "topology alone": plans.nothing(),
        "NDT7 1 Gbit/s, tap on": plans.ndt7_download(tap="packets"),
        "100 flows": plans.bulk(4),
    }
    peaks: dict[str, dict[str, float]] = {}
    for name, plan in cases.items():
        bench.say(f"memory: {name}")
        with PeakMemory() as peak:
            guest(bench.engine, plan, bench.cpu)
        if not peak.samples:
            raise BenchError("no sample of memory was taken")
        peaks[name] = {
            "pss_mib": peak.pss_bytes / 2**20,
            "rss_mib": peak.rss_bytes / 2**20,
            "samples": peak.samples,
        }
    most = max(p["pss_mib"] for p in peaks.values())
    return Row(
        "resident memory of a guest, peak PSS",
        f"< {MEMORY_MIB:.0f} MiB",
        f"{most:.0f} MiB",
        most < MEMORY_MIB,
        "; ".join(f"{name} {p['pss_mib']:.0f} (n={p['samples']} samples)" for name, p in peaks.items()),
        peaks,
    )
