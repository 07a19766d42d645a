"""Axes of a sweep: a named list of labelled values that may stand wherever a value is accepted.

An axis does not know what its values are for; whoever uses it checks each of them. Axes of the same name and
labels are one axis.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from narrows.errors import SpecError, UnitError
from narrows.spec.span import Span
from narrows.spec.where import caller
from narrows.units import Duration, Rate, Size

SEED = "seed"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_order = itertools.count()
created_axes: "list[Axis]" = []
"""Every axis made since the loader last emptied this; how it finds axes that are never used."""


class Axis:
    """A named sweep: `axis("rate", ["100 Mbit/s", "1 Gbit/s"])`."""

    def __init__(self, name: str, values: Mapping[str, Any], where: str, span: Span | None = None) -> None:
        self.name = name
        self.values = dict(values)
        self.where = where
        self.span = span
        """What the values are between; None for an axis that lists them all."""
        self.order = next(_order)
        created_axes.append(self)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.values)

    def __repr__(self) -> str:
        return f"axis({self.name!r}, {list(self.values)})"

    def __iter__(self) -> Iterator[Any]:
        raise SpecError(
            f"the axis {self.name} cannot be looped over: it stands for one value per run",
            where=caller(),
            remedy="pass the axis itself where a value belongs",
        )

    def __bool__(self) -> bool:
        raise SpecError(
            f"the axis {self.name} is neither true nor false: it stands for one value per run",
            where=caller(),
            remedy="use axis(..., {label: value}) with whole values instead of a condition",
        )


def axis(name: str, values: Iterable[Any] | Mapping[str, Any] | Span) -> Any:
    """Sweep over `values`: a list, whose labels are made from the values, `{label: value}`, or `between(…)`.

    None as a value means "absent": no traffic, no option.
    """
    where = caller()
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SpecError(
            f"{name!r} cannot name an axis",
            where=where,
            remedy="small letters, digits and '_', such as \"rate\"",
        )
    if name == SEED:
        raise SpecError("the axis seed is made by repeat()", where=where, remedy="repetitions = repeat(10)")
    span = values if isinstance(values, Span) else None
    if isinstance(values, Span):
        values = values.values()
    if isinstance(values, (str, bytes)) or not isinstance(values, (Mapping, Iterable)):
        raise SpecError(f"axis {name}: {values!r} is not a list of values", where=where)
    if isinstance(values, Mapping):
        labelled = {_checked_label(name, label, where): value for label, value in values.items()}
    else:
        labelled = {}
        for value in values:
            label = label_of(value)
            if label in labelled:
                raise SpecError(
                    f"axis {name}: two values would be labelled {label!r}",
                    where=where,
                    remedy="name them: axis(name, {label: value, …})",
                )
            labelled[_checked_label(name, label, where)] = value
    if not labelled:
        raise SpecError(f"axis {name} has no values: there would be no runs", where=where)
    return Axis(name, labelled, where, span)


def _checked_label(name: str, label: object, where: str) -> str:
    if not isinstance(label, str) or not label or re.search(r"[\s,=\"']", label) or label == "-":
        raise SpecError(
            f"axis {name}: {label!r} cannot be a label",
            where=where,
            remedy="short text without spaces, commas, '=' and quotes: axis(name, {label: value, …})",
        )
    return label


def label_of(value: object) -> str:
    """The label of a value that was not given one: `100Mbit`, `fq_codel`, `on`, `none`."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (Rate, Size, Duration)):
        return value.label()
    if isinstance(value, str):
        for kind in (Rate, Size, Duration):
            try:
                return kind.parse(value).label()
            except UnitError:
                continue
        return re.sub(r"\s+", "", value)
    if isinstance(value, (tuple, list)):
        return "-".join(label_of(part) for part in value)
    label = getattr(value, "label", None)
    return str(label()) if callable(label) else str(value)
