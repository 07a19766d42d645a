"""What every parser returns, and how a CSV of the agent is read strictly."""

import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from narrows.errors import StoreError
from narrows.store import schema
from narrows.store.whose import NOBODY, Whose


@dataclass(frozen=True)
class Metric:
    """A figure of the whole run. A figure that the tool did not give is not made: no Metric, no row."""

    name: str
    value: float
    unit: str
    direction: str | None = None
    part: str | None = None
    """None: of the item itself."""
    flow: str | None = None
    """None: of all its flows."""
    whose: Whose = NOBODY
    """Known when its item is (`Parsed.of`)."""


@dataclass
class Parsed:
    """Rows of `samples` (without run_id) and figures."""

    samples: list[pl.DataFrame] = field(default_factory=list)
    metrics: list[Metric] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    sockets: list[pl.DataFrame] = field(default_factory=list)
    """What was seen of TCP sockets (`narrows.store.sockets`)."""

    def add(
        self,
        quantity: str,
        unit: str,
        t_ns: Sequence[int] | pl.Series,
        values: Sequence[float | None] | pl.Series,
        *,
        part: str | None = None,
        direction: str | None = None,
        flow: str | None = None,
    ) -> None:
        """Append one series, of the item or of a part of it. Values that are None or NaN are NULL."""
        frame = pl.DataFrame(
            {
                "t_ns": pl.Series(t_ns, dtype=pl.Int64),
                "value": pl.Series(values, dtype=pl.Float64, strict=False).fill_nan(None),
            }
        )
        words = {"quantity": quantity, "unit": unit, "part": part, "direction": direction, "flow": flow}
        if frame.height:
            self.samples.append(schema.conform(frame, "samples", words))

    def add_columns(
        self, frame: pl.DataFrame, units: Mapping[str, str], *, direction: str | None = None, prefix: str = ""
    ) -> None:
        """Append the columns that `units` names, one series each, of a frame with `t_ns` and perhaps `part`,
        `flow` and `item`.

        A value that is NULL makes no row; one that is NaN is NULL. In one pass: a table has dozens of them.
        """
        kept = [name for name in ("t_ns", "part", "flow", "item") if name in frame.columns]
        names = {name: prefix + name for name in units}
        long = (
            frame.lazy()
            .select(*kept, *(pl.col(name).cast(pl.Float64).alias(new) for name, new in names.items()))
            .unpivot(index=kept, variable_name="quantity")
            .filter(pl.col("value").is_not_null())
            .with_columns(
                pl.col("value").fill_nan(None),
                unit=pl.col("quantity").replace_strict({new: units[name] for name, new in names.items()}),
            )
            .collect()
        )
        if long.height:
            self.samples.append(schema.conform(long, "samples", {"direction": direction}))

    def figure(
        self,
        name: str,
        value: float | None,
        unit: str,
        direction: str | None = None,
        *,
        part: str | None = None,
        flow: str | None = None,
    ) -> None:
        """Append a figure, unless it is unknown."""
        if value is None or math.isnan(value):
            return
        if math.isinf(value):
            raise StoreError(f"{name} is infinite, which is not a measurement", remedy="see raw/")
        self.metrics.append(Metric(name, float(value), unit, direction, part, flow))

    def of(self, whose: Whose) -> "Parsed":
        """This, as of an item, of a part of it in the plan, or of a sampler, where it does not say whose."""

        def own(metric: Metric) -> Metric:
            named = whose._replace(part=metric.part or whose.part, flow=metric.flow)
            return metric if metric.whose != NOBODY else replace(metric, whose=named)

        def named(frame: pl.DataFrame) -> pl.DataFrame:
            has_item = frame["item"].null_count() < frame.height
            return schema.filled(frame, {"hop": whose.hop} if has_item else whose._asdict())

        self.metrics = [own(metric) for metric in self.metrics]
        self.samples = [named(frame) for frame in self.samples]
        return self

    def merge(self, other: "Parsed") -> None:
        self.samples += other.samples
        self.metrics += other.metrics
        self.warnings += other.warnings
        self.sockets += other.sockets


@contextmanager
def known_shape(where: str, shape: str) -> Iterator[None]:
    """What does not have the shape that a parser reads, such as "the JSON of iperf3 3.7", is one clear
    error."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, ZeroDivisionError) as error:
        raise StoreError(
            f"this is not {shape} ({type(error).__name__}: {error})",
            where=where,
            remedy="see what the tool wrote, and which version it is",
        ) from None


def strict_json(text: str) -> Any:
    """What a tool wrote as JSON; a ValueError for anything else, NaN and nesting without end too."""

    def refused(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    try:
        return json.loads(text, parse_constant=refused)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def read_json(text: str, who: str, *, where: str, remedy: str = "see its stderr in raw/") -> dict[str, Any]:
    """The one JSON object that a program prints."""
    try:
        data = strict_json(text)
    except ValueError as error:
        shown = text.strip().splitlines()[:1] or ["nothing"]
        raise StoreError(
            f"{who} did not write JSON ({error}); it wrote: {shown[0][:200]}", where=where, remedy=remedy
        ) from None
    if not isinstance(data, dict):
        raise StoreError(f"{who} did not write a JSON object", where=where, remedy=remedy)
    return data


def read_csv(
    text: str, columns: Mapping[str, Any], *, where: str, optional: Iterable[str] = (), others: Any = None,
    lines_before: int = 0,
) -> pl.DataFrame:  # fmt: skip
    """A CSV with a header line of these columns (name → Polars type), in any order.

    Empty fields are NULL. A missing column is an error; an unknown one too, unless `others` gives the type of
    such columns. A line that does not fit is an error with its number; `lines_before` are left out of `text`.
    """
    header = text.split("\n", 1)[0].strip()
    if not header:
        raise StoreError("the file is empty: not even a header line", where=where)
    names = header.split(",")
    missing = [name for name in columns if name not in names and name not in set(optional)]
    unknown = [name for name in names if name not in columns]
    if missing or (unknown and others is None):
        fault = f"no column {', '.join(missing)}" if missing else f"unknown column {', '.join(unknown)}"
        raise StoreError(
            f"{fault}; its header is '{header}'",
            where=f"{where}:1",
            remedy="agent and narrows are of different versions: make build",
        )
    types = {name: columns.get(name, others) for name in names}
    try:
        return pl.read_csv(io.BytesIO(text.encode()), schema=types, has_header=True, null_values=[""])
    except pl.exceptions.PolarsError as error:
        raise StoreError(
            _first_bad_line(text, types, lines_before) or str(error).split("\n")[0], where=where
        ) from None


def _first_bad_line(text: str, types: Mapping[str, Any], before: int) -> str | None:
    for number, line in enumerate(text.splitlines()[1:], start=2 + before):
        fields = line.split(",")
        if len(fields) != len(types):
            return f"line {number} has {len(fields)} fields, not {len(types)}: '{line}'"
        for (name, dtype), value in zip(types.items(), fields, strict=True):
            if value and dtype.is_numeric():
                try:
                    float(value)
                except ValueError:
                    return f"line {number}: {name} is '{value}', not a number"
    return None
