"""`narrows plan EXPERIMENT`: what an experiment would run. Touches nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from narrows.cli.experiment import EXPERIMENT_HELP
from narrows.cli.format import table as rows_table
from narrows.units import Duration, Rate, Size

if TYPE_CHECKING:
    from narrows.plan.build import Plans
    from narrows.plan.items import Start, Stop, TrafficItem
    from narrows.plan.model import LinkDirection, Plan

MOST_ROWS = 60
"""A longer table is cut; --json has all runs."""


def plan(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[EXPERIMENT]", help=f"{EXPERIMENT_HELP} Without one: their list."),
    ] = None,
    only: Annotated[
        str, typer.Option("--only", help="Runs to keep: 'queue=fq_codel,sfq rate=100Mbit'.")
    ] = "",
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Also the exact commands and the timeline.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One plan per line, as JSON.")] = False,
) -> None:
    """Print the runs of an experiment; touch nothing.

    \b
      narrows plan                                       # the experiments that come with narrows
      narrows plan hello                                 # an experiment that comes with narrows
      narrows plan experiments/hello.py -v               # also every ip and tc command
      narrows plan FILE --only 'queue=codel,sfq seed=0'  # spaces: and; commas: or
      narrows plan FILE --json > plans.json              # what the agent is given

    How an experiment is written: docs/spec.md.
    """
    from narrows.plan.build import plan_file
    from narrows.plan.select import select_keys
    from narrows.spec.named import experiment_file, named, question

    if file is None:
        console = Console(highlight=False)
        rows = [[name, question(at)] for name, at in named().items()]
        console.print(rows_table(["experiment", "question"], rows))
        return
    plans = plan_file(experiment_file(file))
    entries = [(p.key, (p, end)) for p, end in zip(plans.plans, plans.expected_end_ns, strict=True)]
    kept = select_keys(entries, only)
    if as_json:
        for each, _ in kept:
            typer.echo(json.dumps(each.to_dict(), separators=(",", ":"), ensure_ascii=False))
        return
    console = Console(highlight=False)
    chosen = [each for each, _ in kept]
    console.print(f"[bold]{plans.experiment.name}[/bold]: {plans.experiment.question}")
    _print_defaults(console, chosen)
    _print_table(console, chosen, [end for _, end in kept])
    _print_totals(console, plans, kept)
    if verbose:
        for title, each in _distinct(chosen):
            console.print()
            console.print(f"[bold]{title}[/bold]", soft_wrap=True)
            _print_commands(console, each)
            _print_timeline(console, each)


# ---- the table -------------------------------------------------------------------------------------------


def _constant(plans: Sequence[Plan]) -> dict[str, str]:
    """Descriptions of the link that hold for all runs."""
    described = [_describe(each) for each in plans]
    return {
        name: value for name, value in described[0].items() if all(d.get(name) == value for d in described)
    }


def _drawn(plans: Sequence[Plan]) -> list[str]:
    """What of the link differs between repetitions: it was drawn from a profile."""
    from narrows.spec.axis import SEED

    first: dict[tuple[str, ...], dict[str, str]] = {}
    differ: dict[str, None] = {}
    for each in plans:
        described = _describe(each)
        other = first.setdefault(tuple(v for k, v in each.key.items() if k != SEED), described)
        differ |= dict.fromkeys(name for name in described if described[name] != other.get(name))
    return [name for name in differ if name not in ("shaper", "memory")]  # they follow from the rate


def _describe(plan: Plan) -> dict[str, str]:
    link = plan.link
    latency = plan.machine.timer_latency
    describe = {
        "rate": _both(_rate(link.rate_down_bps), _rate(link.rate_up_bps)),
        "shaper": _both(_shaper(link.down), _shaper(link.up)),
        "queue": _both(_queue(link.down), _queue(link.up)),
        "base RTT": f"{Duration(link.base_rtt_ns)} "
        f"({Duration(link.down.delay_ns)} down, {Duration(link.up.delay_ns)} up)",
        "jitter": _both(str(Duration(link.down.jitter_ns)), str(Duration(link.up.jitter_ns))),
        "loss": _both(f"{link.down.loss_percent:g} %", f"{link.up.loss_percent:g} %"),
        "line rate": "unlimited" if link.line_rate_bps is None else str(Rate(link.line_rate_bps)),
        "MTU": f"{link.mtu_bytes} B",
        "changes": "; ".join(link.changes) or "none",
        "timer latency": "exact"
        if latency is None
        else f"{Duration(latency.min_ns)} to {Duration(latency.max_ns)}",
        "memory": str(Size(plan.machine.memory_bytes)),
    }
    if link.home is not None:
        for name, queue in (("home egress", link.home.up), ("home ingress", link.home.down)):
            describe[name] = "no queue" if queue is None else f"{_queue(queue)} at {_rate(queue.rate_bps)}"
    describe["tap"] = plan.hops[0].tap if plan.hops else "off"
    if plan.until_settled is not None:
        rule = plan.until_settled
        describe["flows end"] = (
            f"when {', '.join(rule.metrics)} moved less than {100 * rule.within:g} % in "
            f"{Duration(rule.window_ns)}, not before {Duration(rule.not_before_ns)}"
        )
    return describe


def _both(down: str, up: str) -> str:
    return down if down == up else f"{down} down, {up} up"


def _rate(bps: int | None) -> str:
    return "unlimited" if bps is None else str(Rate(bps))


def _words(options: dict[str, str]) -> str:
    return " ".join(f"{name} {value}" if value else name for name, value in options.items())


def _shaper(direction: LinkDirection) -> str:
    if direction.shaper is None:
        return "none"
    rest = {k: v for k, v in direction.shaper_options.items() if k not in ("rate", "quantum")}
    return f"{direction.shaper} {_words(rest)}".strip()


def _queue(direction: LinkDirection) -> str:
    rest = {k: v for k, v in direction.queue_options.items() if k != "bandwidth"}
    return f"{direction.queue} {_words(rest)}".strip()


def _print_defaults(console: Console, plans: Sequence[Plan]) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in _constant(plans).items():
        table.add_row(f"  {name}", value)
    console.print(table)
    console.print()


def _print_table(console: Console, plans: Sequence[Plan], ends_ns: Sequence[int]) -> None:
    from narrows.plan.items import Command

    axes = list(plans[0].key)
    table = Table(box=None, pad_edge=False)
    table.add_column("#", justify="right")
    for axis in axes:
        table.add_column(axis)
    drawn = _drawn(plans)
    for name in drawn:
        table.add_column(name)
    table.add_column("lasts", justify="right")
    table.add_column("traffic")
    for number, (each, end_ns) in enumerate(zip(plans, ends_ns, strict=True), start=1):
        if number > MOST_ROWS:
            break
        items = " ".join(i.id for i in each.traffic if not (isinstance(i, Command) and i.background))
        labels = [each.key[axis] for axis in axes]
        labels += [_describe(each)[name] for name in drawn]
        most = "" if each.until_settled is None else "≤ "
        table.add_row(str(number), *labels, f"{most}{end_ns / 1e9:.1f} s", items)
    console.print(table)
    if len(plans) > MOST_ROWS:
        console.print(f"… and {len(plans) - MOST_ROWS} more (--only selects, --json lists all)")


def _print_totals(console: Console, plans: Plans, kept: Sequence[tuple[Plan, int]]) -> None:
    total_s = sum(end for _, end in kept) / 1e9
    of = f" of {len(plans.plans)}" if len(kept) != len(plans.plans) else ""
    runs = "run" if len(kept) == 1 else "runs"
    lasting = f"{total_s / 3600:.1f} h" if total_s >= 7200 else f"{total_s:.1f} s"
    most = "at most " if any(each.until_settled is not None for each, _ in kept) else ""
    console.print(f"\n[bold]{len(kept)}[/bold]{of} {runs}, {most}{lasting} of virtual time")


# ---- -v --------------------------------------------------------------------------------------------------


def _distinct(plans: Sequence[Plan]) -> list[tuple[str, Plan]]:
    """One plan of each set of equal commands, with the keys that share them."""
    from narrows.plan.identity import canonical_json

    groups: dict[str, list[Plan]] = {}
    for each in plans:
        data = each.to_dict()
        content = canonical_json([data[part] for part in ("setup", "changes", "captures", "machine")])
        content += canonical_json([{**i, "start": 0, "stop": 0} for i in data["traffic"]])
        groups.setdefault(content, []).append(each)
    distinct = []
    for group in groups.values():
        first = group[0]
        labels = []
        for axis in first.key:
            values = list(dict.fromkeys(each.key[axis] for each in group))
            shown = values[0] if len(values) == 1 else f"{values[0]}…{values[-1]}"
            labels.append(f"{axis}={shown}")
        distinct.append((" ".join(labels), first))
    return distinct


def _print_commands(console: Console, plan: Plan) -> None:
    for node in plan.nodes:
        console.print(f"  [bold]{node.name}[/bold]")
        for step in plan.setup:
            if step.node == node.name:
                console.print(f"    {step.command()}", soft_wrap=True, markup=False)
    if plan.changes:
        console.print("  [bold]changes[/bold]")
    for change in plan.changes:
        at = Duration(change.at_ns)
        console.print(f"    at {at}, {change.node}: {change.command()}", soft_wrap=True, markup=False)


def _print_timeline(console: Console, plan: Plan) -> None:
    from narrows.plan.items import Command

    console.print("  [bold]traffic[/bold]")
    for item in plan.traffic:
        times = f"{_start(item.start)}, {_stop(item.stop)}"
        if isinstance(item, Command) and item.background:
            times = "before t = 0, until the end"
        console.print(f"    {item.id} ({times}): {_what(item)}", soft_wrap=True, markup=False)


def _start(start: Start) -> str:
    from narrows.plan.items import AfterItem, AtTime

    if isinstance(start, AtTime):
        return f"from {start.at_ns / 1e9:.6f} s"
    assert isinstance(start, AfterItem)
    return f"{start.delay_ns / 1e9:.6f} s after {start.after} has ended"


def _stop(stop: Stop) -> str:
    from narrows.plan.items import AtTime, WithItem

    if isinstance(stop, AtTime):
        return f"to {stop.at_ns / 1e9:.6f} s"
    return f"until {stop.with_} ends" if isinstance(stop, WithItem) else "ends by itself"


def _what(item: TrafficItem) -> str:
    from narrows.plan.items import Command, TcpBulk

    if isinstance(item, Command):
        return f"{item.node}: {' '.join(item.argv)}"
    if isinstance(item, TcpBulk):
        flows = "1 flow" if item.flows == 1 else f"{item.flows} flows"
        amount = "" if item.bytes is None else f", {Size(item.bytes)} each"
        return f"{flows} of TCP {item.cca}, {item.sender} → {item.receiver}{amount}"
    every = Duration(item.interval_ns)
    return f"{item.kind}, {item.client} → {item.server}, {item.payload_bytes} B every {every}"
