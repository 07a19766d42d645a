"""`make bench`: times the rows, prints the table with a verdict per row, writes bench/results.json.

    python bench/run.py [--rows ns3,flows-1000-reno,linear] [--repeats 3] [--cpu 0] [--seconds 0.5]

Each row is kept as soon as it is measured. Rows that are not chosen stay in results.json as they were; each
says when. Exit status 1 if a row that was chosen misses its target.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import calls
import clock_page
import cost
import drops
import media
import packet_logs
import quic
import reading
import rows
import scale
import services
import study
from measure import BenchError
from rich.console import Console
from rich.table import Table

import calibration
from narrows.engine import host
from narrows.engine.uml import UmlEngine
from narrows.errors import NarrowsError

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
NS3_SECONDS = (4, 10)
FLOWS = tuple(scale.cases())
CORESCALE = ("steady", "linear", "full")
ROWS = ("ns3", "ndt7", "boot", "memory", *FLOWS, *CORESCALE, "study", "metrics", "drops", "reading", "cost",
        "packet-logs", "calibration", "services", "calls", "quic",
        "clock-page", "media")  # fmt: skip
GROUPS = {"flows": FLOWS, "all": ROWS}


def conditions(engine: UmlEngine, repeats: int, cpu: int) -> dict[str, Any]:
    """What the numbers hold for."""
    ns3 = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", rows.NS3_PACKAGE],
        capture_output=True,
        text=True,
        check=False,
    )
    describe = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    commit = subprocess.run(describe, capture_output=True, text=True, check=False)
    gcc = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=False)
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": host.describe(),
        "system": platform.platform(),
        "load_average_before": os.getloadavg(),
        "repeats": repeats,
        "pinned_to_core": cpu,
        "commit": commit.stdout.strip() or None,
        "kernel_under_test": engine.info.kernel_id,
        "agent": engine.info.agent_id,
        "ns3": ns3.stdout or None,
        "compiler": gcc.stdout.splitlines()[0] if gcc.stdout else None,
    }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default="all", help=f"comma between; of {', '.join((*GROUPS, *ROWS))}")
    parser.add_argument("--repeats", type=int, default=3, help="repetitions of each contestant")
    parser.add_argument("--cpu", type=int, default=host.cpus()[-1], help="core that everything is pinned to")
    parser.add_argument("--study-runs", type=int, default=1, help="runs of each AQM from each stratum")
    parser.add_argument("--seconds", type=float, help="virtual time of the rows with many flows, to try them")
    parser.add_argument(
        "--ns3-limit",
        type=float,
        default=300,
        help="wall s after which ns-3 is stopped there (four times that in the row steady)",
    )
    parser.add_argument(
        "--ns3-repeats", type=int, default=1, help="runs of ns-3 at 10 Gbit/s, which take minutes each"
    )
    chosen = parser.parse_args()
    wanted = {row for word in chosen.rows.split(",") for row in GROUPS.get(word, (word,))}
    if unknown := wanted - set(ROWS):
        known = ", ".join((*GROUPS, *ROWS))
        parser.error(f"no such row: {', '.join(sorted(unknown))}; there are {known}")
    if chosen.repeats < 1:
        parser.error("--repeats must be 1 or more")
    chosen.rows = wanted
    return chosen


def measure(bench: rows.Bench, chosen: argparse.Namespace) -> Iterator[tuple[str, rows.Row]]:
    """The rows in their order, with the word they are chosen by, each when it is done. One that cannot be
    measured says so and the others go on.
    """
    flows = {
        name: partial(
            scale.beside_ns3,
            bench,
            case,
            ns3_repeats=bench.repeats if case.rate_gbps == 1 else chosen.ns3_repeats,
            ns3_limit_s=chosen.ns3_limit,
        )
        for name, case in scale.cases(chosen.seconds).items()
    }
    work: list[tuple[str, Callable[[], Iterable[rows.Row]]]] = [
        *(("ns3", partial(rows.against_ns3, bench, s)) for s in NS3_SECONDS),
        ("ndt7", lambda: rows.ndt7(bench)),
        ("boot", lambda: [rows.boot(bench)]),
        ("memory", lambda: [rows.memory(bench)]),
        *flows.items(),
        ("steady", lambda: scale.steady(bench, chosen.seconds, chosen.ns3_repeats, 4 * chosen.ns3_limit)),
        ("linear", lambda: [scale.linear(bench, chosen.seconds)]),
        ("full", lambda: [scale.full(bench, chosen.seconds)]),
        ("study", lambda: [study.cost(bench, chosen.study_runs)]),
        ("metrics", lambda: calibration.metrics(bench)),
        ("drops", lambda: drops.reading(bench)),
        ("reading", lambda: reading.reading(bench)),
        ("cost", lambda: cost.cost(bench)),
        ("packet-logs", lambda: packet_logs.packet_logs(bench)),
        ("calibration", lambda: [calibration.cost(bench)]),
        ("services", lambda: services.services(bench)),
        ("calls", lambda: calls.rows(bench)),
        ("quic", lambda: [quic.row(bench)]),
        ("clock-page", partial(clock_page.clock_page, bench)),
        ("media", lambda: [media.row(bench)]),
    ]
    for name, row in work:
        if name not in chosen.rows:
            continue
        try:
            yield from ((name, each) for each in row())
        except (BenchError, NarrowsError) as error:
            yield name, rows.Row(name, "", "failed", False, str(error))


def keep(measured: list[tuple[str, rows.Row]], about: dict[str, Any]) -> None:
    """Put the rows into results.json instead of their elder selves; others stay, with what they hold for."""
    now = about["date"]
    new = [{"row": name, "measured_at": now} | asdict(row) for name, row in measured]
    told = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"conditions": {}, "rows": []}
    replaced = {name for name, _ in measured}
    # Rows of before there were dates do not say what they hold for: they go.
    all_rows = [row for row in told["rows"] if row.get("row", new[0]["row"]) not in replaced] + new
    all_rows.sort(key=lambda row: ROWS.index(row["row"]) if row["row"] in ROWS else len(ROWS))
    dates = {row["measured_at"] for row in all_rows}
    conditions = {when: each for when, each in told["conditions"].items() if when in dates} | {now: about}
    half = RESULTS.with_suffix(".tmp")  # Ctrl-C while it is written shall not cost the rows of before
    half.write_text(json.dumps({"conditions": conditions, "rows": all_rows}, indent=1) + "\n")
    half.replace(RESULTS)


def table(measured: list[rows.Row]) -> Table:
    """As people read it."""
    shown = Table(title="make bench", show_lines=True)
    for title in ("what", "target", "measured", "verdict", "conditions and numbers"):
        shown.add_column(title, overflow="fold")
    words = {True: "[green]met[/]", False: "[red]MISSED[/]", None: "–"}
    for row in measured:
        shown.add_row(row.name, row.target, row.measured, words[row.ok], row.note)
    return shown


def main() -> int:
    """Measure, print, write."""
    chosen = parse()
    console = Console()
    engine = UmlEngine()
    HERE.joinpath("build").mkdir(exist_ok=True)
    about = conditions(engine, chosen.repeats, chosen.cpu)
    measured: list[tuple[str, rows.Row]] = []
    try:
        with console.status("") as status:
            bench = rows.Bench(engine, chosen.cpu, chosen.repeats, status.update, HERE / "build")
            for name, row in measure(bench, chosen):
                measured.append((name, row))
                about["load_average_after"] = os.getloadavg()
                keep(measured, about)
                console.print(f"{name}: {row.name}: {row.measured}", markup=False, soft_wrap=True)
    except KeyboardInterrupt:
        console.print(f"interrupted: the {len(measured)} rows above are kept; --rows measures the others")
        return 130
    console.print(table([row for _, row in measured]))
    console.print(
        f"{about['machine']['cpu_model']}, pinned to core {chosen.cpu} of {about['machine']['cores']}; "
        f"load {about['load_average_before'][0]:.1f} before, {about['load_average_after'][0]:.1f} after; "
        "medians, in brackets lowest–highest"
    )
    console.print(f"all numbers: {RESULTS}")
    return 0 if all(row.ok is not False for _, row in measured) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NarrowsError as error:
        sys.exit(f"bench: {error}")
