"""`narrows watch EXPERIMENT`: every pair again and again, and what changed since the last time."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from narrows.cli.experiment import EXPERIMENT_HELP
from narrows.cli.format import about, counted, key, table
from narrows.cli.format import console as make_console
from narrows.errors import SpecError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from narrows.comparing.pair_shares import Summary
    from narrows.engine.types import Engine
    from narrows.plan.model import Plan
    from narrows.watch.iterations import Iteration
    from narrows.watch.queue import Pair, Rule, State

LOOK_S = 1.0


def watch(
    file: Annotated[Path, typer.Argument(metavar="EXPERIMENT", help=EXPERIMENT_HELP)],
    only: Annotated[str | None, typer.Option(help="These runs alone: 'rate=8Mbit length=180s'.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where; default: results/watch/EXPERIMENT.")] = None,
    a_set: Annotated[int, typer.Option("--set", min=1, help="Trials of a pair in a set.")] = 10,
    most: Annotated[int, typer.Option(min=1, help="Trials of a pair at most; wide then: unstable.")] = 30,
    within: Annotated[
        float | None,
        typer.Option(help="Mbit/s that an interval may reach; default: 0.5 at 8 Mbit/s, 1.5 above."),
    ] = None,
    every: Annotated[
        float | None,
        typer.Option(help="Hours after which it looks again whether anything changed; default: once."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Guests at once; default: one per core.")] = None,
) -> None:
    """Go through all pairs of an experiment until each is known, and compare with the last time.

    \b
      narrows watch t09_all_pairs --only 'rate=8Mbit length=180s'
      narrows watch own_service --set 6 --most 12   # the example of a service of one's own
      narrows watch FILE --every 24                 # look each day whether anything is new

    An iteration is of one kernel, browser and set of players. It is stopped with Ctrl-C and gone on with
    by the same call. When it is finished, the next call begins another only if a version has changed: in
    virtual time the same versions give the same bytes.
    """
    from narrows.cli.run import terminate
    from narrows.watch.queue import Rule

    console = make_console()
    if a_set > most:
        raise UsageError(f"--set {a_set} is more than --most {most}", remedy="a smaller set")
    rule = Rule(a_set, most, within)
    name, plans = _plans(file, only, most)
    directory = out or Path("results") / "watch" / name
    signal.signal(signal.SIGTERM, terminate)
    while True:
        _once(console, file, plans, directory, rule, jobs)
        if every is None:
            return
        console.print(f"looking again in {every:g} h; Ctrl-C ends it")
        until = time.monotonic() + 3600 * every
        while time.monotonic() < until:
            time.sleep(LOOK_S)


def _plans(file: Path, only: str | None, most: int) -> tuple[str, list[Plan]]:
    """The plans of so many repetitions of each pair."""
    from narrows.plan.build import plan_experiment
    from narrows.plan.select import select
    from narrows.spec.load import load
    from narrows.spec.named import experiment_file
    from narrows.spec.observe import repeat
    from narrows.spec.pairs import PAIR

    experiment = load(experiment_file(file))
    repeated = dataclasses.replace(experiment, repeat=repeat(n=most))
    plans = select(list(plan_experiment(repeated).plans), only)
    if not plans:
        raise UsageError("there is no run to make", where=str(file))
    if PAIR not in plans[0].key:
        raise SpecError(
            "there are no pairs to watch",
            where=str(file),
            remedy="first, second = pairs({…}): docs/services.md",
        )
    return experiment.name, plans


def _once(
    console: Console, file: Path, plans: Sequence[Plan], directory: Path, rule: Rule, jobs: int | None
) -> None:
    """One iteration, from where it was left; then what changed since the one before."""
    from narrows.engine.choose import make_engine
    from narrows.engine.refused import refused
    from narrows.watch import iterations
    from narrows.watch.versions import versions

    engine = make_engine("uml")
    refused(engine.check, plans)
    before, now = iterations.there(directory), versions(engine.info, plans)
    iteration = iterations.begin(directory, now)
    if before and iteration.number > before[-1].number:
        news = iterations.changed(before[-1].versions, now)
        console.print(f"iteration {iteration.number}, because of {'; '.join(news)}")
    else:
        console.print(f"iteration {iteration.number} in {iteration.directory}")
    if not _carry(console, file, plans, engine, iteration, rule, jobs):
        console.print(
            "nothing to run: every pair is known, and kernel, browser and players are the same; the same "
            "runs would give the same bytes"
        )
    iteration.finish()
    _compare(console, iterations.there(directory))
    _shares(console, iteration)
    console.print(f"who gets what, and how it moved: narrows serve {directory}", soft_wrap=True)


def _carry(
    console: Console,
    file: Path,
    plans: Sequence[Plan],
    engine: Engine,
    iteration: Iteration,
    rule: Rule,
    jobs: int | None,
) -> int:
    """Set after set, until no pair is open; how many runs there were to make."""

    from narrows.cli.run import carry_out
    from narrows.engine.costs import pace_of
    from narrows.engine.runner import Runner
    from narrows.store.finish import FinishPool
    from narrows.watch.queue import next_set

    asked = 0
    with FinishPool(jobs or len(os.sched_getaffinity(0))) as finish:
        while True:
            now = _states(plans, engine, iteration, rule)
            words = Counter(state.word for state in now)
            console.print(
                f"{counted(len(now), 'pair')}: {', '.join(f'{n} {word}' for word, n in words.items())}"
            )
            batch = next_set(plans, now, rule)
            if not batch:
                break
            asked += len(batch)
            pace, guessed = pace_of(batch)
            left = about(pace.left_s([], min(len(batch), len(engine.slots(jobs)))) or 0.0)
            rough = ", a rough guess" if guessed else ""
            console.print(f"the next set: {counted(len(batch), 'run')}, about {left}{rough}")
            runner = Runner(engine, batch, iteration.runs, finish, jobs=jobs, keep_order=True)
            carry_out(console, runner, iteration.runs, f"narrows watch {file}", pace)
    unstable = [state for state in now if state.word == "unstable"]
    for state in unstable:
        width = "no interval" if state.width_mbps is None else f"± {state.width_mbps:.2f} Mbit/s"
        reason = f"{width} after {counted(state.valid, 'valid trial')}"
        console.print(f"unstable: {key(dict(state.pair))}: {reason}")
    return asked


def _states(plans: Sequence[Plan], engine: Engine, iteration: Iteration, rule: Rule) -> list[State]:
    """What the disk says of every pair."""
    from narrows.engine import layout
    from narrows.engine.types import run_id_on
    from narrows.watch.queue import pair_of, states

    made: Counter[Pair] = Counter()
    for plan in plans:
        run = run_id_on(engine, plan)
        whole = layout.is_whole(layout.run_dir(iteration.runs, run))
        made[pair_of(plan)] += whole or layout.failed_dir(iteration.runs, run).exists()
    return states(plans, made, _found(iteration), rule)


def _found(iteration: Iteration) -> list[Summary]:
    from narrows.comparing.pair_shares import summaries
    from narrows.comparing.trials import trials
    from narrows.runs.find import holds_runs
    from narrows.runs.load import load

    return summaries(trials(load(iteration.runs))) if holds_runs(iteration.runs) else []


def _shares(console: Console, iteration: Iteration) -> None:
    """What each service of each pair got, in the iteration that is done."""
    rows = [
        [
            " ".join(f"{axis}={label}" for axis, label in one.conditions),
            "+".join(one.pair),
            side.service,
            str(one.n),
            _interval(side),
            "–" if side.share is None else f"{100 * side.share:.0f}",
        ]
        for one in _found(iteration)
        if len(one.pair) > 1
        for side in one.sides
    ]
    if rows:
        console.print(table(["conditions", "pair", "service", "n", "rate [Mbit/s]", "share [%]"], rows))
        console.print("medians over n valid trials; 100 %: the max-min fair rate", soft_wrap=True)


def _compare(console: Console, known: Sequence[Iteration]) -> None:
    """The last finished iteration beside the one before."""
    from narrows.watch.compare import differences
    from narrows.watch.iterations import changed

    done = [one for one in known if one.finished is not None]
    if len(done) < 2:
        console.print("one iteration: nothing to compare with yet")
        return
    old, new = done[-2:]
    rows = [
        [one.word, one.conditions, one.pair, one.service, _interval(one.before), _interval(one.after)]
        for one in differences(_found(old), _found(new))
    ]
    console.print(f"from {old.number} to {new.number}: {'; '.join(changed(old.versions, new.versions))}")
    head = ["", "conditions", "pair", "service", f"{old.number} [Mbit/s]", f"{new.number} [Mbit/s]"]
    console.print(table(head, rows))


def _interval(side: object) -> str:
    from narrows.comparing.pair_shares import Side

    assert isinstance(side, Side)
    if side.rate_mbps is None:
        return "–"
    if side.low_mbps is None or side.high_mbps is None:
        return f"{side.rate_mbps:.2f}"
    return f"{side.rate_mbps:.2f} [{side.low_mbps:.2f} … {side.high_mbps:.2f}]"
