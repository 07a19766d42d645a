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
    made: dict[str, list[Any]] = {name: [] for name in (*columns, *Whose._fields) if name != "label"}
    for row in every:
        named = dict(zip(columns, row, strict=True))
        own = whose(named.pop("label"))._asdict() | {k: v for k, v in named.items() if v is not None}
        for name, values in made.items():
            values.append(own.get(name, named.get(name)))
    types = schema.TABLES[table]
    return pl.DataFrame(made, schema={name: types[name] for name in made})
