"""How often is `narrows whatif` right? Worlds that the fit knows nothing of, in which both arms are run.

    python bench/whatif.py --size 10 --out results/whatif-worlds
    python bench/whatif.py --judge-only --keep evidence/whatif/MINE.runs.parquet

The worlds are those of the study (`narrows.studies.whatif.testbed`). Each is run as it was, with a capture of
its sender; from that file alone the path is fitted and each change is predicted; then stand beside it the
world's own run with the change and the same seed, and three baselines: "as before" (nothing changes), the
capture's own throughput, as a rate that moves by tenths of a second before a deep queue, and what the change
does on paths drawn from the profile `video-wifi`. What there is already is not made again; with
--engine netns the worlds are this host's kernel in real time. --keep writes what the study's claims are
judged from."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from narrows.cli.whatif import maker, read_captures
from narrows.errors import NarrowsError
from narrows.plan.build import plan_experiment
from narrows.plan.model import Plan
from narrows.runs import archive
from narrows.runs.find import runs_below
from narrows.spec.load import load
from narrows.spec.path_profile import profile
from narrows.studies.find import experiments
from narrows.studies.whatif.claims.measures import (
    BASELINES,
    METRICS,
    ahead,
    error,
    inside,
    moved,
    sure_and_wrong,
)
from narrows.studies.whatif.testbed import KINDS, NAMES, WAS, World, drawn
from narrows.whatif.capacity import HEADERS_BYTES
from narrows.whatif.measured import Measured, measure
from narrows.whatif.session import Session
from narrows.whatif.tables import pair_of
from narrows.whatif.written import Change, called

EXPERIMENT = "w1_worlds"
PROFILE, PROFILED, PROFILED_S, MOST_PROFILED = "video-wifi", 6, 8.0, 20e6


def of_plans(plans: list[Plan], out: Path, jobs: int, engine: str, side: str) -> dict[str, Path]:
    """The captures of the side of the sender, by case; those that failed are missing."""
    made, _ = maker(engine, jobs)(plans, out)
    logs = {plan.key["case"]: out / run / "raw" / f"{side}.pcapng" for run, plan in made.items()}
    return {case: log for case, log in logs.items() if log.exists()}


def of_texts(texts: dict[str, str], folder: Path, jobs: int) -> dict[str, Path]:
    """The captures of some experiments of one run each, by name; those that failed are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    plans: list[Plan] = []
    for name, text in texts.items():
        file = folder / f"{name}.py"
        file.write_text(text)
        plans += plan_experiment(load(file)).plans
    made, _ = maker("uml", jobs)(plans, folder / "runs")
    logs = {plan.experiment: folder / "runs" / run / "raw" / "sender.pcapng" for run, plan in made.items()}
    return {name: log for name, log in logs.items() if log.exists()}


def read(log: Path, folder: Path) -> Measured:
    """What one capture says of how its transfers fared."""
    return measure(pair_of(log, *read_captures([log], folder)))


def replayed(session: Session, cca: str, change: Change, folder: Path, name: str) -> str:
    """The baseline of a trace: what was acknowledged in each tenth of a second is what the path can carry.
    It is told the CCA that there was."""
    pair = session.pair
    width = 0.1
    folder.mkdir(parents=True, exist_ok=True)
    sums = np.bincount((pair.t / width).astype(int), weights=pair.acked) * 8 / width
    sums = np.maximum(sums * (1 + HEADERS_BYTES / pair.mss), 0.02 * sums.mean())
    scale = float(change.rate.rstrip("% ")) / 100 if change.rate else 1.0
    # Behind its end it goes on with its mean: a slower arm must not stand there.
    rows = [f"{n * width:.2f},{bps * scale:.0f}" for n, bps in enumerate([*sums, sums.mean()])]
    (folder / f"{name}.csv").write_text("\n".join(["time_s,rate_bps", *rows, ""]))
    base = change.base_rtt or f"{session.path.base_rtt_s.value * 1e3:.3f} ms"
    queue = called(change.queue) if change.queue else "pfifo()"
    sysctls = f", sysctls={{'server': {dict(change.sysctls)!r}}}" if change.sysctls else ""
    flows = [
        f'flow_{n} = bulk(cca="{change.cca or cca}", bytes="{t.bytes} B", start="{t.start_s:.3f} s")'
        for n, t in enumerate(session.path.transfers)
    ]
    rate = f'rate=trace("{name}.csv"), rate_up="1 Gbit/s", base_rtt="{base}"'
    link = f"link = Link({rate}, queue={queue}, queue_up=pfifo(){sysctls})"
    ends = ['sender = capture("server", snap="96 B")', 'tap("off")', "repeat(1)", ""]
    return "\n".join(['"""What if?"""', "from narrows.spec import *", link, *flows, *ends])


