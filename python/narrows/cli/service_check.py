"""`narrows service check FOLDER`: one run of a service alone, and what a person wants to know of it."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import typer

from narrows.cli.format import table
from narrows.cli.run import FAILED, carry_out, make_engine
from narrows.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from narrows.plan.model import Plan

EXPERIMENT = '''"""Does the service {name} work, alone?"""

from narrows.spec import Link, pairs, pfifo, sample, tap, tool

link = Link(rate="8 Mbit/s", base_rtt="50 ms", queue=pfifo(limit=128), services=2)
first, second = pairs({{"{name}": tool({path!r}{stop})}})
tap("summary")
sample(tcp_info="500 ms", qdisc=None, link=None)
'''


MOST_REFUSED = 3
NO_PACKET = "no packet of it passed the bottleneck: does its client go to state.server_address?"
NOTHING_CAME = "no packet came in"
"""What the proof of conservation says of such a run."""
_REFUSED = re.compile(r"\[(?:error|crit|alert|emerg)\]")


def check(console: Console, folder: Path, seconds: int, results: Path) -> None:
    """Plan, run, and say what came of it; exit status 1 if it does not work."""
    from narrows.engine import layout
    from narrows.engine.runner import Runner
    from narrows.store.finish import FinishPool

    plan = _plan(folder, seconds)
    console.print(f"{folder.resolve().name}: its parts can be loaded, and it can be planned")
    engine = make_engine("uml")
    directory = results / folder.resolve().name
    with FinishPool(1) as finish:
        runner = Runner(engine, [plan], directory, finish, jobs=1, reuse=False)
        state = carry_out(console, runner, directory, f"narrows service check {folder}")
    if state.failed:
        fault = state.failed[0].fault
        if fault is not None and NOTHING_CAME in fault.message:
            console.print(NO_PACKET)
        console.print(f"it does not work → narrows show {state.failed[0].run_id} --dir {directory}")
        raise typer.Exit(FAILED)
    (run_id,) = runner.plans
    _say(console, plan, layout.run_dir(directory, run_id))
    if refused := _refused(plan, layout.run_dir(directory, run_id)):
        for line in refused[:MOST_REFUSED]:
            console.print(f"its server refused: {line}", markup=False)
        console.print("it does not work: what its client asks for is not there")
        raise typer.Exit(FAILED)


def _plan(folder: Path, seconds: int) -> Plan:
    """The run alone. What is wrong with the folder is an error with its line."""
    from narrows.plan.build import plan_file

    path = folder.expanduser().resolve()
    if not path.is_dir():
        raise UsageError(f"{folder} is no folder", remedy="an example: experiments/my_feed, docs/services.md")
    options = f', stop="{seconds} s"'
    with tempfile.TemporaryDirectory(prefix="narrows-check-") as place:
        file = Path(place) / "service_check.py"
        file.write_text(EXPERIMENT.format(name=path.name, path=os.path.relpath(path, place), stop=options))
        plans = plan_file(file).plans
    return next(plan for plan in plans if "+" not in plan.key["pair"])


def _say(console: Console, plan: Plan, run: Path) -> None:
    """Its figures, connections, congestion controls, and warnings."""
    from narrows.engine.layout import read_manifest
    from narrows.runs.settled import foreground
    from narrows.store import parquet

    item = foreground(plan)[0].id
    metrics = parquet.read(run / "metrics.parquet").with_columns(pl.col(pl.Categorical).cast(pl.String))
    own = metrics.filter((pl.col("source") == item) | pl.col("source").str.starts_with(f"{item}/"))
    console.print(table(["figure", "value", "unit"], own.select("name", "value", "unit").rows()))
    if own.is_empty():
        console.print("it has no figures: its parse.py gives none")
    flows = parquet.read(run / "flows.parquet").with_columns(pl.col(pl.Categorical).cast(pl.String))
    mine = flows.filter((pl.col("direction") == "down") & (pl.col("item") == item))
    others = flows.filter(
        (pl.col("direction") == "down") & pl.col("item").is_null() & (pl.col("first_ns") >= 0)
    )
    seconds = (read_manifest(run) or {}).get("resources", {}).get("virtual_s") or 0.0
    carried = int(mine["departed_bytes"].sum())
    if seconds:
        rate = 8 * carried / seconds / 1e6
        console.print(f"{mine.height} connections carried {carried} bytes down: {rate:.2f} Mbit/s on average")
    if not mine.height:
        console.print(NO_PACKET)
    if others.height:
        told = ", ".join(sorted(set(others["label"].drop_nulls())))
        console.print(
            f"{others.height} flows belong to nothing; its client's endpoints must name them: {told}"
        )
    for line in _sockets(read_manifest(run) or {}, plan):
        console.print(line)
    for warning in (read_manifest(run) or {}).get("warnings", []):
        console.print(f"warning: {warning}")
    console.print(f"the run: {run}")


def _sockets(manifest: dict[str, Any], plan: Plan) -> list[str]:
    """What the kernel says of the sockets through which it sent."""
    sockets = manifest.get("sockets") or {}
    lines = []
    for part in plan.traffic:
        for kind in sockets.get(part.id, ()):
            limit, sent = (
                kind["max_pacing_bps"],
                f"{kind['bytes']} bytes over {kind['connections']} connections",
            )
            ecn = {True: "with ECN", False: "no ECN", None: "ECN not seen"}[kind["ecn"]]
            lines.append(
                f"{part.id} sent {sent}: {kind['cca']}, {ecn}, MSS {kind['mss_bytes']} bytes, "
                + ("no limit of pacing" if limit is None else f"paced at {limit / 1e6:g} Mbit/s at most")
            )
    return lines or ["no TCP socket through which it sends was seen: a transport of its own, or too short"]


def _refused(plan: Plan, run: Path) -> list[str]:
    """What nginx says that it could not serve, but for the icon that every browser asks for."""
    from narrows.runs.settled import foreground

    files = sorted((run / "raw").glob(f"{foreground(plan)[0].id}-*.stderr"))
    lines = [line for file in files for line in file.read_text(errors="replace").splitlines()]
    return [line for line in lines if _REFUSED.search(line) and "/favicon.ico" not in line]
