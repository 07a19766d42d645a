"""The runs that are kept in the repository, and what docs/claims.md says of them, belong together."""

from __future__ import annotations

from pathlib import Path

from narrows.runs.find import runs_below
from narrows.studies.ledger import CLAIMS, judge_all, sample, to_markdown

ROOT = Path(__file__).parents[2]
REMEDY = "./narrows claims T1 T2 T3 T4 T5 T6 T7 T8 --results evidence --write docs/claims.md"


def test_the_ledger_says_what_the_kept_runs_show() -> None:
    runs = runs_below([ROOT / "evidence"])
    written = (ROOT / "docs/claims.md").read_text()
    thesis = [module.CLAIM.id for module in CLAIMS if module.CLAIM.id.startswith("T")]
    verdicts = judge_all(runs, thesis)
    assert len(verdicts) == 8
    assert all(verdict.verdict != "not measured" for verdict in verdicts)
    assert to_markdown(verdicts, sample(runs), written) == written, REMEDY
