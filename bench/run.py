"""`make bench`: times the rows, prints the table with a verdict per row, writes bench/results.json.

    python bench/run.py [--rows ns3,ndt7,boot,memory,study,metrics,calibration] [--repeats 3] [--cpu 0]

Exit status 1 if a row misses its target.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import rows
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
ROWS = ("ns3", "ndt7", "boot", "memory", "study", "metrics", "calibration")


def conditions(engine: UmlEngine, repeats: int, cpu: int) -> dict[str, Any]:
    """What the numbers hold for."""
    ns3 = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", rows.NS3_PACKAGE],
        capture_output=True,
        text=True,
        check=False,
    )
    gcc = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=False)
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": host.describe(),
        "system": platform.platform(),
        "load_average_before": os.getloadavg(),
        "repeats": repeats,
        "pinned_to_core": cpu,
        "kernel_under_test": engine.info.kernel_id,
        "agent": engine.info.agent_id,
        "ns3": ns3.stdout or None,
        "compiler": gcc.stdout.splitlines()[0] if gcc.stdout else None,
    }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default=",".join(ROWS), help="which rows, comma between")
    parser.add_argument("--repeats", type=int, default=3, help="repetitions of each contestant")
    parser.add_argument("--cpu", type=int, default=host.cpus()[-1], help="core that everything is pinned to")
    parser.add_argument("--study-runs", type=int, default=1, help="runs of each AQM from each stratum")
    chosen = parser.parse_args()
    if unknown := set(chosen.rows.split(",")) - set(ROWS):
        parser.error(f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    if chosen.repeats < 1:
        parser.error("--repeats must be 1 or more")
    return chosen


def measure(bench: rows.Bench, chosen: set[str], study_runs: int) -> list[rows.Row]:
    """The rows in their order. One that cannot be measured says so and the others go on."""
    work: list[tuple[str, Callable[[], list[rows.Row]]]] = [
        *(("ns3", partial(rows.against_ns3, bench, s)) for s in NS3_SECONDS),
        ("ndt7", lambda: rows.ndt7(bench)),
        ("boot", lambda: [rows.boot(bench)]),
        ("memory", lambda: [rows.memory(bench)]),
        ("study", lambda: [study.cost(bench, study_runs)]),
        ("metrics", lambda: calibration.metrics(bench)),
        ("calibration", lambda: [calibration.cost(bench)]),
    ]
    done = []
    for name, row in work:
        if name not in chosen:
            continue
        try:
            done += row()
        except (BenchError, NarrowsError) as error:
            done.append(rows.Row(name, "", "failed", False, str(error)))
    return done


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
    with console.status("") as status:
        bench = rows.Bench(engine, chosen.cpu, chosen.repeats, status.update, HERE / "build")
        measured = measure(bench, set(chosen.rows.split(",")), chosen.study_runs)
    about["load_average_after"] = os.getloadavg()
    console.print(table(measured))
    console.print(
        f"{about['machine']['cpu_model']}, pinned to core {chosen.cpu} of {about['machine']['cores']}; "
        f"load {about['load_average_before'][0]:.1f} before, {about['load_average_after'][0]:.1f} after; "
        "medians, in brackets lowest–highest"
    )
    RESULTS.write_text(
        json.dumps({"conditions": about, "rows": [asdict(row) for row in measured]}, indent=1) + "\n"
    )
    console.print(f"all numbers: {RESULTS}")
    return 0 if all(row.ok is not False for row in measured) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NarrowsError as error:
        sys.exit(f"bench: {error}")
