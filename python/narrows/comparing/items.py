"""What every item of some runs got, its share of a fair rate, and its own figures.

One row is one measure of one item of one run (`SCHEMA`; docs/data.md has the columns). What an item did by
itself is `narrows.runs.items`; here it is held against what was fair: max-min fair rates of all items that
loaded the same direction at the same time. An item's demand is the most that it takes alone, where trials of
it alone are among the runs (`narrows.comparing.trials`), else all that it can get. An item of many flows is
one item. All that speaks of items reads this: pages, `expect()`, `table.csv`, `service shares`, `query`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from narrows.comparing.of_link import of_link
from narrows.comparing.trials import Conditions, Trial, conditions, demands, fair_rates, share, trials
from narrows.runs.items import Item, Way, items
from narrows.runs.measure import COLUMNS, Measure
from narrows.runs.observed import DIRECTIONS, Observed
from narrows.spec.pairs import AND, PAIR
from narrows.tools.reading import LESS, MORE, Figure
from narrows.units import unit_of_name

SCHEMA: dict[str, Any] = {
    "run_id": pl.String, "item": pl.String, "called": pl.String, "what": pl.String, "is_probe": pl.Boolean,
    "client": pl.String, "server": pl.String, "endpoints": pl.String, "cca": pl.String,
} | COLUMNS  # fmt: skip

OF_TAP = "rates of items are of the bottleneck's tap, while all of them shared the link"
OF_GOODPUT = "where the tap's rate of an item is not known, its goodput stands, as it says itself"
OF_FAIR = "a share is of the max-min fair rate"
OF_QUEUE = "times in the queue are of the item's own packets"
OF_ITEM = "what an item says of itself is of its whole time"
EVERY_WAY: dict[str, Figure] = {
    "rate_bps": Figure("rate at the bottleneck", MORE, definition=OF_TAP),
    "shared_bps": Figure("rate while all shared the link", MORE, definition=OF_TAP),
    "fair_bps": Figure("max-min fair rate"),
    "share": Figure("share of its fair rate", MORE, definition=OF_FAIR),
    "goodput_bps": Figure("goodput, as it says itself", MORE, definition=OF_GOODPUT),
    "loss": Figure("loss at the bottleneck", LESS),
    "marked": Figure("share of packets marked"),
    "queueing_p50_ms": Figure("median time in the queue", LESS, statistic="p50", definition=OF_QUEUE),
    "queueing_p95_ms": Figure(
        "95th percentile of the time in the queue", LESS, statistic="p95", definition=OF_QUEUE
    ),
}
"""What every item has of each direction that it loads, whatever tool it is."""


@dataclass(frozen=True)
class Got:
    """One item of one run in one direction, and what was fair."""

    run: Observed
    item: Item
    called: str
    """What people call it: of a trial the service's name, else the item's."""
    direction: str
    way: Way
    fair_bps: float | None
    """None: nothing shared that direction with it, or its rate is not known."""

    @property
    def share(self) -> float | None:
        """Its rate over its fair rate, while all that loaded the direction did."""
        return share(self.way.shared_bps, self.fair_bps)

    def measures(self) -> Iterator[Measure]:
        """What is known of `EVERY_WAY`."""
        known = {name: getattr(self.way, name, None) for name in EVERY_WAY}
        known |= {"fair_bps": self.fair_bps, "share": self.share}
        if self.way.done:
            known["shared_bps"] = None
        for name, meaning in EVERY_WAY.items():
            if (value := known[name]) is not None:
                yield Measure(
                    quantity=name, value=value, unit=unit_of_name(name) or "1", words=meaning.words,
                    better=meaning.better, statistic=meaning.statistic, item=self.item.name,
                    hop=None if name == "goodput_bps" else self.run.bottleneck(self.direction),
                    direction=self.direction, definition=meaning.definition,
                )  # fmt: skip


def got(runs: Iterable[Observed]) -> list[Got]:
    """What every item of the good runs got, each way, in the order of runs and items."""
    good = [run for run in runs if run.ok]
    every_trial = trials(good)
    alone = {"down": demands(every_trial), "up": _up_alone(every_trial)}
    found = []
    for run in good:
        own = items(run)
        every = list(zip(own, names(run, own), strict=True))
        for direction in DIRECTIONS:
            there = [(item, name) for item, name in every if direction in item.ways]
            fair = _fair(run, direction, [each for each in there if not each[0].is_probe], alone[direction])
            found += [
                Got(run, item, name, direction, item.ways[direction], fair.get(item.name))
                for item, name in there
            ]
    return found


def _up_alone(every: Sequence[Trial]) -> dict[tuple[Conditions, str], float]:
    """The most that each service takes alone upstream."""
    rates: dict[tuple[Conditions, str], list[float]] = {}
    for trial in every:
        if len(trial.uses) == 1 and not trial.faults():
            item = next(each for each in items(trial.run) if each.name == trial.uses[0].item)
            rate = item.ways["up"].shared_bps if "up" in item.ways else None
            if rate is not None:
                rates.setdefault((trial.conditions, trial.uses[0].service), []).append(rate)
    return {what: float(np.median(known)) for what, known in rates.items()}


def names(run: Observed, every: Sequence[Item]) -> list[str]:
    """What people call each item: the services of a trial by the labels of the axis `pair`."""
    loads = [item.name for item in every if not item.is_probe]
    services = run.key.get(PAIR, "").split(AND)
    called = dict(zip(loads, services, strict=True)) if len(services) == len(loads) else {}
    labels = [called.get(item.name) or item.name for item in every] if PAIR in run.key else []
    return labels or [item.name for item in every]


def _fair(
    run: Observed,
    direction: str,
    loads: Sequence[tuple[Item, str]],
    alone: Mapping[tuple[Conditions, str], float],
) -> dict[str, float]:
    """Fair rates by item; none where fewer than two share, where there is none (`fair_rates`), or where one
    takes what it needs alone and was never tried alone."""
    if any(item.ways[direction].shared_bps is None for item, _ in loads):
        return {}  # what one takes is not known, so neither is what it leaves
    sharing = [each for each in loads if PAIR in run.key or not each[0].ways[direction].done]
    if len(sharing) < 2:
        return {}
    wanted = [alone.get((conditions(run), name), float("inf")) for _, name in sharing]
    asked = [item for (item, _), demand in zip(sharing, wanted, strict=True) if demand == float("inf")]
    if asked and (PAIR in run.key or any(item.ends for item in asked)):
        return {}
    rates = zip(sharing, fair_rates(run, direction, wanted), strict=True)
    return {item.name: rate for (item, _), rate in rates if rate is not None}


def frame(runs: Sequence[Observed]) -> pl.DataFrame:
    """What the items of the good runs got, and what they say of themselves, as a table."""
    ways: dict[int, list[Got]] = {}
    for one in got(runs):
        ways.setdefault(id(one.run), []).append(one)
    rows: list[dict[str, Any]] = []
    for run in runs:
        own = items(run)
        heads = {
            item.name: _head(run, item, called) for item, called in zip(own, names(run, own), strict=True)
        }
        every = [each for one in ways.get(id(run), ()) for each in one.measures()]
        every += [each for item in own for each in item.figures]
        rows += [heads[each.item or ""] | each.row() for each in every]
    return pl.DataFrame(rows, schema=SCHEMA)


def measures(runs: Sequence[Observed]) -> pl.DataFrame:
    """The table `measures` of the good runs: of their items, and of their links, which have no item."""
    of_links = [{"run_id": run.run_id} | each.row() for run in runs for each in of_link(run)]
    return pl.concat([frame(runs), pl.DataFrame(of_links, schema=SCHEMA)])


def told_apart(table: pl.DataFrame) -> pl.DataFrame:
    """With a column `whose`: what people call the item, with a number where two of a run are called the same,
    as two equal services are."""
    twins: dict[tuple[str, str], dict[str, int]] = {}
    whose = []
    for run, called, item in table.select("run_id", "called", "item").iter_rows():
        known = twins.setdefault((run, called), {})
        number = known.setdefault(item, len(known) + 1)
        whose.append(called if number == 1 else f"{called} ({number})")
    return table.with_columns(whose=pl.Series(whose, dtype=pl.String))


def _head(run: Observed, item: Item, called: str) -> dict[str, Any]:
    ends = (
        f"{end.protocol}:{end.address}" + (f":{end.port}" if end.port is not None else "")
        for end in item.endpoints
    )
    own = {name: getattr(item, name) for name in ("what", "is_probe", "client", "server")}
    texts = {"endpoints": " ".join(ends) or None, "cca": ",".join(item.ccas) or None}
    return {"run_id": run.run_id, "item": item.name, "called": called} | own | texts
