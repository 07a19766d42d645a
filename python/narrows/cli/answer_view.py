"""The last lines of a command: what came out, as the table that its page opens with."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from narrows.cli.format import counted, table

if TYPE_CHECKING:
    from narrows.report.answer import Answer
    from narrows.report.small_table import Table
    from narrows.store.results import Results

MOST_LINES = 12
MORE = "… (the rest is on the page)"
WIDEST = 110
MOST_RUNS = 40
"""The most runs of a call of `narrows run` that are read: more take longer than a person waits."""
A_COLUMN = 13
"""Characters; a table that has no room for so many in each column is turned over."""


def lines(sentences: Sequence[str], brief: str, width: int | None) -> list[str]:
    """At most twelve; `brief` says of how many runs the numbers are. None: a line is as long as it is, as
    whatever reads a pipe wants it."""
    last = _folded(brief, width) if brief else []
    room = MOST_LINES - len(last)
    said: list[str] = []
    for n, sentence in enumerate(sentences):
        folded = _folded(sentence, width)
        left = room - len(said) - (n < len(sentences) - 1)
        if len(folded) > left:
            return [*said, *(folded[: max(0, left - 1)] if not said else []), MORE, *last]
        said += folded
    return [*said, *last]


def _folded(text: str, width: int | None) -> list[str]:
    return [text] if width is None else textwrap.wrap(text, min(width, WIDEST), subsequent_indent="  ")


def say(console: Console, sentences: Sequence[str], brief: str = "") -> None:
    for line in lines(sentences, brief, console.width if console.is_terminal else None):
        console.print(line, markup=False, soft_wrap=True)


def grid(found: Table, width: int) -> tuple[list[str], list[list[str]]]:
    """The table's heads and rows for a terminal so wide: conditions down where there is room, else across."""
    heads = [column.head.replace(": ", "\n", 1) for column in found.columns]
    rows = [
        [
            *row.labels,
            str(row.n),
            *(f"{cell} {mark}".strip() for cell, mark in zip(row.cells, row.marks, strict=True)),
        ]
        for row in found.rows[:MOST_LINES]
    ]
    every = [*found.axes, "n", *heads]
    if len(rows) == 1 or (A_COLUMN * len(every) > width and len(rows) <= len(heads)):
        turned = [
            [head.replace("\n", ": ", 1), *(row[place] for row in rows)] for place, head in enumerate(every)
        ]
        places = len(found.axes)
        return ["", *(" ".join(row[:places]) for row in rows)], turned[places:]
    return every, rows


def say_table(console: Console, found: Table) -> None:
    """Print it; of many conditions the first."""
    heads, rows = grid(found, console.width)
    console.print(table(heads, rows))
    if len(found.rows) > MOST_LINES:
        console.print(f"… ({counted(len(found.rows) - MOST_LINES, 'more condition')} on the page)")


def say_answer(console: Console, found: Answer | None) -> None:
    """An experiment's answer, if there is one."""
    if found is not None:
        say(console, [found.sentence] if found.sentence else [])
        say_table(console, found.table)
        say(console, [], found.brief)


def say_of_runs(console: Console, directory: Path, run_ids: Sequence[str]) -> None:
    """What the runs of a call came to, and the command that draws their page."""
    from narrows.report.answer import answer
    from narrows.runs.load import load

    wanted = set(run_ids)
    if 0 < len(wanted) <= MOST_RUNS:
        with Console(stderr=True).status("reading what came out"):
            found = answer([run for run in load(directory) if run.run_id in wanted])
        say_answer(console, found)
        console.print(f"the page: narrows report {directory}")


def came_out(console: Console, places: Sequence[tuple[Results, str]]) -> None:
    """The figures that a report tells first, of a run, or of two with what changed."""
    from narrows.report.answer import of_each
    from narrows.runs.load import load_one

    found = [run for results, run_id in places if (run := load_one(results, run_id)) is not None and run.ok]
    told = of_each(found) if len(found) == len(places) else []
    is_pair = len(places) == 2
    rows = [[column.head, *values, *([change(*values)] if is_pair else [])] for column, values in told]
    if rows:
        console.print("\nwhat came out", style="bold")
        console.print(table(["", "-", "+", "change"] if is_pair else ["", ""], rows))


def change(before: float | None, after: float | None) -> str | None:
    return None if not before or after is None else f"{(after / before - 1) * 100:+.2f} %"
