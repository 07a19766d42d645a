"""Finds a figure of runs by its name: one that a tool or the queue reported, one that every item has
(`narrows.comparing.items`), or one that scoring gives.

Names may end in a direction (`ndt7_throughput_bps_down`), and `throughput` and `latency` are short for what
scoring calls them. Which rows are meant is decided here, once, for stopping rules and for searches.
"""

from collections.abc import Callable

import polars as pl

from narrows.comparing import items
from narrows.comparing.items import EVERY_WAY
from narrows.comparing.of_link import OF_FLOWS, OF_LINK
from narrows.errors import StoreError, UsageError, did_you_mean
from narrows.plan.items import Command, TcpBulk
from narrows.plan.model import Plan
from narrows.runs.load import load
from narrows.scoring.scores import scores
from narrows.store.results import Results
from narrows.store.whose import with_labels

ALIASES = {"throughput": "throughput_mean", "latency": "latency_p50"}
"""Short names of figures of the table `score`."""
LINK = "link"
"""The source of what is no item's."""
_OF_OWN_PACKETS = ("throughput_mean",)


def rows(
    results: Results,
    name: str,
    *,
    direction: str | None = None,
    source: str | None = None,
    test: Callable[[Plan], str | None] | None = None,
    workers: int = 1,
    where: str | None = None,
) -> pl.DataFrame:
    """The rows (run_id, source, direction, figure, value, unit) of the figure that is meant, of runs that no
    other supersedes.

    `test` names the load that scored figures are of (default: the only one of a run). Raises StoreError of
    the line `where` when no run has it, of that source and direction, or when a run has several.
    """
    figures = with_labels(results.metrics()).rename({"quantity": "figure", "whose": "source"})
    known = set(figures["figure"].to_list())
    worked_out = {*EVERY_WAY, *OF_LINK, *OF_FLOWS}
    if not named(name, known) and named(name, worked_out):
        figures, known = _worked_out(results, source), known | worked_out
    if not named(name, known):
        scored = scores(results, test or lone_test, workers=workers).rename({"metric": "figure"})
        columns = ["run_id", "source", "direction", "figure", "value", "unit", "is_whole"]
        scored = scored.with_columns(is_whole=~pl.col("source").str.contains("/"))
        figures = pl.concat([figures.select(columns), scored.select(columns)])
        known |= set(scored["figure"].to_list())
    plain = named(name, known)
    if plain is None:
        raise (UsageError if known else StoreError)(
            f"no run has a figure {name}", where=where, remedy=did_you_mean(name, sorted(known))
        )
    if direction is None and plain != name and name not in ALIASES:
        direction = name.rpartition("_")[2]
    found = figures.filter(pl.col("figure") == plain)
    for column, wanted in (("direction", direction), ("source", source)):
        there = sorted(set(found[column].drop_nulls()))
        if wanted is not None and wanted not in there:
            listed = f"; those that have it: {', '.join(there)}" if there else ""
            raise UsageError(
                f"no run has {plain} of {column} {wanted}{listed}",
                where=where,
                remedy=did_you_mean(wanted, there),
            )
    if direction is not None:
        found = found.filter(pl.col("direction") == direction)
    if source is not None:
        found = found.filter(pl.col("source") == source)
    elif plain in _OF_OWN_PACKETS:
        found = found.filter(pl.col("source") == "bottleneck/own")
    else:
        whole = found.filter("is_whole")  # the item, not each of its flows
        found = whole if whole.height else found
    found = found.filter(~pl.col("run_id").is_in(sorted(results.superseded())))
    _check_one(found, name, where)
    return found


def _worked_out(results: Results, source: str | None) -> pl.DataFrame:
    """What all items and links have. `source` may be an item or what people call it (a service of a pair),
    or `link`; without it probes are left out, which load nothing."""
    table = items.measures([run for run in load(results.directory) if run.ok])
    table = table.with_columns(item=pl.col("item").fill_null(LINK))
    if source is None:
        table = table.filter(~pl.col("is_probe").fill_null(value=False))
    elif source not in set(table["item"]):
        table = table.with_columns(item=pl.col("called"))
    columns = ["run_id", "item", "direction", "quantity", "value", "unit"]
    named = table.select(*columns, is_whole=pl.lit(value=True))
    return named.rename({"item": "source", "quantity": "figure"})


def _check_one(found: pl.DataFrame, name: str, where: str | None) -> None:
    units = found["unit"].unique().to_list()
    if len(units) > 1:
        raise StoreError(f"{name} has several units: {', '.join(map(str, units))}")
    if found.group_by("run_id").len().filter(pl.col("len") > 1).height:
        kinds = found.select(pl.concat_str("source", "direction", ignore_nulls=True, separator=" "))
        listed = ", ".join(kinds.to_series().unique().sort())
        raise UsageError(
            f"{name} is not one figure per run: {listed}",
            where=where,
            remedy='say which: ci(…, direction="down", source="test"); --metric SOURCE:FIGURE_down',
        )


def named(name: str, known: set[str]) -> str | None:
    """The figure that is meant, without the direction that its name may end in."""
    bare = name.removesuffix("_down").removesuffix("_up")
    for candidate in (name, bare, ALIASES.get(name), ALIASES.get(bare)):
        if candidate is not None and candidate in known:
            return candidate
    return None


def lone_test(plan: Plan) -> str | None:
    """The item under test where a run has only one load: the one foreground command, else the one bulk."""
    commands = [i.item for i in plan.traffic if isinstance(i, Command) and not i.background]
    bulks = [i.item for i in plan.traffic if isinstance(i, TcpBulk)]
    for names in (commands, bulks):
        if len(names) == 1:
            return names[0]
    return None
