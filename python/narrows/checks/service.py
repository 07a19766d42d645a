"""A service of a person's own: one run of it alone, and what a person wants to know of it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from narrows.checks import table
from narrows.engine.layout import read_manifest
from narrows.errors import UsageError
from narrows.plan.build import plan_experiment
from narrows.plan.model import Plan
from narrows.runs.settled import foreground
from narrows.spec import Link, pairs, pfifo, sample, tap, tool
from narrows.spec.load import made

NO_PACKET = "no packet of it passed the bottleneck: does its client go to state.server_address?"
NOTHING_CAME = "no packet came in"
"""What the proof of conservation says of such a run."""
_REFUSED = re.compile(r"\[(?:error|crit|alert|emerg)\]")


def plan(folder: Path, seconds: int) -> Plan:
    """Plan the run. What is wrong with the folder is an error with its line."""
    path = folder.expanduser().resolve()
    if not path.is_dir():
        raise UsageError(f"{folder} is no folder", remedy="an example: experiments/my_feed, docs/services.md")

    def parts() -> dict[str, Any]:
        link = Link(rate="8 Mbit/s", base_rtt="50 ms", queue=pfifo(limit=128), services=2)
        first, second = pairs({path.name: tool(str(path), stop=f"{seconds} s")})
        tap(detail="summary")
        sample(tcp_info="500 ms", qdisc=None, link=None)
        return {"link": link, "first": first, "second": second}

    plans = plan_experiment(made("service_check", f"Does the service {path.name} work, alone?", parts)).plans
    return next(each for each in plans if "+" not in each.key["pair"])


def figures(alone: Plan, run: Path) -> list[tuple[Any, ...]]:
    """Name, value and unit of all that its parse.py gave."""
    own = table(run, "metrics").filter(pl.col("item") == foreground(alone)[0].item, pl.col("hop").is_null())
    return own.select("quantity", "value", "unit").rows()


def remarks(alone: Plan, run: Path) -> Iterator[str]:
    """Its connections, congestion controls, and warnings, a line each."""
    manifest = read_manifest(run) or {}
    flows = table(run, "flows").filter(direction="down")
    mine = flows.filter(item=foreground(alone)[0].id)
    others = flows.filter(pl.col("item").is_null() & (pl.col("first_ns") >= 0))
    if seconds := manifest.get("resources", {}).get("virtual_s"):
        carried = int(mine["departed_bytes"].sum())
        rate = 8 * carried / seconds / 1e6
        yield f"{mine.height} connections carried {carried} bytes down: {rate:.2f} Mbit/s on average"
    if not mine.height:
        yield NO_PACKET
    if others.height:
        labels = ", ".join(sorted(set(others["label"].drop_nulls())))
        yield f"{others.height} flows belong to nothing; its client's endpoints must name them: {labels}"
    yield from _sockets(manifest.get("sockets") or {}, alone)
    yield from (f"warning: {warning}" for warning in manifest.get("warnings", []))


def _sockets(sockets: dict[str, Any], alone: Plan) -> list[str]:
    """What the kernel says of the sockets through which it sent."""
    lines = []
    for part in alone.traffic:
        for kind in sockets.get(part.id, ()):
            limit = kind["max_pacing_bps"]
            sent = f"{kind['bytes']} bytes over {kind['connections']} connections"
            ecn = {True: "with ECN", False: "no ECN", None: "ECN not seen"}[kind["ecn"]]
            lines.append(
                f"{part.id} sent {sent}: {kind['cca']}, {ecn}, MSS {kind['mss_bytes']} bytes, "
                + ("no limit of pacing" if limit is None else f"paced at {limit / 1e6:g} Mbit/s at most")
            )
    return lines or ["no TCP socket through which it sends was seen: a transport of its own, or too short"]


def refused(alone: Plan, run: Path) -> list[str]:
    """What nginx says that it could not serve, but for the icon that every browser asks for."""
    files = sorted((run / "raw").glob(f"{foreground(alone)[0].id}-*.stderr"))
    lines = [line for file in files for line in file.read_text(errors="replace").splitlines()]
    return [line for line in lines if _REFUSED.search(line) and "/favicon.ico" not in line]