def profiled(cca: str, out: Path, jobs: int) -> dict[str, dict[str, float]]:
    """The baseline of a profile: by how much a change moves each metric in the median of paths drawn from it,
    whatever the capture says. It is told the CCA that there was."""
    file = out / f"profile-{cca}.json"
    if not file.exists():
        arms: dict[str, list[Measured]] = {}
        for arm, texts in _drawn_paths(cca).items():
            folder = out / f"profile-{cca}" / arm
            logs = of_texts({f"path_{n}": text for n, text in enumerate(texts)}, folder, jobs)
            arms[arm] = [read(logs[f"path_{n}"], folder / "paths") for n in range(len(texts))]
        ratios = {
            arm: {
                metric: float(
                    np.median(
                        [getattr(c, metric) / getattr(w, metric) for w, c in zip(arms[WAS], of, strict=True)]
                    )
                )
                for metric in METRICS
            }
            for arm, of in arms.items()
            if arm != WAS
        }
        file.write_text(json.dumps(ratios))
    found: dict[str, dict[str, float]] = json.loads(file.read_text())
    return found


def _drawn_paths(cca: str) -> dict[str, list[str]]:
    """The experiments of each arm on the profile's paths."""
    arms: dict[str, list[str]] = {}
    for n in range(PROFILED):
        path = profile(PROFILE).draw(f"whatif {n}")
        bps, base_ms = path["capacity_bps"], path["base_rtt_ns"] / 1e6
        held = bps * path.get("peak_queueing_delay_ns", path["base_rtt_ns"]) / 8e9
        size = min(bps * PROFILED_S / 8, MOST_PROFILED)
        like = replace(drawn(0), rtt_ms=base_ms, cca=cca)
        for arm, change in {WAS: Change(), **like.asked(base_ms / 1e3)}.items():
            share = float(change.rate.rstrip("% ")) / 100 if change.rate else 1.0
            words = (
                f'rate="{bps * share / 1e6:.3f} Mbit/s", base_rtt="{change.base_rtt or f"{base_ms:.3f} ms"}"'
            )
            queue = called(change.queue) if change.queue else f'bfifo(limit="{max(held, 15e3):.0f} B")'
            sysctls = f", sysctls={{'server': {dict(change.sysctls)!r}}}" if change.sysctls else ""
            arms.setdefault(arm, []).append(
                f'"""What if?"""\nfrom narrows.spec import *\n'
                f"link = Link({words}, queue={queue}, queue_up=pfifo(){sysctls})\n"
                f'flow = bulk(cca="{change.cca or cca}", bytes="{size:.0f} B")\n'
                'sender = capture("server", snap="96 B")\ntap("off")\nrepeat(1)\n'
            )
    return arms


def judge(
    world: World, plans: Sequence[Plan], out: Path, draws: int, jobs: int, engine: str
) -> list[dict[str, Any]]:
    """All changes of one world: truth, prediction and baselines."""
    mine = [plan for plan in plans if plan.key["case"].startswith(f"{world.name}-")]
    known = {"world": world.name, "kind": world.kind, "cca": world.cca}
    was = [plan for plan in mine if plan.key["case"] == f"{world.name}-{WAS}"]
    log = of_plans(was, out / "runs", jobs, engine, world.side).get(f"{world.name}-{WAS}")
    if log is None:
        return [known | {"failed": "the world's own run"}]
    folder = out / world.name
    session = Session(log, folder / "fit", read_captures, maker("uml", jobs))
    changes = world.asked(session.path.base_rtt_s.value)
    truths = of_plans(mine, out / "runs", jobs, engine, world.side)
    traces = of_texts(
        {
            name: replayed(session, world.cca, change, folder / "trace", name)
            for name, change in changes.items()
        },
        folder / "trace",
        jobs,
    )
    rows: list[dict[str, Any]] = []
    for name, change in changes.items():
        row: dict[str, Any] = known | {"change": name}
        case = f"{world.name}-{name}"
        if case not in truths:
            rows.append(row | {"failed": "the world's changed run"})
            continue
        try:
            truth = read(truths[case], folder / "paths")
            trace = read(traces[name], folder / "paths") if name in traces else None
            answer = session.answer(change, draws)
        except Exception as error:
            traceback.print_exc()
            rows.append(row | {"failed": str(error)[:200]})
            continue
        row |= {"run_id": truths[case].parent.parent.name, "cannot": answer.cannot}
        row |= {"kept": [f"{case.kind.words()}, {case.cca}" for case, _, _ in answer.kept]}
        row |= {"nearest": answer.nearest.parts if answer.nearest else None}
        said = {} if answer.cannot else {d.metric: d for d in answer.differences}
        for metric in METRICS:
            row |= {
                f"before_{metric}": getattr(session.capture, metric),
                f"true_{metric}": getattr(truth, metric),
            }
            row |= {f"trace_{metric}": getattr(trace, metric) if trace else None}
            for part in ("after", "low", "high"):
                row[f"{part}_{metric}"] = getattr(said[metric], part) if metric in said else None
        rows.append(row)
    return rows


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """The bars, each beside its baselines."""
    told = [row for row in rows if not row["cannot"]]
    share = (len(rows) - len(told)) / max(len(rows), 1)
    lines = [
        f"{len({row['world'] for row in rows})} worlds, {len(rows)} changes; cannot answer: "
        f"{len(rows) - len(told)} ({share:.0%}; bar 30 %)"
    ]
    for metric, bar in (("goodput_bps", "10 %"), ("rtt_p95_s", "20 %")):
        for who in BASELINES:
            lines.append(f"{metric}: error of {who} (bar {bar}): {_spread(error(metric, who), told)}")
        lines.append(
            f"{metric}: the 90 % interval holds the truth in {_share(inside(metric), told)} (bar 85 %)"
        )
        moving = [row for row in told if moved(row, metric)]
        ccas = [row for row in moving if row["change"] == "cca"]
        for who in BASELINES:
            of = [_share(ahead(metric, who), some) for some in (ccas, moving)]
            lines.append(
                f"{metric}: better arm by {who}: of changes of CCA {of[0]}, of all {of[1]} (bar 90 %)"
            )
        lines.append(f"{metric}: sure and wrong in {_share(sure_and_wrong(metric), told)} (bar 3 %)")
    return lines


