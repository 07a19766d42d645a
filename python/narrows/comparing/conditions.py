"""Conditions of runs: their axes, in a steady order, and words for them.

An axis is a key of the plan (rate, queue, burst, cross, seed, …). Repetitions are runs that differ in
`seed` only.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from narrows import qdiscs
from narrows.runs.observed import EXPERIMENT, NO_LABEL, Observed, label
from narrows.tc.qdisc import Qdisc

REPETITION = "seed"
_FIRST = {"off": 0, "no": 0, "none": 0, "text": 1, "listing": 2}  # before all other words
_NUMBER = re.compile(r"^\s*(\d+\.?\d*|\.\d+)(?![.\d])\s*([A-Za-zµ/]*)")
"""No version: 0.11.9 is before 0.11.19."""
_SCALE = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "n": 1e-9}

Rank = tuple[int, float, tuple[int, str]]


@dataclass(frozen=True)
class Queue:
    """The queue of some runs: what the person called it, and its kind in Linux, which decides its colour
    unless the name has one of its own."""

    label: str
    kind: str


def queue_rank(queue: Queue | str) -> tuple[int, str]:
    """Sort key that keeps qdiscs in one order everywhere; those of one kind by their names."""
    label, kind = (queue.label, queue.kind) if isinstance(queue, Queue) else (queue, queue)
    known = qdiscs.named(label) or qdiscs.named(kind) or Qdisc
    return (known.order, natural(label))


def natural(text: str) -> str:
    """Sort key of a text in which numbers count as numbers: n8 before n50 before n1024."""
    return re.sub(r"\d+", lambda found: found[0].zfill(20), text)


def rank(axis: str, text: str) -> Rank:
    """Sort key of a label: "off" and "no" first, then by size, then in the order of qdiscs or letters."""
    if text in _FIRST:
        return (0, float(_FIRST[text]), (0, ""))
    if match := _NUMBER.match(text):
        unit = match.group(2)
        scale = _SCALE.get(unit[:1], 1.0) if len(unit) > 1 else 1.0
        return (1, float(match.group(1)) * scale, (0, natural(text)))
    return (2, 0.0, queue_rank(text) if axis == "queue" else (0, natural(text)))


def queue_of(run: Observed) -> Queue:
    """The run's queue, under the name of its axis where it has one."""
    named = label(run, "queue")
    return Queue(run.queue if named == NO_LABEL else named, run.queue)


def labels(runs: Iterable[Observed], axis: str) -> list[str]:
    """The labels that occur on an axis, in order."""
    return sorted({label(run, axis) for run in runs}, key=lambda text: rank(axis, text))


def given(runs: Iterable[Observed], axis: str) -> list[str]:
    """Those labels without that of runs whose experiment has no such axis."""
    return [text for text in labels(runs, axis) if text != NO_LABEL]


class Named(Protocol):
    """Whatever has an experiment and labels: a run, or what a list says of it."""

    @property
    def experiment(self) -> str: ...
    @property
    def key(self) -> Mapping[str, str]: ...


def axes(runs: Sequence[Named]) -> list[str]:
    """Every axis of any run; rate and queue first, seed last. Several experiments (an archive's) are an axis
    before all others: the same labels need not mean the same in two of them."""
    names = {axis for run in runs for axis in run.key}
    if len({run.experiment for run in runs}) > 1:
        names.add(EXPERIMENT)
    first = [axis for axis in (EXPERIMENT, "rate", "queue", "burst", "cross") if axis in names]
    rest = sorted(names - set(first) - {REPETITION})
    return first + rest + ([REPETITION] if REPETITION in names else [])


def varying(runs: Sequence[Observed], besides: Sequence[str] = ()) -> list[str]:
    """Axes with more than one label, without `besides` and without the repetition."""
    return [a for a in axes(runs) if a != REPETITION and a not in besides and len(labels(runs, a)) > 1]


def group(runs: Iterable[Observed], by: Sequence[str]) -> dict[tuple[str, ...], list[Observed]]:
    """Runs by their labels on some axes, groups in order."""
    runs_of: dict[tuple[str, ...], list[Observed]] = defaultdict(list)
    for run in runs:
        runs_of[tuple(label(run, axis) for axis in by)].append(run)
    ordered = sorted(runs_of, key=lambda key: [rank(axis, text) for axis, text in zip(by, key, strict=True)])
    return {
        key: sorted(runs_of[key], key=lambda r: (rank(REPETITION, label(r, REPETITION)), r.run_id))
        for key in ordered
    }


def facet_title(by: Sequence[str], key: Sequence[str]) -> str:
    """ "burst off, cross up" for axes and labels."""
    return ", ".join(f"{axis} {text}" for axis, text in zip(by, key, strict=True))


def fixed(runs: Sequence[Observed]) -> str:
    """The axes on which all these runs agree, in words; empty when there are none."""
    same = [a for a in axes(runs) if a != REPETITION and len(labels(runs, a)) == 1]
    return facet_title(same, [labels(runs, a)[0] for a in same])


def rate_text(bits_per_second: float) -> str:
    """ "100 Mbit/s", "1 Gbit/s"."""
    for scale, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bits_per_second >= scale:
            return f"{bits_per_second / scale:g} {unit}"
    return f"{bits_per_second:g} bit/s"
