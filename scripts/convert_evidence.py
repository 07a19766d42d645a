"""Writes kept shards of earlier formats again in today's: `scripts/convert_evidence.py BATCH`.

A change of a format puts what it does to one plan into `today`, or to the rows of a shard into `converted`,
calls this once and commits code and evidence together (docs/contributing.md): what is kept is always of
today's formats, and nothing else reads earlier ones. Ids, and all that a change does not name, stay as they
were. The shards of a study that change become evidence/<study>/BATCH.runs.parquet: no file is rewritten.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl

from narrows.plan.identity import canonical_json
from narrows.plan.model import Plan
from narrows.runs import archive

EVIDENCE = Path(__file__).parents[1] / "evidence"


def today(plan: dict[str, Any]) -> dict[str, Any]:
    """A plan as it is in the shard, as one of today's format."""
    return plan


def converted(frame: pl.DataFrame) -> pl.DataFrame:
    """A shard as it is kept, as one of today's format; columns that it does not have are NULL."""
    plans = {
        text: canonical_json(Plan.from_json(json.dumps(today(json.loads(text)))).to_dict())
        for text in frame["plan"].unique()
    }
    frame = frame.with_columns(format=pl.lit(archive.FORMAT), plan=pl.col("plan").replace_strict(plans))
    empty = pl.DataFrame(schema=archive.SCHEMA)
    return pl.concat([empty, frame], how="diagonal_relaxed").cast(archive.SCHEMA)


def main(batch: str) -> None:
    for study in sorted(EVIDENCE.iterdir()):
        kept = {path: pl.read_parquet(path) for path in sorted(study.glob(f"*{archive.SUFFIX}"))}
        changed = {
            path: after for path, frame in kept.items() if not (after := converted(frame)).equals(frame)
        }
        if changed:
            new = study / (batch + archive.SUFFIX)
            archive.write_frame(pl.concat(changed.values()), new)
            print(f"{new}: {new.stat().st_size} bytes, was {sum(path.stat().st_size for path in changed)}")
            for path in changed:
                path.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
