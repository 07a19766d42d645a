"""The runs that are kept in the repository, and what docs/claims.md says of them, belong together."""

from __future__ import annotations

from pathlib import Path

from narrows.runs.find import runs_below
from narrows.studies.ledger import judge_all, to_ledger

ROOT = Path(__file__).parents[2]
REMEDY = "./narrows claims --results evidence --write docs/claims.md"


def test_the_ledger_says_what_the_kept_runs_show() -> None:
    runs = runs_below([ROOT / "evidence"])
    written = (ROOT / "docs/claims.md").read_text()
    verdicts = judge_all(runs)
    assert sum(verdict.verdict != "not measured" for verdict in verdicts) >= 8
    assert to_ledger(verdicts, runs, "evidence", written) == written, REMEDY


def test_the_ledger_is_a_page_of_at_most_150_lines() -> None:
    assert len((ROOT / "docs/claims.md").read_text().splitlines()) <= 150
