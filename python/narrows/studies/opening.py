"""What a study's page opens with: sentences for a reader who knows no paper, with numbers of the verdicts.

A study's `opening.py` has them as `SAID`. Where a number belongs stands `{CLAIM|quantity|conditions|form}`:
that of the claim's verdict whose name is the quantity and which has these labels, each as `axis=label`, with
commas between them. The form is `min` or `max` (the least or the largest that matches). `-` in place of a
claim means numbers that the study's own `numbers(runs)` gives. A sentence that lacks one of its numbers is
not said, so a page says what its runs measured and nothing else.
"""

import importlib
import re
from collections.abc import Sequence
from types import ModuleType

from narrows.judging.verdict import QUANTITY, Number, Verdict
from narrows.runs.observed import Observed

_BLANK = re.compile(
    r"\{(?P<claim>[^|{}]+)\|(?P<name>[^|{}]+)\|(?P<conditions>[^|{}]*)(?:\|(?P<form>[^|{}]+))?\}"
)
OWN = "-"


def opening(name: str, verdicts: Sequence[Verdict], runs: Sequence[Observed]) -> list[str]:
    """The sentences whose numbers are there."""
    module = importlib.import_module(f"narrows.studies.{name}.opening")
    known = {each.claim.id: each.numbers for each in verdicts}
    if hasattr(module, "numbers"):
        known[OWN] = tuple(module.numbers([run for run in runs if run.ok]))
    return [filled for text in said(module) if (filled := fill(text, known)) is not None]


def said(module: ModuleType) -> tuple[str, ...]:
    """A study's sentences, with blanks."""
    texts: tuple[str, ...] = module.SAID
    return texts


def fill(text: str, known: dict[str, tuple[Number, ...]]) -> str | None:
    """One sentence with its numbers and how many runs each is of; None where one is missing."""
    used: list[Number] = []

    def blank(match: re.Match[str]) -> str:
        pairs = (pair.partition("=") for pair in match["conditions"].split(", ") if pair)
        asked = {QUANTITY: match["name"], **{axis: label for axis, _, label in pairs}}
        these = [each for each in known.get(match["claim"], ()) if each.at(asked)]
        if not these:
            raise LookupError
        ordered = sorted(these, key=lambda each: each.value) if match["form"] else these
        used.append(ordered[-1] if match["form"] == "max" else ordered[0])
        return used[-1].said

    try:
        filled = _BLANK.sub(blank, text)
    except LookupError:
        return None
    counts = sorted({each.n for each in used})
    n = " to ".join(str(each) for each in dict.fromkeys((counts[0], counts[-1]))) if counts else ""
    return f"{filled.removesuffix('.')} (n = {n})." if n else filled
