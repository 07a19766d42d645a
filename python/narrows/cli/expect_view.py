"""Shows whether an experiment's pass marks hold: on the terminal, and as Markdown for a review."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from narrows.cli.format import counted, key, table

if TYPE_CHECKING:
    from rich.console import Console

    from narrows.comparing.expectations import Verdict

HEAD = ("", "condition", "mark", "found", "n")


def rows(verdicts: Sequence[Verdict]) -> list[list[str]]:
    """A row of words for each verdict."""
    from narrows.comparing.expectations import shown

    return [
        [
            "ok" if one.holds else "FAILS",
            key(dict(one.condition)) or "all",
            one.mark,
            "–" if one.value is None else shown(one.value, one.unit),
            f"{one.n}/{one.of}",
        ]
        for one in verdicts
    ]


def show(console: Console, verdicts: Sequence[Verdict]) -> bool:
    """Print the table; True if all hold."""
    console.print(table(list(HEAD), rows(verdicts)))
    bad = [one for one in verdicts if not one.holds]
    for one in bad:
        console.print(f"fails: {key(dict(one.condition))} {one.mark}: {one.reason}")
    console.print(f"{len(verdicts) - len(bad)} of {counted(len(verdicts), 'pass mark')} hold")
    return not bad


def markdown(name: str, question: str, verdicts: Sequence[Verdict]) -> str:
    """The same for a pull request."""
    cells = [HEAD, ("---",) * len(HEAD), *rows(verdicts)]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]
    bad = sum(not one.holds for one in verdicts)
    head = f"## {name}: {'all pass marks hold' if not bad else counted(bad, 'pass mark') + ' fails'}"
    return "\n".join([head, "", question, "", *lines, ""])


def append(path: Path, text: str) -> None:
    """Add to a file, as GitHub's step summary wants it."""
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
