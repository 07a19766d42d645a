"""Shards: small files of what verdicts and figures are made from, without packets, one a batch.

A run is megabytes, and what claims ask of it is a kilobyte: its plan, what carried it out, its numbers
(`narrows.runs.quantities`) and, of many flows, its `ManyFlows`. A shard lies beside the text that rests on
it, so that a sweep of many hours is judged again in seconds. It is written once and never changed: runs of
another day are another shard, and readers take all of them (`narrows.runs.find`). Parquet, a row per run;
docs/data.md has its columns. The rows of single flows are not kept, and shares over time, which only a figure
draws, have four digits; all that is judged has every digit.

What is kept is always of today's format: a change of it, or of the plan's, converts what is kept in the same
commit (`scripts/convert_evidence.py`).
"""

import dataclasses
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import polars as pl
import polars.selectors as cs
from pydantic import TypeAdapter

from narrows.errors import StoreError
from narrows.media.schedule import NOT_KEPT
from narrows.metrics.statistics.tail import Tail
from narrows.plan.identity import canonical_json
from narrows.plan.model import Plan
from narrows.runs.flow_case import flow_case
from narrows.runs.items import is_kept
from narrows.runs.many_flows import ManyFlows
from narrows.runs.observed import Observed
from narrows.runs.plans import PlanReader
from narrows.runs.quantities import Kept, numbers, tails
from narrows.spec.axis import SEED
from narrows.store.whose import Name, labelled, read_label
from narrows.units import NS_PER_MS

SUFFIX = ".runs.parquet"
PAGE_BYTES = 2**28
COPY = re.compile(r'"path":"/[^"]*/narrows/(?=tools/)')
FORMAT = 3
SERIES = ("jain_series", "share_series")
ReadSeries = Callable[[str], pl.DataFrame]
FRAMES = ("table", "jain_series", "share_series")
MANIFEST = ("engine", "kernel", "agent", "until_settled", "resources", "warnings", "written_at")
"""What is kept of a manifest."""
_TAIL: dict[str, Any] = {
    "name": pl.String,
    "of": pl.String,
    "total": pl.Int64,
    "ns": pl.List(pl.Int64),
    "counts": pl.List(pl.Int64),
}
SCHEMA: dict[str, Any] = {
    "format": pl.Int64,
    "run_id": pl.String,
    "condition": pl.String,
    "seed": pl.UInt64,
    "experiment": pl.String,
    "question": pl.String,
    "key": pl.String,
    "plan": pl.String,
    "manifest": pl.String,
    "figures": pl.List(
        pl.Struct({"source": pl.String, "direction": pl.String, "name": pl.String, "value": pl.Float64})
    ),
    "quantities": pl.List(
        pl.Struct({"name": pl.String, "of": pl.String, "unit": pl.String, "value": pl.Float64})
    ),
    "tails": pl.List(pl.Struct(_TAIL)),
    "path_logs": pl.String,
    "many_flows": pl.String,
    "jain_series": pl.List(pl.Struct({"t_ns": pl.Int64, "jain": pl.Float64})),
    "share_series": pl.List(pl.Struct({"t_ns": pl.Int64, "cca": pl.String, "share": pl.Float64})),
}


