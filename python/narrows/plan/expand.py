"""Takes an experiment apart into runs: every combination of its axes, seeds innermost, in a fixed order.

An axis inside a value of another axis sweeps only where that value is chosen; elsewhere its label is "-".
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from narrows.errors import SpecError
from narrows.spec.axis import SEED, Axis
from narrows.spec.base import settle
from narrows.spec.link import Link
from narrows.spec.load import Experiment
from narrows.spec.observe import capture, flow_tap, machine, sample, tap
from narrows.spec.parsers import Wrong, identifier
from narrows.spec.path_profile import SampledLink
from narrows.spec.traffic import Traffic
from narrows.spec.until_settled import until_settled

NOT_APPLICABLE = "-"


class _Open(Exception):
    """An axis was met that is not decided yet."""

    def __init__(self, axis: Axis) -> None:
        super().__init__(axis.name)
        self.axis = axis


@dataclass(frozen=True)
class Choices:
    """The label of each decided axis, by name. Calling it gives an axis' value."""

    labels: dict[str, str]

    def __call__(self, axis: Axis) -> Any:
        label = self.labels.get(axis.name)
        if label is None:
            raise _Open(axis)
        return axis.values[label]


@dataclass(frozen=True)
class ResolvedRun:
    """One run in the experiment's words: no axis is left."""

    key: dict[str, str]
    seed: int
    choices: Choices
    """The same object for runs that differ in their seed alone: they share all but random starts."""
    link: Link
    items: dict[str, Traffic]
    """The items by id, in the order of the file."""
    captures: dict[str, capture]
    tap: tap
    flow_tap: flow_tap | None
    until_settled: until_settled | None
    sample: sample
    machine: machine

    def id_of(self, origin: Traffic) -> str | None:
        """The id of the item that the experiment wrote as `origin`, None if it is absent here."""
        return next((name for name, item in self.items.items() if item.origin is origin), None)


def seed_of(label: str) -> int:
    """A run's seed, from nothing but the label of its repetition: runs that differ in other axes share it, so
    that they can be compared pairwise (common random numbers). 63 bits, to fit signed columns."""
    return int.from_bytes(hashlib.sha256(f"narrows seed {label}".encode()).digest()[:8], "big") >> 1


def drawn_ns(seed: int, purpose: str, span_ns: int) -> int:
    """A uniform draw from 0 to span (inclusive), the same for the same seed and purpose."""
    if span_ns <= 0:
        return 0
    digest = hashlib.sha256(f"narrows draw {seed} {purpose}".encode()).digest()
    return int.from_bytes(digest[:16], "big") % (span_ns + 1)


def expand(experiment: Experiment) -> list[ResolvedRun]:
    """All runs, in order. Raises the first error of any of them."""
    seeds = ["0"]
    if experiment.repeat is not None:
        repeat = experiment.repeat.resolve(_no_axes)
        seeds = [str(n) for n in range(repeat["first"], repeat["first"] + repeat.most())]
    cells = list(_cells(experiment, Choices({})))
    position = {axis.name: {label: n for n, label in enumerate(axis.labels)} for axis in experiment.axes}
    cells.sort(
        key=lambda cell: [position[a.name].get(cell.labels.get(a.name, ""), -1) for a in experiment.axes]
    )
    runs = []
    for cell in cells:
        base = _resolve(experiment, cell, {})
        for seed in seeds:
            key = {axis.name: cell.labels.get(axis.name, NOT_APPLICABLE) for axis in experiment.axes}
            key[SEED] = seed
            link, own = base.link, cell
            if isinstance(link, SampledLink):
                link, own = link.drawn(seed), replace(cell)
            runs.append(replace(base, key=key, seed=seed_of(seed), choices=own, link=link))
    return runs


def _no_axes(axis: Axis) -> Any:
    raise SpecError(
        "repeat() cannot itself be swept", where=axis.where, remedy="write the number of repetitions"
    )


def _cells(experiment: Experiment, choices: Choices) -> Iterator[Choices]:
    """Depth first: resolve until an undecided axis shows, then take each of its labels."""
    try:
        _resolve(experiment, choices, {})
    except _Open as open_axis:
        for label in open_axis.axis.labels:
            yield from _cells(experiment, Choices({**choices.labels, open_axis.axis.name: label}))
    else:
        yield choices


def _resolve(experiment: Experiment, choices: Choices, key: dict[str, str]) -> ResolvedRun:
    link = settle(experiment.link, choices)
    items: dict[str, Traffic] = {}
    for name, written in experiment.items.items():
        chosen = settle(written, choices)
        if chosen is None:
            continue
        item = chosen.resolve(choices)
        item_id = item["id"] or name
        try:
            identifier(item_id)
        except Wrong as error:
            item.fail(f"id: {error.message}", error.remedy)
        if item_id in items:
            item.fail(
                f"two items have the id {item_id}", f"the other is at {items[item_id].where}; change its id="
            )
        items[item_id] = item
    if not items:
        raise SpecError(
            "a run would have no traffic at all",
            where=experiment.path,
            remedy="an axis makes every item absent: "
            + ", ".join(f"{k}={v}" for k, v in choices.labels.items()),
        )
    return ResolvedRun(
        key=key,
        seed=0,
        choices=choices,
        link=link.resolve(choices),
        items=items,
        captures={name: c.resolve(choices) for name, c in experiment.captures.items()},
        tap=(experiment.tap or _TAP).resolve(choices),
        flow_tap=None if experiment.flow_tap is None else experiment.flow_tap.resolve(choices),
        until_settled=None if experiment.until_settled is None else experiment.until_settled.resolve(choices),
        sample=(experiment.sample or _SAMPLE).resolve(choices),
        machine=(experiment.machine or _MACHINE).resolve(choices),
    )


_TAP, _SAMPLE, _MACHINE = tap(), sample(), machine()
"""What an experiment uses that names none."""
