"""What came of the pass marks of an experiment, as `narrows run` left it beside the runs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrows.comparing.expectations import Verdict, shown
from narrows.runs.observed import Observed

FILE = "expected.json"
"""In a directory of results."""


@dataclass(frozen=True)
class Mark:
    """A mark under a condition, in words."""

    mark: str
    condition: str
    found: str
    holds: bool


def in_words(verdicts: Sequence[Verdict]) -> tuple[Mark, ...]:
    """Each verdict as people read it, those that fail first."""
    said = [
        Mark(
            one.mark,
            " ".join(f"{axis}={label}" for axis, label in one.condition.items()),
            f"{'–' if one.value is None else shown(one.value, one.unit)} (n = {one.n} of {one.of})",
            one.holds,
        )
        for one in verdicts
    ]
    return tuple(sorted(said, key=lambda one: one.holds))


def marks(runs: Sequence[Observed]) -> tuple[Mark, ...]:
    """Of the directories that the runs lie in; a verdict of which a run is not among these does not count."""
    known = {run.run_id for run in runs}
    folders = dict.fromkeys(run.folder.parent for run in runs if run.folder is not None)
    return in_words([one for folder in folders for one in _read(folder / FILE) if set(one.runs) <= known])


def _read(file: Path) -> list[Verdict]:
    try:
        document: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return [Verdict(**{**each, "runs": tuple(each["runs"])}) for each in document["marks"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []  # no mark was ever judged there, or by another version
