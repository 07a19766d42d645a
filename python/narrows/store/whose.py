"""Whose a series or a figure of a run is: the columns that the tables `metrics` and `samples` share.

An item (`item`), a part of it (`part`: a part of the plan's, or an end such as `server`), one flow of it
(`flow`), and where it was seen (`hop`: a hop of the plan or a sampler; none: the item says so itself). What
is no item's has none: a queue's length, or a sampler's counters, with the qdisc as their part.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import polars as pl

from narrows.plan.items import TrafficItem
from narrows.plan.model import Plan

CCA = "cca"
"""Before a slash in what shards keep: a share of a congestion control (`store.cca_shares`)."""


class Whose(NamedTuple):
    """Each None: of none."""

    item: str | None = None
    part: str | None = None
    hop: str | None = None
    flow: str | None = None


NOBODY = Whose()


class Name(NamedTuple):
    """What a figure of the whole run is, and whose."""

    quantity: str
    direction: str | None = None
    whose: Whose = NOBODY


def of_part(part: TrafficItem, hop: str | None = None) -> Whose:
    """What is of one part of the plan."""
    return Whose(part.item, None if part.id == part.item else part.id, hop)


def labelled(whose: Whose) -> str:
    """In one word, as shards keep it: `bottleneck/probe`, `flow/0`, `test/server`, `cca/bbr`."""
    if whose.hop is not None and whose.item is None:
        return whose.hop if whose.part is None else f"{CCA}/{whose.part}"
    name = whose.item or ""
    if whose.part is not None:
        # An end has no name of its own in the plan; a part of the plan's has: `test.down-BE`.
        name = whose.part if whose.part.startswith(f"{name}.") else f"{name}/{whose.part}"
    seen = [each for each in (whose.hop, name, whose.flow) if each is not None]
    return "/".join(seen)


def read_label(label: str, plan: Plan) -> Whose:
    """What `labelled` wrote of a run of this plan."""
    hops = [hop.hop for hop in plan.hops]
    parts = {part.id: part for part in plan.traffic}
    first, _, rest = label.partition("/")
    if first == CCA:
        return Whose(part=rest, hop=hops[0])
    hop, name = (first, rest) if first in hops else (None, label)
    if not name:
        return Whose(hop=hop)
    name, _, end = name.partition("/")
    whose = of_part(parts[name], hop) if name in parts else Whose(name, None, hop)
    if not end:
        return whose
    return whose._replace(flow=end) if end.isdecimal() else whose._replace(part=end)


def with_labels(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of `metrics` or `samples` as plain text, with `whose` in one word (`labelled`), and whether
    that is an item or a hop as a whole (`is_whole`)."""
    plain = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    columns = [name for name in Whose._fields if name in frame.columns]
    found = plain.select(columns).unique()
    every = [Whose(**row) for row in found.iter_rows(named=True)]
    is_whole = [
        (each.item is None) != (each.hop is None) and not each.part and not each.flow for each in every
    ]
    found = found.with_columns(
        whose=pl.Series([labelled(each) for each in every], dtype=pl.String),
        is_whole=pl.Series(is_whole, dtype=pl.Boolean),
    )
    return plain.join(found, on=columns, how="left", nulls_equal=True, maintain_order="left")


def figure_rows(figures: Iterable[tuple[Name, float, str]]) -> pl.DataFrame:
    """Figures with their values and units as rows of the table `metrics`, without run_id."""
    columns: dict[str, Any] = {"item": [], "part": [], "hop": [], "direction": [], "flow": [], "quantity": []}
    columns |= {"value": [], "unit": []}
    for name, value, unit in figures:
        own = {**name.whose._asdict(), "direction": name.direction, "quantity": name.quantity}
        for column, each in {**own, "value": value, "unit": unit}.items():
            columns[column].append(each)
    types = {name: pl.Float64() if name == "value" else pl.String() for name in columns}
    return pl.DataFrame(columns, schema=types)
