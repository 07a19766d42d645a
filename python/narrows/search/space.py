"""The space of a search: axes of an experiment as coordinates from 0 to 1. It chooses nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from narrows.errors import UsageError, did_you_mean
from narrows.spec.axis import Axis, label_of
from narrows.spec.load import Experiment
from narrows.spec.span import Span, between

Place = tuple[float, ...]
"""Coordinates of a point, from 0 to 1, one for each axis of the search."""


@dataclass(frozen=True)
class Dimension:
    """One axis of a search: a span, or the listed labels of an axis in their order of size."""

    name: str
    span: Span
    listed: tuple[tuple[float, str], ...] = ()
    """Numbers and labels of an axis that lists its values; only these can be chosen."""

    def label(self, part: float) -> str:
        """The label of the nearest value that can be run."""
        if self.listed:
            return min(self.listed, key=lambda each: abs(self.span.part(each[0]) - part))[1]
        return label_of(self.span.make(self.span.at(part)))

    def nearest(self, part: float) -> float:
        """The coordinate of that value."""
        label = self.label(part)
        if self.listed:
            return next(self.span.part(number) for number, known in self.listed if known == label)
        return min(max(self.span.part(self.span.at(part)), 0.0), 1.0)

    def value(self, part: float) -> Any:
        """What the axis holds there; None where the axis lists its values."""
        return None if self.listed else self.span.make(self.span.at(part))


def dimensions(experiment: Experiment, over: Sequence[str]) -> tuple[Dimension, ...]:
    """The dimensions that `over` names. Raises UsageError for an axis that is none, or has no order."""
    axes = {axis.name: axis for axis in experiment.axes}
    twice = [name for name in over if over.count(name) > 1]
    if twice or not over:
        raise UsageError(f"--over: {twice[0]} is named twice" if twice else "--over names no axis")
    for name in over:
        if name not in axes:
            raise UsageError(f"--over: the experiment has no axis {name}", remedy=did_you_mean(name, axes))
    return tuple(_dimension(axes[name]) for name in over)


def _dimension(axis: Axis) -> Dimension:
    if axis.span is not None:
        return Dimension(axis.name, axis.span)
    listed = []
    for label, value in axis.values.items():
        number = _number(value)
        if number is None:
            raise UsageError(
                f"--over: {label} of the axis {axis.name} has no size to order it by",
                where=axis.where,
                remedy=f"choose one by --only {axis.name}={label}",
            )
        listed.append((number, label))
    listed.sort()
    if len(listed) < 3:
        raise UsageError(
            f"--over: the axis {axis.name} has only {len(listed)} values to choose from",
            where=axis.where,
            remedy=f'axis("{axis.name}", between(low, high))',
        )
    ends = between(axis.values[listed[0][1]], axis.values[listed[-1][1]])
    return Dimension(axis.name, ends, tuple(listed))


def _number(value: Any) -> float | None:
    from narrows.spec.span import _kinds

    kinds = _kinds(value)
    return kinds[0][1] if kinds else None