def _spread(of: Any, rows: list[dict[str, Any]]) -> str:
    values = [value for row in rows if (value := of(row)) is not None]
    return f"{np.median(values):.1%} (p90 {np.percentile(values, 90):.0%})" if values else "none"


def _share(of: Any, rows: list[dict[str, Any]]) -> str:
    values = [value for row in rows if (value := of(row)) is not None]
    return f"{sum(values):.0f} of {len(values)}" if values else "none"


def keep(rows: list[dict[str, Any]], out: Path, file: Path) -> int:
    """The worlds' changed runs, each with what was said of it, as a shard."""
    said = {row["run_id"]: row for row in rows}
    left = ("run_id", "nearest")
    runs = [
        replace(
            run, path_logs=[{name: value for name, value in said[run.run_id].items() if name not in left}]
        )
        for run in runs_below([out / "runs"])
        if run.run_id in said
    ]
    return archive.write(runs, file)


def main() -> int:
    """Make what is missing and print the bars."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first world")
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("results/whatif-worlds"))
    parser.add_argument("--engine", default="uml", help="of the worlds: uml, or netns (real time, root)")
    parser.add_argument("--judge-only", action="store_true", help="make no runs")
    parser.add_argument("--keep", type=Path, help="write a shard for the study")
    args = parser.parse_args()
    plans = [] if args.judge_only else plan_experiment(load(experiments("whatif")[EXPERIMENT])).plans
    for n in range(args.first, min(args.first + args.size, len(NAMES))):
        file = args.out / f"{NAMES[n]}.json"
        if not file.exists() and not args.judge_only:
            args.out.mkdir(parents=True, exist_ok=True)
            world = drawn(n)
            try:
                found = judge(world, plans, args.out, args.draws, args.jobs, args.engine)
            except NarrowsError as fault:
                found = [{"world": world.name, "kind": world.kind, "failed": str(fault)[:300]}]
            file.write_text(json.dumps(found, indent=1))
    every = [row for file in sorted(args.out.glob("w[0-9]*.json")) for row in json.loads(file.read_text())]
    rows = [row for row in every if "failed" not in row]
    for row in rows:
        file = args.out / f"profile-{row['cca']}.json"
        ratios = {} if args.judge_only and not file.exists() else profiled(row["cca"], args.out, args.jobs)
        for metric in METRICS:
            ratio = ratios.get(row["change"], {}).get(metric)
            row[f"profile_{metric}"] = None if ratio is None else row[f"before_{metric}"] * ratio
    console = Console(soft_wrap=True, highlight=False, width=200)
    for kind in KINDS:
        some = [row for row in rows if row["kind"] == kind]
        told = [row for row in some if not row["cannot"]]
        errors = ", ".join(f"{metric} {_spread(error(metric, 'whatif'), told)}" for metric in METRICS)
        if some:
            console.print(f"{kind}: {len(told)} of {len(some)} answered; {errors}")
    for row in every:
        if why := row.get("failed") or row.get("cannot"):
            console.print(f"  {row['world']} {row['kind']} {row.get('change', '')}: {why}", markup=False)
    for line in summary(rows):
        console.print(line, markup=False)
    if args.keep:
        console.print(f"{keep(rows, args.out, args.keep)} runs kept: {args.keep}")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
