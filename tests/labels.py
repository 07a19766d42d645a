"""Whose a number is, as tests write it in short: `test`, `test/server`, `bottleneck/test`, `flow/0`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from narrows.store import schema
from narrows.store.whose import Name, Whose

HOPS = ("bottleneck", "home", "isp", "tcp", "q", "link")


def whose(label: str) -> Whose:
    """What a label means: a hop or sampler, an item, a part of one (`r.down-BE`), an end or a flow of it."""
    first, _, rest = label.partition("/")
    hop, name = (first, rest) if first in HOPS or first.startswith(("tcp-", "qdisc-")) else (None, label)
    name, _, end = name.partition("/")
    item, dot, _ = name.partition(".")
    if end.isdecimal():
        return Whose(item or None, name if dot else None, hop, end)
    return Whose(item or None, end or (name if dot else None), hop)


def said(figures: Mapping[tuple[str, str | None, str], float]) -> dict[Name, float]:
    """Figures by label, direction and name."""
    return {Name(name, way, whose(label)): value for (label, way, name), value in figures.items()}


def rows(table: str, every: Iterable[tuple[Any, ...]], columns: tuple[str, ...]) -> pl.DataFrame:
    """A table of the store; `label` among the columns says whose a row is."""
    types = schema.TABLES[table]
    given = {name: types.get(name, pl.String) for name in columns}
    frame = pl.DataFrame(list(every), schema=given, orient="row")
    known = [(label, *whose(label)) for label in frame["label"].unique()]
    own = pl.DataFrame(known, schema=("label", *(f"of {name}" for name in Whose._fields)), orient="row")
    names = dict.fromkeys(name for name in (*columns, *Whose._fields) if name != "label")
    return frame.join(own.cast(pl.String), on="label", how="left", maintain_order="left").select(
        pl.coalesce(name, pl.col(f"of {name}").cast(types[name])).alias(name)
        if name in columns and name in Whose._fields
        else pl.col(f"of {name}" if name in Whose._fields else name).cast(types[name]).alias(name)
        for name in names
    )