def write(runs: Iterable[Observed], path: Path) -> int:
    """Keep the good runs that have numbers or a flow tap, in a new file; how many these are. StoreError if
    there is none, or if the file is there already."""
    rows = [row for run in runs if run.ok and (row := _row(run)) is not None]
    if not rows:
        raise StoreError(
            "no good run with a speed test, a probe, a flow tap or a capture, so nothing to keep",
            remedy="narrows list shows which runs there are; flow_tap() in an experiment records many flows",
        )
    write_frame(pl.DataFrame(rows, schema=SCHEMA).sort("condition", "seed", "run_id"), path)
    return len(rows)


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """A shard's rows in a new file; StoreError if the file is there already."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    # A column is one page, so that what runs share, such as a medium's turns, is compressed once.
    frame.write_parquet(
        new, compression="zstd", compression_level=22, row_group_size=4096, data_page_size=PAGE_BYTES
    )
    try:
        os.link(new, path)  # unlike a rename it never takes the place of a file
    except FileExistsError:
        raise StoreError(
            "the shard is there already, and a shard is never rewritten",
            where=str(path),
            remedy="give the new batch a name of its own: readers take all shards",
        ) from None
    finally:
        new.unlink()


def read(path: Path) -> list[Observed]:
    """The runs of a shard; their numbers are put together when first asked for."""
    try:
        frame = pl.read_parquet(path, glob=False)
        formats = set(frame["format"])
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            f"cannot be read as a shard of runs: {error}", where=str(path), remedy="narrows archive makes one"
        ) from error
    if formats != {FORMAT}:
        raise StoreError(
            f"shard of format {', '.join(map(str, sorted(formats)))}, this narrows reads format {FORMAT}",
            where=str(path),
            remedy="use the narrows that wrote it",
        )
    light, plans = frame.drop(SERIES), PlanReader()
    return [
        _observed(row, plans.plan(row["plan"], str(path)), partial(_series, frame, number))
        for number, row in enumerate(light.iter_rows(named=True))
    ]


# ---- writing -----------------------------------------------------------------------------------------------


def _row(run: Observed) -> dict[str, Any] | None:
    case = None if run.read_many is None else flow_case(run)
    many = None if case is None else run.many
    figures = [
        {"source": labelled(whose), "direction": way, "name": name, "value": value}
        for (name, way, whose), value in run.figures.items()
        if is_kept(name)
    ]
    found = [dict(zip(("name", "of", "unit", "value"), row, strict=True)) for row in numbers(run)]
    if many is None and not figures and not found and run.path_logs is None:
        return None
    labels = [f"{axis} {label}" for axis, label in run.key.items() if axis != SEED]
    return {
        "format": FORMAT,
        "run_id": run.run_id,
        "condition": ", ".join([run.experiment, *labels]) if case is None else case.words(),
        "seed": run.plan.seed,
        "experiment": run.experiment,
        "question": run.question,
        "key": json.dumps(dict(run.key)),
        "plan": _plan(run.plan),
        "manifest": json.dumps(_kept(run.manifest)),
        "figures": figures,
        "quantities": found,
        "tails": [_packed(name, of, tail) for name, of, _, tail in tails(run)],
        "path_logs": None if run.path_logs is None else json.dumps([dict(row) for row in run.path_logs]),
        "many_flows": None if many is None else _plain(many),
        "jain_series": None if many is None else many.jain_series.to_dicts(),
        "share_series": None
        if many is None
        else many.share_series.with_columns(cs.float().round(4)).to_dicts(),
    }


def _plan(plan: Plan) -> str:
    """The plan, with the paths of what comes with narrows as they are in any copy of it."""
    return COPY.sub(r'"path":"narrows/', canonical_json(plan.to_dict()))


def without_turns(plan: Plan) -> Plan:
    """The plan without what a medium below IP carries when, and without the rate that moves by it."""
    if not plan.media:
        return plan
    media = tuple(medium.model_copy(update={"turns": NOT_KEPT}) for medium in plan.media)
    return plan.model_copy(update={"media": media, "moving": None})


def _plain(many: ManyFlows) -> str:
    plain = {f.name: getattr(many, f.name) for f in dataclasses.fields(many) if f.name not in FRAMES}
    return json.dumps(plain, default=dataclasses.asdict)


def _kept(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest without the paths of the machine that ran it, which mean nothing on another."""
    kept = {name: manifest[name] for name in MANIFEST if name in manifest}
    for name in ("kernel", "agent"):
        if isinstance(kept.get(name), Mapping):
            kept[name] = {key: value for key, value in kept[name].items() if key != "path"}
    return kept


def _packed(name: str, of: str, tail: Tail) -> dict[str, Any]:
    """Whole nanoseconds, as they were measured, and only by how much each is more than the one before."""
    ns = np.rint(tail.values * NS_PER_MS).astype(np.int64)
    if not np.array_equal(ns / NS_PER_MS, tail.values):
        raise StoreError(
            f"{name} of {of} are not whole nanoseconds, as every table of the store has them",
            remedy="narrows run --fresh makes the run again",
        )
    return {
        "name": name,
        "of": of,
        "total": round(tail.total),
        "ns": np.diff(ns, prepend=0).tolist(),
        "counts": tail.counts.astype(np.int64).tolist(),
    }


# ---- reading -----------------------------------------------------------------------------------------------


def _series(frame: pl.DataFrame, number: int, column: str) -> pl.DataFrame:
    """One run's series, which most readers ask for none of."""
    rows: pl.Series = frame[column][number]
    return rows.struct.unnest()


def _observed(row: Mapping[str, Any], plan: Plan, series: ReadSeries) -> Observed:
    whose = cache(partial(read_label, plan=plan))
    return Observed(
        run_id=row["run_id"],
        experiment=row["experiment"],
        question=row["question"],
        key=json.loads(row["key"]),
        status="ok",
        error=None,
        plan=plan,
        manifest=json.loads(row["manifest"]),
        figures={Name(f["name"], f["direction"], whose(f["source"])): f["value"] for f in row["figures"]},
        read_many=None if row["many_flows"] is None else lambda: _many(row, series),
        path_logs=None if row["path_logs"] is None else json.loads(row["path_logs"]),
        read_quantities=lambda: _quantities(row),
    )


def _quantities(row: Mapping[str, Any]) -> Kept:
    return Kept(
        {(q["name"], q["of"]): q["value"] for q in row["quantities"]},
        {
            (t["name"], t["of"]): Tail(
                np.cumsum(np.array(t["ns"], dtype=np.int64)) / NS_PER_MS,
                np.array(t["counts"], dtype=np.float64),
                float(t["total"]),
            )
            for t in row["tails"]
        },
    )


@cache
def _reader_of(field: str) -> TypeAdapter[Any]:
    """Made once for each field of `ManyFlows`: making it costs more than reading a run with it."""
    return TypeAdapter(get_type_hints(ManyFlows)[field])


def _many(row: Mapping[str, Any], series: ReadSeries) -> ManyFlows:
    plain = {name: _reader_of(name).validate_python(v) for name, v in json.loads(row["many_flows"]).items()}
    return ManyFlows(jain_series=series("jain_series"), share_series=series("share_series"), **plain)
