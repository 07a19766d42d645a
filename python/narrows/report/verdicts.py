"""What tools that name a queue said of it, and whether that is right, as columns of the answer's table.

A tool's `verdict.py` says what its program's output comes to (`said`: by direction) and whether that names a
kind of queue (`is_right`). The truth is the plan's queue where packets wait.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from narrows.comparing.conditions import group
from narrows.comparing.outcome import Outcome
from narrows.errors import NarrowsError
from narrows.figures.chosen import WAY
from narrows.plan.items import Command
from narrows.report.small_table import Column, Table
from narrows.runs.observed import DIRECTIONS, Observed, is_background
from narrows.store.command_run import read_text
from narrows.tools import registry

CANNOT = "cannot tell"
VERDICT = "verdict"
"""The part of a tool's folder."""


@dataclass(frozen=True)
class _Said:
    """One answer of one run."""

    item: str
    way: str
    words: str
    is_right: bool | None
    """None: it has no word for this kind of queue."""


def beside(table: Table, every: Outcome) -> tuple[Table, str]:
    """The table with what was said of the queues before its other columns, and that in a sentence; the same
    table and no words where nothing was said."""
    said = {id(run): _of(run) for run in every.runs}
    heads = list(dict.fromkeys((each.item, each.way) for some in said.values() for each in some))
    if not heads:
        return table, ""
    groups = group(every.runs, every.axes)
    rows = []
    for row in table.rows:
        cells, marks = [], []
        for head in heads:
            own = [
                each for run in groups[row.labels] for each in said[id(run)] if (each.item, each.way) == head
            ]
            right = sum(bool(each.is_right) for each in own)
            words = " / ".join(word for word, _ in Counter(each.words for each in own).most_common())
            cells.append(f"{words or '–'}{f' ({right} of {len(own)} right)' if len(own) > 1 else ''}")
            unknown = not own or any(each.is_right is None for each in own)
            marks.append("" if unknown else "right" if right == len(own) else "wrong")
        rows.append(replace(row, cells=(*cells, *row.cells), marks=(*marks, *row.marks)))
    columns = [Column(item, f"says of the queue, {WAY[way]}", "", None) for item, way in heads]
    every_answer = [each for some in said.values() for each in some]
    right = sum(bool(each.is_right) for each in every_answer)
    who = " and ".join(dict.fromkeys(each.item for each in every_answer))
    sentence = f"{who}: the queue is named rightly in {right} of {len(every_answer)} answers."
    return replace(table, columns=(*columns, *table.columns), rows=tuple(rows)), sentence


def _of(run: Observed) -> Sequence[_Said]:
    """Of a run whose files are here."""
    found = []
    for part in run.plan.traffic:
        if not isinstance(part, Command) or is_background(part) or run.folder is None:
            continue
        said, is_right = (registry.function(part.tool, VERDICT, name) for name in ("said", "is_right"))
        if said is None:
            continue
        try:
            answers = said(read_text(run.folder / "raw", f"{part.id}.stdout"))
        except (NarrowsError, OSError, ValueError):
            continue  # its program wrote nothing that can be read, which its figures say
        for way in DIRECTIONS:
            if way in answers:
                right = is_right(answers[way], _queues(run, way))
                found.append(_Said(part.item, way, answers[way] or CANNOT, right))
    return found


def _queues(run: Observed, way: str) -> list[str]:
    """The kinds of queue that packets pass, that of the bottleneck first."""
    direction: Any = way
    hops = dict.fromkeys([run.bottleneck(way), *(hop.hop for hop in run.plan.hops if hop.direction == way)])
    return [run.link.queue_at(hop, direction).queue for hop in hops]
