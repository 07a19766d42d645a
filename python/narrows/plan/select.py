"""The filter of `--only`: `queue=fq_codel,sfq rate=100Mbit` keeps the runs whose key says so.

Words are separated by spaces and all must hold; commas mean "or". A value may be the label, or a quantity
that reads the same (`rate="100 Mbit/s"`, `base_rtt=0.02s`). Unknown names are errors with the nearest one.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from narrows.errors import SelectError, did_you_mean
from narrows.plan.model import Plan
from narrows.spec.axis import label_of

Key = Mapping[str, str]
T = TypeVar("T")


def parse(text: str, axes: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """A filter as axis → labels, checked against the axes of the experiment."""
    wanted: dict[str, frozenset[str]] = {}
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise SelectError(
            f"--only {text!r}: {error}", remedy="such as --only 'queue=fq_codel rate=100Mbit'"
        ) from None
    for word in words:
        name, equals, values = word.partition("=")
        if not equals or not values:
            raise SelectError(
                f"--only: {word!r} is not of the form axis=label", remedy=f"axes: {', '.join(axes)}"
            )
        if name not in axes:
            raise SelectError(f"--only: there is no axis {name!r}", remedy=did_you_mean(name, axes))
        labels = frozenset(_label(name, value, axes[name]) for value in values.split(",") if value)
        wanted[name] = wanted[name] & labels if name in wanted else labels
    return wanted


def _label(name: str, value: str, labels: Sequence[str]) -> str:
    if value in labels:
        return value
    same = label_of(value)
    if same in labels:
        return same
    raise SelectError(f"--only: {name} is never {value!r}", remedy=did_you_mean(value, labels))


def matches(key: Key, wanted: Mapping[str, frozenset[str]]) -> bool:
    """Whether a run's key satisfies a parsed filter."""
    return all(key[name] in labels for name, labels in wanted.items())


def axes_of(keys: Iterable[Key]) -> dict[str, tuple[str, ...]]:
    """Every axis with its labels, in order of first appearance."""
    axes: dict[str, dict[str, None]] = {}
    for key in keys:
        for name, label in key.items():
            axes.setdefault(name, {})[label] = None
    return {name: tuple(labels) for name, labels in axes.items()}


def select_keys(entries: Sequence[tuple[Key, T]], only: str | None) -> list[T]:
    """Those of (key, anything) whose key matches; None or "" keeps all."""
    if not only:
        return [entry for _, entry in entries]
    wanted = parse(only, axes_of(key for key, _ in entries))
    kept = [entry for key, entry in entries if matches(key, wanted)]
    if not kept:
        raise SelectError(
            f"--only {only!r} keeps no run: each label exists, but not together",
            remedy="narrows plan FILE lists the runs",
        )
    return kept


def select(plans: Sequence[Plan], only: str | None) -> list[Plan]:
    """The plans that the filter keeps."""
    return select_keys([(plan.key, plan) for plan in plans], only)
