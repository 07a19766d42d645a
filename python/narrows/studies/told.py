"""What came of a study's claims: in a sentence, and what the formats of verdicts are made of."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import narrows
from narrows.judging.verdict import Verdict, Word
from narrows.judging.written import Told, facts
from narrows.studies.find import all_claims, study
from narrows.studies.judged import SHARD
from narrows.studies.ledger import deciding

if TYPE_CHECKING:
    from narrows.runs.observed import Observed

HEADINGS = ("claim", "source", "verdict", "decided by", "marks")
SAID: dict[Word, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "holds in part": ("holds in part", "hold in part"),
    "does not hold here": ("does not hold here", "do not hold here"),
    "not testable here": ("cannot be tested here", "cannot be tested here"),
    "not judged": ("was not judged", "were not judged"),
    "not measured": ("was not measured", "were not measured"),
}
_WORDS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip


def counts(verdicts: Sequence[Verdict]) -> str:
    """`Of twelve claims, four hold (R2, R3, …), seven hold in part (…) and one was not measured (R12).`"""
    by_word = {word: [v.claim.id for v in verdicts if v.verdict == word] for word in SAID}
    parts = [
        f"{_count(len(ids))} {SAID[word][len(ids) > 1]} ({', '.join(ids)})"
        for word, ids in by_word.items()
        if ids
    ]
    if len(parts) == 1 and len(verdicts) > 1:
        every = "Both" if len(verdicts) == 2 else f"All {_count(len(verdicts))}"
        return f"{every} claims {SAID[verdicts[0].verdict][1]}."
    told = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    claims = "claim" if len(verdicts) == 1 else "claims"
    return f"Of {_count(len(verdicts))} {claims}, {told}."


def _count(number: int) -> str:
    return _WORDS[number] if number < len(_WORDS) else str(number)


def told(
    verdicts: Sequence[Verdict],
    runs: Sequence[Observed],
    measured: Mapping[str, str],
    roots: Sequence[Path],
    command: str,
) -> Told:
    """The verdicts on claims of one study or several, from the runs below the roots; no `runs`: what is known
    of them is what was `measured`."""
    ids = {run for verdict in verdicts for run in verdict.run_ids}
    own = [run for run in runs if run.run_id in ids]
    of = {name: study(name) for name in dict.fromkeys(all_claims()[v.claim.id][0] for v in verdicts)}
    shards = {
        str(file.relative_to(root.parent)): hashlib.sha256(file.read_bytes()).hexdigest()
        for root in roots
        for file in sorted([root] if root.is_file() else root.rglob(f"*{SHARD}"))
    }
    rows = [
        (
            f"{v.claim.id} {v.claim.text}",
            v.claim.source,
            v.verdict,
            "; ".join(map(str, deciding(v))),
            v.reason,
        )
        for v in verdicts
    ]
    return Told(
        "study",
        ", ".join(of),
        "; ".join(f"{name}: {one.title}" for name, one in of.items()),
        counts(verdicts),
        HEADINGS,
        rows,
        verdicts,
        {
            **{f"paper of {name}": one.paper for name, one in of.items()},
            **{f"runs of {name}": text for name, text in measured.items()},
            **{f"shard {file}": f"SHA-256 {digest}" for file, digest in shards.items()},
            **(facts(own) if own else {"narrows": narrows.__version__}),
        },
        command,
        own,
        {run.run_id: run.error or "no error message was stored" for run in runs if not run.ok},
    )
