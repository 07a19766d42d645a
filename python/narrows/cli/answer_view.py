"""The last lines of a command: what came out, in the words that its page opens with."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from narrows.report.answer import Answer

MOST_LINES = 12
MORE = "… (the rest is on the page)"
WIDEST = 110
MOST_RUNS = 40
"""The most runs of a call of `narrows run` that are read: more take longer than a person waits."""


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
    """Print them."""
    for line in lines(sentences, brief, console.width if console.is_terminal else None):
        console.print(line, markup=False, soft_wrap=True)


def say_answer(console: Console, found: Answer | None) -> None:
    """An experiment's answer, if there is one."""
    if found is not None:
        say(console, found.sentences, found.brief)


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
