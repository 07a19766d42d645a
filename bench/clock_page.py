"""What programs cost whose clocks are read without a system call, and with one: each in one run, in turns.

Traps are entries of programs into the guest's kernel, as that counts them itself. They, wall time and CPU
time are of the seconds between two looks, so a browser's start is left out.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from measure import BenchError, Spread, guest, living_cpu_s, wall_per_virtual_s
from rows import Bench, Row

from narrows.engine import agent_binary, layout
from narrows.engine.types import Progress
from narrows.engine.uml import UmlEngine
from narrows.plan.build import plan_file
from narrows.plan.model import Plan

CHECKOUT = Path(__file__).resolve().parents[1]
WITHOUT = "clock_page.on=0"
FROM_S, UNTIL_S = 8, 18
TEXT = '''"""What do clocks cost?"""
from narrows.spec import Link, call, command, pfifo, sample, tap, video
link = Link(rate="{rate} Mbit/s", base_rtt="40 ms", queue=pfifo(limit={packets}))
{traffic}
begins = command("cat /proc/clock_page", node="client", start="{begin} s")
ends = command("cat /proc/clock_page", node="client", start="{end} s")
tap("summary")
sample(tcp_info=None, qdisc=None, link=None)
'''
VIDEO = 'v = video(stop="{stop} s")'
CALL = 'c = call(stop="{stop} s")'
QUIC = """server = command(
    "{agent} h3-server --listen 10.0.2.1:443 --places /file={file}",
    node="server", background=True, ready="@server:443", ok_exits=(0, 1),
)
client = command("{get} 10.0.2.1:443 /file {stop}", node="client", time_limit="60 s")"""


@dataclass(frozen=True)
class Case:
    """One kind of traffic, and what a virtual second of it may cost on a core."""

    name: str
    traffic: str
    rate_mbit: int
    aim_s: float | None
    from_s: int = FROM_S
    until_s: int = UNTIL_S


CASES = (
    Case("dash.js video", VIDEO, 20, 0.55),
    Case("call of two browsers", CALL, 20, 0.8),
    Case("quinn download", QUIC, 100, None, 1, 5),
)


class WithWord(UmlEngine):
    """A guest with one more word on its kernel's command line."""

    def argv(self, *arguments: Any, **named: Any) -> tuple[str, ...]:
        words = super().argv(*arguments, **named)
        at = words.index("--")
        return (*words[:at], WITHOUT, *words[at:])


def plan(bench: Bench, case: Case) -> Plan:
    """Made by the spec: what a user runs is what is timed."""
    agent, _ = agent_binary.find()
    words: dict[str, Any] = {"stop": case.until_s + 1, "agent": agent}
    if case.traffic == QUIC:
        words |= {"get": h3_get(), "file": bench.build_dir / "file.bin"}
        with words["file"].open("wb") as file:
            file.truncate(10**10)
    text = TEXT.format(
        rate=case.rate_mbit, packets=case.rate_mbit * 4, traffic=case.traffic.format(**words),
        begin=case.from_s, end=case.until_s,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        experiment = Path(folder) / "clocks.py"
        experiment.write_text(text)
        (made,) = plan_file(experiment).plans
    for content in made.contents:
        bench.engine.make(content)
    return made


def h3_get() -> Path:
    """The client over QUIC, built as the agent is."""
    words = ["cargo", "build", "--release", "--locked", "-q", "-p", "narrows-h3", "--example", "h3_get"]
    done = subprocess.run(words, cwd=CHECKOUT / "crates", capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"h3_get does not build: {done.stderr.strip()[-1000:]}")
    (made,) = (CHECKOUT / "crates/target").glob("*/release/examples/h3_get")
    return made


@dataclass(frozen=True)
class Cost:
    """Of one virtual second."""

    wall_s: float
    cpu_s: float
    traps: float


def once(bench: Bench, engine: UmlEngine, case: Case, plan: Plan) -> tuple[Cost, bytes]:
    """What a run cost, and what was counted at the bottleneck."""
    walls: list[tuple[int, float]] = []
    cpus: list[tuple[int, float]] = []

    def counted(directory: Path) -> tuple[list[int], bytes]:
        raw = directory / layout.RAW
        counts = [int((raw / f"{name}.stdout").read_text().split()[0]) for name in ("begins", "ends")]
        return counts, (raw / layout.TAP).read_bytes()

    def look(progress: Progress) -> None:
        walls.append((progress.t_ns, time.monotonic()))
        cpus.append((progress.t_ns, living_cpu_s()))

    (begin, end), seen = guest(engine, plan, bench.cpu, counted, look)
    wall_s, cpu_s = (wall_per_virtual_s(each, case.from_s, case.until_s) for each in (walls, cpus))
    if wall_s is None or cpu_s is None:
        raise BenchError(f"{case.name}: the guest said nothing of its progress")
    return Cost(wall_s, cpu_s, (end - begin) / (case.until_s - case.from_s)), seen


def clock_page(bench: Bench) -> Iterator[Row]:
    """A row for each kind of traffic."""
    for case in CASES:
        yield row(bench, case)


def row(bench: Bench, case: Case) -> Row:
    """With the page and without, in turns."""
    made = plan(bench, case)
    engines = {"page": bench.engine, "calls": WithWord()}
    costs: dict[str, list[Cost]] = {name: [] for name in engines}
    bytes_seen = set()
    for number in range(bench.repeats):
        for name, engine in engines.items():
            bench.say(f"{case.name}, {name}, {number + 1} of {bench.repeats}")
            cost, seen = once(bench, engine, case, made)
            costs[name].append(cost)
            bytes_seen.add(seen)
    page, calls = (Spread.of([cost.wall_s for cost in costs[name]]) for name in engines)
    cpu, more = (Spread.of([cost.cpu_s for cost in costs[name]]) for name in engines)
    traps, most = (Spread.of([cost.traps for cost in costs[name]]).median for name in engines)
    aim_s = calls.median / 2 if case.aim_s is None else case.aim_s
    same = len(bytes_seen) == 1
    return Row(
        f"{case.name}, {case.rate_mbit} Mbit/s, wall s per virtual s, clocks without system calls",
        f"≤ {aim_s:.2f} s",
        page.text(),
        page.median <= aim_s and same,
        f"with system calls {calls.text()}; CPU s {cpu.text()} and {more.text()}; traps {traps:.0f} and "
        f"{most:.0f}; " + ("the same bytes at the bottleneck" if same else "NOT the same bytes"),
        {name: [asdict(cost) for cost in each] for name, each in costs.items()},
    )
