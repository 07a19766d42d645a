"""One small file of what verdicts and figures of many flows are made from, instead of every drop.

A run of many flows is megabytes, and what claims ask of it kilobytes: its plan, what carried it out, and its
`ManyFlows`. A file of these can lie beside the text that rests on it, so that a sweep of many hours is judged
again in seconds, and grows by the runs of another day. Parquet, a row per run; docs/data.md has its columns.
The flows' own rows have no labels (ports are random) and seven digits.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_type_hints

import polars as pl
import polars.selectors as cs
from pydantic import TypeAdapter

from narrows.errors import StoreError
from narrows.metrics.fairness.many_flows import SHARES, ManyFlows
from narrows.runs.flow_case import flow_case
from narrows.runs.observed import Observed

SUFFIX = ".runs.parquet"
FORMAT = 1
FRAMES = ("table", "jain_series", "share_series")
MANIFEST = (
    "run_id", "engine", "kernel", "agent", "plan_hash", "until_settled", "resources", "warnings",
    "written_at",
)  # fmt: skip
"""What is kept of a manifest."""


def write(runs: Iterable[Observed], path: Path) -> int:
    """Keep the good runs with a flow tap, whole or not at all; how many these are."""
    rows = [row for run in runs if run.ok and (row := _row(run)) is not None]
    if not rows:
        raise StoreError(
            "no good run with a flow tap, so nothing to keep",
            remedy="flow_tap() in the experiment records one",
        )
    new = path.with_name(f"{path.name}.new")
    frame = pl.DataFrame(rows, infer_schema_length=None).sort("condition", "seed", "run_id")
    frame.write_parquet(new, compression="zstd", compression_level=19, row_group_size=4096)
    new.replace(path)
    return frame.height


def read(path: Path) -> list[Observed]:
    """The runs of an archive; their numbers are put together when first asked for."""
    try:
        frame = pl.read_parquet(path)
        formats = set(frame["format"])
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            f"cannot be read as an archive of runs: {error}",
            where=str(path),
            remedy="narrows archive makes one",
        ) from error
    if formats - {FORMAT}:
        raise StoreError(
            f"archive of format {max(formats)}, this narrows reads {FORMAT}",
            where=str(path),
            remedy="use the narrows that wrote it",
        )
    return [_observed(row) for row in frame.iter_rows(named=True)]


def merged(old: Iterable[Observed], new: Iterable[Observed]) -> list[Observed]:
    """Old runs and new ones; of a plan that was carried out again only the new, as of results."""
    return list({_what(run): run for run in (*old, *(each for each in new if each.ok))}.values())


def _what(run: Observed) -> tuple[str, str, str]:
    """What a run measured, whichever build of the kernel carried it out."""
    return (run.manifest["plan_hash"], run.manifest["engine"], run.kernel_config)


def _row(run: Observed) -> dict[str, Any] | None:
    case, many = flow_case(run), run.many
    if case is None or many is None:
        return None
    plain = {f.name: getattr(many, f.name) for f in dataclasses.fields(many) if f.name not in FRAMES}
    return {
        "format": FORMAT,
        "run_id": run.run_id,
        "condition": case.words(),
        "seed": int(run.plan["seed"]),
        "experiment": run.experiment,
        "question": run.question,
        "key": json.dumps(run.key),
        "plan": json.dumps(run.plan),
        "manifest": json.dumps(_kept(run.manifest)),
        "many_flows": json.dumps(plain, default=dataclasses.asdict),
        "flows": many.table.drop("label", strict=False).with_columns(cs.float().cast(pl.Float32)).to_dicts(),
        "jain_series": many.jain_series.to_dicts(),
        "share_series": many.share_series.with_columns(cs.float().round(4)).to_dicts(),
    }


def _kept(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Without the paths of the machine that ran it, which mean nothing on another."""
    kept = {name: manifest[name] for name in MANIFEST if name in manifest}
    for name in ("kernel", "agent"):
        if isinstance(kept.get(name), Mapping):
            kept[name] = {key: value for key, value in kept[name].items() if key != "path"}
    return kept


def _observed(row: Mapping[str, Any]) -> Observed:
    return Observed(
        run_id=row["run_id"],
        experiment=row["experiment"],
        question=row["question"],
        key=json.loads(row["key"]),
        status="ok",
        error=None,
        plan=json.loads(row["plan"]),
        manifest=json.loads(row["manifest"]),
        read_many=lambda: _many(row),
    )


def _many(row: Mapping[str, Any]) -> ManyFlows:
    types = get_type_hints(ManyFlows)
    plain = {
        name: TypeAdapter(types[name]).validate_python(v) for name, v in json.loads(row["many_flows"]).items()
    }
    return ManyFlows(
        table=pl.DataFrame(row["flows"], infer_schema_length=None),
        jain_series=pl.DataFrame(row["jain_series"], infer_schema_length=None),
        # archives of before it have none
        share_series=pl.DataFrame(row.get("share_series") or [], schema=SHARES),
        **plain,
    )
