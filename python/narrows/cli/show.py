"""`narrows show RUN`: what one run was, what it found, and whether it counts."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from narrows.cli.answer_view import came_out
from narrows.cli.format import MISSING, cell, duration, key, table
from narrows.cli.format import console as make_console
from narrows.cli.named_run import find_run


def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, its beginning, or its directory.")],
    directory: Annotated[Path | None, typer.Option("--dir", help="Where to look.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole manifest.")] = False,
    tc: Annotated[bool, typer.Option("--tc", help="Print the plan's tc and ip commands too.")] = False,
) -> None:
    """Show one run: key, checks, figures; for a failed one, why.

    \b
      narrows show 3fa1                       # the beginning of an id of narrows list
      narrows show 3fa1 --tc                  # also the commands of its set-up
      narrows show 3fa1 --json                # the whole manifest
    """
    from narrows.comparing import repetitions
    from narrows.comparing.repetitions import equal_to
    from narrows.engine import layout
    from narrows.store.manifest import stamp
    from narrows.store.whose import with_labels

    console = make_console()
    results, run_id = find_run(run, directory)
    manifest = results.manifest(run_id)
    if as_json:
        typer.echo(json.dumps(manifest, indent=1, ensure_ascii=False))
        return
    path = results.run_directory(run_id)
    console.print(f"run        {run_id}  {manifest['status']}")
    console.print(f"key        {key(manifest['key'])}")
    console.print(f"question   {manifest['question']}")
    console.print(f"directory  {path}")
    if (t0 := manifest.get("t0_unix_ns")) is not None:
        console.print(f"t = 0      {stamp(t0)} in captures and logs ({t0 // 10**9}.{t0 % 10**9:09d} s)")
    if manifest["engine"] == layout.IMPORTED:
        console.print(f"imported   from {manifest['key']['file']}: samples only, see narrows query")
    else:
        _machine(console, manifest)
    if manifest["error"]:
        _error(console, manifest["error"], path)
    _checks(console, manifest)
    same = equal_to(results, run_id) if manifest["status"] == "ok" else ()
    equal = [repetitions.warning([same], ", ".join(same))] if same else []
    for warning in [*manifest["warnings"], *equal]:
        console.print(f"warning    {warning}: check before trusting the result")
    if manifest["engine"] != layout.IMPORTED and manifest["status"] == "ok":
        came_out(console, [(results, run_id)])
    if tc and manifest["engine"] != layout.IMPORTED:
        _commands(console, path)
    is_failed = manifest["status"] != "ok"
    metrics = (results.failed() if is_failed else results).metrics(run_id=run_id)
    if metrics.height:
        if is_failed:
            console.print()
            console.print("What was measured until it failed; it counts nowhere:")
        console.print()
        columns = ["whose", "direction", "quantity", "value", "unit"]
        console.print(table(columns, with_labels(metrics).select(columns).sort(columns[:3]).rows()))


def _machine(console: Console, manifest: dict[str, Any]) -> None:
    resources = manifest["resources"]
    rss = resources["max_rss_bytes"]
    resident = MISSING if rss is None else f"{rss / 2**20:.0f} MiB"
    console.print(
        f"took       {duration(resources['virtual_s'])} virtual, {duration(resources['wall_s'])} wall, "
        f"{resident} resident, {cell(resources['packets'])} packets tapped"
    )
    kernel, agent = manifest["kernel"], manifest["agent"]
    release = (kernel.get("release") or kernel["id"]).split("\n")[0]
    console.print(f"made by    {manifest['engine']}, kernel {release}, agent {agent['id'][:12]}")


def _error(console: Console, error: dict[str, Any], path: Path) -> None:
    console.print(f"failed     {error['line']}", style="bold red")
    for line in (error.get("stderr") or "").strip().splitlines()[-15:]:
        console.print(f"           | {line}")
    console.print(f"           see {path}/console.log and {path}/raw/")


def _checks(console: Console, manifest: dict[str, Any]) -> None:
    calibration = manifest["calibration"]
    if calibration:
        rtt = calibration.get("rtt_median_ns")
        rates = [calibration.get(f"rate_{way}_bps") for way in ("down", "up")]
        shown = "/".join(MISSING if rate is None else f"{rate / 1e6:.2f}" for rate in rates)
        verdict = "ok" if calibration["ok"] else "failed: " + "; ".join(calibration["problems"])
        base = MISSING if rtt is None else f"{rtt / 1e6:.3f} ms"
        console.print(f"calibrated {verdict}: base RTT {base}, rate down/up {shown} Mbit/s")
    _settled(console, manifest.get("until_settled"))
    if manifest.get("read_back"):
        compared, others = manifest["read_back"]["compared"], len(manifest["read_back"]["others"])
        console.print(
            f"read back  {compared - others} of {compared} values that the kernel keeps are as asked"
        )
    for hop in manifest["conservation"]:
        verdicts = {"ok": 0, "failed": 0, "not checked": 0}
        for check in hop["checks"]:
            verdicts[check["verdict"]] += 1
        counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items() if count)
        notes = {c["note"] for c in hop["checks"] if c["verdict"] == "not checked" and c["note"]}
        why = f" ({'; '.join(sorted(notes))})" if notes else ""
        console.print(f"conserved  {hop['hop']} {hop['direction']}: {counts}{why}")


def _settled(console: Console, ended: dict[str, Any] | None) -> None:
    """How the rule that may end the flows early did end them."""
    if not ended or not ended["reason"]:
        return
    ends = []
    for one in ended["metrics"]:
        name = one["metric"] + (f" of {one['of']}" if one["of"] else "")
        moved = "its window was not full" if one["moved"] is None else f"moved {100 * one['moved']:.2f} %"
        ends.append(f"{name} {cell(one['value'])} ({moved})")
    console.print(f"flows ended {ended['reason']} at {ended['at_ns'] / 1e9:.1f} s: {', '.join(ends)}")


def _commands(console: Console, path: Path) -> None:
    from narrows.plan.model import Plan

    for step in Plan.read(path / "plan.json").to_dict()["setup"]:
        if step["tool"] in ("tc", "ip"):
            console.print(f"{step['node']:10} {step['tool']} {' '.join(step['args'])}")
