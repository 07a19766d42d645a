"""What a study says of itself: whose claims it tests, and which runs it makes when it is called by name.

A study is a folder here with a `study.py` that has `STUDY`; its experiments are the files in `experiments/`,
its claims the modules in `claims/` with a `judge`, and its figures what `figures.py` gives. No list names it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from narrows.runs.observed import Observed
from narrows.spec.axis import SEED


def labels(run: Observed, besides: tuple[str, ...] = (SEED,), experiment: bool = True) -> Hashable:
    """A run's labels but for the repetition, which make its condition. Without `experiment` what was measured
    in one serves the claims of all."""
    known = tuple((axis, label) for axis, label in sorted(run.key.items()) if axis not in besides)
    return (run.experiment, known) if experiment else known


@dataclass(frozen=True)
class Quick:
    """A small part of the study for a first look: some experiments, and of these some runs."""

    experiments: tuple[str, ...]
    usual: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By axis, the labels that are run unless --only names the axis."""
    seeds: tuple[str, ...] = ()
    """The repetitions, where --seeds names none; empty: the study's."""


@dataclass(frozen=True)
class Study:
    """A study, in its own words."""

    title: str
    paper: str
    """Who claimed it and where, in Markdown."""
    quick: Quick
    seeds: tuple[str, ...] = ("0", "1", "2")
    """The repetitions that are made where --seeds names none."""
    usual: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By axis, the labels that are run unless --only names the axis; experiments without it are not asked."""
    size_of: Callable[[str, Sequence[str]], Sequence[str]] | None = None
    """The labels among these that --size names; None: the study has no sizes."""
    size_axes: tuple[str, ...] = ()
    default_size: str = ""
    many_packets: bool = False
    """Its runs are long: a kernel that is laid out by its profile is worth the build."""
    headline: str = ""
    """The claim that its page tells first, by its id."""
    headline_figure: str = ""
    """The figure that its page begins with, by its name; empty: the conditions of that claim side by side."""
    compared: str = ""
    """The axis whose labels are compared: they stand side by side in a row of that figure."""
    condition: Callable[[Observed], Hashable] | None = labels
    """What makes two runs repetitions of one condition, to tell which conditions of a claim's experiment were
    not measured; None where the claims say that themselves."""
