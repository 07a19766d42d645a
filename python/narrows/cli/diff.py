"""`narrows diff RUN RUN`: where two runs differ: plan, versions, sysctls, tc, figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from narrows.cli.answer_view import came_out, change
from narrows.cli.format import console as make_console
from narrows.cli.format import key, table
from narrows.cli.named_run import find_run
from narrows.errors import UsageError

if TYPE_CHECKING:
    from narrows.store.results import Results

ABSENT = "(absent)"


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """Leaves of nested JSON by their path."""
    if isinstance(value, dict):
        parts = {f"{path}.{name}" if path else str(name): part for name, part in value.items()}
    elif isinstance(value, list):
        parts = {f"{path}[{i}]": part for i, part in enumerate(value)}
    else:
        return {path: value}
    return {name: leaf for where, part in parts.items() for name, leaf in flat(part, where).items()}


def differences(left: Any, right: Any) -> list[tuple[str, Any, Any]]:
    """Leaves that differ, in the order of the left one."""
    a, b = flat(left), flat(right)
    names = list(dict.fromkeys([*a, *b]))
    pairs = [(name, a.get(name, ABSENT), b.get(name, ABSENT)) for name in names]
    return [(name, x, y) for name, x, y in pairs if x != y]


def diff(
    left: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, its beginning, or its directory.")],
    right: Annotated[str, typer.Argument(metavar="RUN", help="Another.")],
    directory: Annotated[Path | None, typer.Option("--dir", help="Where to look.")] = None,
) -> None:
    """Show where two runs differ: what came out, commands, plan, versions, sysctls, figures.

    \b
      narrows list results/hello              # has the ids
      narrows diff 3fa1 b07c                  # their beginnings are enough
    """
    from narrows.plan.model import Plan

    console = make_console()
    a, b = find_run(left, directory), find_run(right, directory)
    manifests = [results.manifest(run) for results, run in (a, b)]
    for results, run in (a, b):
        if run in results.imported:
            raise UsageError(
                f"run {run} was imported from Flent, so it has no plan, commands or figures to compare",
                remedy=f'narrows query {results.directory} "select run_id, source, series, median(value) '
                'from samples group by all"',
            )
    plans = [Plan.read(r.run_directory(run) / "plan.json").to_dict() for r, run in (a, b)]
    for sign, (_, run), manifest in (("-", a, manifests[0]), ("+", b, manifests[1])):
        console.print(f"{sign} {run}  {manifest['status']}  {key(manifest['key'])}")
    came_out(console, [a, b])
    _commands(console, plans)
    for plan in plans:
        plan.pop("setup")
        plan.pop("changes")
    _section(console, "plan", differences(*plans))
    versions = [
        {name: m[name] for name in ("engine", "kernel", "agent", "tools", "python")} for m in manifests
    ]
    _section(console, "versions", differences(*versions))
    _section(console, "sysctls", differences(*[m["sysctls"] for m in manifests]))
    _figures(console, a, b)


def _section(console: Console, title: str, rows: list[tuple[str, Any, Any]]) -> None:
    console.print(f"\n{title}: " + ("the same" if not rows else f"{len(rows)} differ"), style="bold")
    if rows:
        console.print(table(["", "-", "+"], rows))


def _commands(console: Console, plans: list[dict[str, Any]]) -> None:
    import difflib

    left, right = (
        [f"{s['node']}: {s['tool']} {' '.join(s['args'])}" for s in plan["setup"] + plan["changes"]]
        for plan in plans
    )
    lines = [line for line in difflib.ndiff(left, right) if line[0] in "+-"]
    console.print("\ncommands: " + ("the same" if not lines else f"{len(lines)} lines differ"), style="bold")
    for line in lines:
        console.print(line, style="red" if line.startswith("-") else "green")


def _figures(console: Console, a: tuple[Results, str], b: tuple[Results, str]) -> None:
    from narrows.store.whose import with_labels

    found: list[dict[tuple[str, str | None, str, str], float | None]] = []
    for results, run in (a, b):
        every = with_labels(results.metrics(run_id=run))
        frame = every.select("whose", "direction", "quantity", "unit", "value")
        found.append({(s, d, n, u): v for s, d, n, u, v in frame.iter_rows()})
    names = sorted(set(found[0]) | set(found[1]), key=str)
    rows = []
    for name in names:
        x, y = found[0].get(name), found[1].get(name)
        if x != y:
            rows.append([*name, x, y, change(x, y)])
    console.print(
        f"\nfigures: {len(names) - len(rows)} the same" + (f", {len(rows)} differ" if rows else ""),
        style="bold",
    )
    if rows:
        console.print(table(["whose", "direction", "quantity", "unit", "-", "+", "change"], rows))
