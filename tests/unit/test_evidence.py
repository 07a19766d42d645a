"""The runs that are kept in the repository, and what docs/claims.md says of them, belong together."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from narrows.plan import model
from narrows.runs import archive
from narrows.runs.archive import SUFFIX
from narrows.runs.find import runs_below
from narrows.studies.find import all_claims, studies
from narrows.studies.ledger import judge_all, measured, to_ledger

ROOT = Path(__file__).parents[2]
REMEDY = "./narrows claims --results evidence --write docs/claims.md"


def test_the_ledger_says_what_the_kept_runs_show() -> None:
    runs = runs_below([ROOT / "evidence"])
    written = (ROOT / "docs/claims.md").read_text()
    verdicts = judge_all(runs)
    assert sum(verdict.verdict != "not measured" for verdict in verdicts) >= 8
    assert to_ledger(verdicts, measured(verdicts, runs), "evidence", written) == written, REMEDY


def test_what_is_kept_is_of_todays_formats_and_small() -> None:
    """A change of a format converts what is kept (scripts/convert_evidence.py)."""
    shards = sorted((ROOT / "evidence").glob(f"*/*{SUFFIX}"))
    assert shards
    assert sum(shard.stat().st_size for shard in shards) < 5e6
    for shard in shards:
        frame = pl.read_parquet(shard, columns=["format", "plan"])
        assert set(frame["format"]) == {archive.FORMAT}, shard
        assert set(frame["plan"].str.json_path_match("$.format")) == {str(model.FORMAT)}, shard


def test_the_ledger_is_a_row_for_each_claim_and_a_few_lines_for_each_study() -> None:
    lines = (ROOT / "docs/claims.md").read_text().splitlines()
    assert len(lines) <= len(all_claims()) + 7 * len(studies()) + 6
