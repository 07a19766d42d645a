"""The page of one run: what it was, what it measured, what the queue did, and its files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from narrows.comparing.conditions import axes
from narrows.comparing.items import frame, told_apart
from narrows.comparing.outcome import told
from narrows.comparing.trials import conditions
from narrows.figures.drawing import Result
from narrows.figures.settling import fairness_over_time, shares_over_time
from narrows.figures.style import DIRECTION
from narrows.figures.timeline import timeline
from narrows.runs.items import items as run_items
from narrows.runs.observed import Observed, label
from narrows.spec.pairs import PAIR
from narrows.store.manifest import stamp
from narrows.store.whose import Name, Whose, labelled
from narrows.units import unit_of_name


@dataclass(frozen=True)
class Figure:
    """Something that a run measured, and what the run beside it did."""

    whose: str
    direction: str
    words: str
    name: str
    """As tables call it."""
    unit: str
    value: float | None
    other: float | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether it is zero, here and beside."""
        return not self.value and not self.other


def items(run: Observed, other: Observed | None, others: Sequence[Observed]) -> list[Figure]:
    """What each of its items got, and what it says of itself. `others`: the runs that they lie
    among, of which those of services alone say what was fair."""
    mine = _of_items(run, others)
    beside = {} if other is None else _of_items(other, others)
    return [
        Figure(*head, *unit, value, beside.get(head, (unit, None))[1])
        for head, (unit, value) in [
            *mine.items(),
            *((h, (u, None)) for h, (u, _) in beside.items() if h not in mine),
        ]
    ]


def _of_items(
    run: Observed, others: Sequence[Observed]
) -> dict[tuple[str, str, str, str], tuple[tuple[str], float]]:
    """Whose, direction, words and name: unit and value, item by item in the order of the table `items`."""
    beside = [each for each in others if PAIR in each.key and conditions(each) == conditions(run)]
    every = frame(list({each.run_id: each for each in (run, *beside)}.values()))
    table = told_apart(every.filter(pl.col("run_id") == run.run_id))
    order = {whose: place for place, whose in enumerate(dict.fromkeys(table["whose"]))}
    found = {}
    for row in sorted(table.iter_rows(named=True), key=lambda row: order[row["whose"]]):
        scale, unit = told(row["quantity"], row["unit"])
        found[row["whose"], row["direction"] or "", row["words"], row["quantity"]] = (
            (unit,),
            row["value"] * scale,
        )
    return found


def facts(run: Observed) -> list[tuple[str, str]]:
    """What it is, and whether it counts."""
    manifest = run.manifest
    calibration = manifest.get("calibration") or {}
    said = [(axis, text) for axis, text in run.key.items()]
    said += [("status", run.status if run.ok else f"{run.status}: {run.error}")]
    said += [("link", _link(run)), ("changes of the link", "; ".join(run.link.changes))]
    if calibration:
        said.append(("calibration", _calibrated(calibration)))
    said.append(("conservation", _conserved(manifest.get("conservation") or [])))
    if (t0 := manifest.get("t0_unix_ns")) is not None:
        said.append(("t = 0 in captures", stamp(t0)))
    said.append(("written", str(manifest.get("written_at") or "")))
    return [(name, text) for name, text in said if text]


def _link(run: Observed) -> str:
    link = run.link
    rates = [f"{bps / 1e6:g}" for bps in (link.rate_down_bps, link.rate_up_bps) if bps is not None]
    rate = f"{' / '.join(dict.fromkeys(rates))} Mbit/s" if rates else "no shaper"
    return f"{rate}, base RTT {link.base_rtt_ns / 1e6:g} ms, {link.queue} down, {link.queue_up} up"


def _calibrated(said: dict[str, Any]) -> str:
    rtt, rate = said.get("rtt_median_ns"), said.get("rate_down_bps")
    parts = [f"RTT {rtt / 1e6:.3f} ms"] if rtt is not None else []
    parts += [f"{rate / 1e6:.3f} Mbit/s down at the IP layer"] if rate is not None else []
    return ", ".join([*parts, "as the plan says" if said.get("ok") else "not as the plan says"])


def _conserved(hops: list[dict[str, Any]]) -> str:
    verdicts = [check["verdict"] for hop in hops for check in hop.get("checks", [])]
    if not verdicts:
        return "not checked"
    left = {word: verdicts.count(word) for word in dict.fromkeys(verdicts) if word != "ok"}
    conserved = ", ".join(f"{count} {word}" for word, count in left.items()) or "all packets accounted for"
    return f"{len(verdicts)} checks at {len(hops)} queues: {conserved}"


def figures(run: Observed, other: Observed | None = None) -> list[Figure]:
    """All that tools and tap say of the whole run: what an item says of itself, then the bottleneck, then the
    rest."""
    hops = [run.bottleneck(way) for way in DIRECTION]
    words = {each.quantity: each.words for item in run_items(run) for each in item.figures}

    def rank(whose: Whose) -> tuple[int, str]:
        of_hop = 1 if whose.item is None else 2
        return (0 if whose.hop is None else of_hop if whose.hop in hops else 3, labelled(whose))

    beside: Mapping[Name, float] = {} if other is None else other.figures
    units = {**({} if other is None else other.units), **run.units}
    found = []
    for place, one in enumerate({**run.figures, **beside}):
        name, way, whose = one
        scale, shown = told(name, units.get(name) or unit_of_name(name))
        mine, its = ((None if value is None else value * scale) for value in (
            run.figures.get(one), beside.get(one)))  # fmt: skip
        said = words.get(name) or name.replace("tap_", "").replace("_", " ")
        found.append((rank(whose), place, Figure(labelled(whose), way or "", said, name, shown, mine, its)))
    return [each for _, _, each in sorted(found, key=lambda one: one[:2])]


def differs(run: Observed, other: Observed) -> list[tuple[str, str, str]]:
    """What is not the same in two runs: conditions, link, versions, `tc` lines."""
    lines = [
        *((axis, label(run, axis), label(other, axis)) for axis in axes([run, other])),
        ("link", _link(run), _link(other)),
        ("changes of the link", "; ".join(run.link.changes), "; ".join(other.link.changes)),
        *(
            (
                what,
                str((run.manifest.get(what) or {}).get("id")),
                str((other.manifest.get(what) or {}).get("id")),
            )
            for what in ("kernel", "agent")
        ),
        ("engine", str(run.manifest.get("engine")), str(other.manifest.get("engine"))),
        ("seed of the plan", str(run.plan.seed), str(other.plan.seed)),
    ]
    mine, its = (
        [f"{s.node}: {s.command()}" for s in each.plan.setup if s.tool == "tc"] for each in (run, other)
    )
    lines.append(
        ("tc", "; ".join(x for x in mine if x not in its), "; ".join(x for x in its if x not in mine))
    )
    return [(what, a or "–", b or "–") for what, a, b in lines if a != b]


@dataclass(frozen=True)
class Picture:
    """A figure of one run: its title, and what draws it."""

    title: str
    make: Callable[[], Result]


def pictures(run: Observed) -> dict[str, Picture]:
    """What of one run can be drawn, by name; nothing of a run that does not count."""
    if not run.ok:
        return {}
    found = {
        "timeline": Picture("The run over time", partial(timeline, run, "timeline", "The run over time"))
    }
    if run.read_many is not None:
        for name, title, many in (
            ("fairness", "Fairness over time", fairness_over_time),
            ("shares", "Shares over time", shares_over_time),
        ):
            found[name] = Picture(title, partial(many, [run], name, title))
    return found
