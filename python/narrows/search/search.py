"""A search over axes of an experiment: asks for points, has them run, and learns where metrics change.

A point is one condition; its value is the median over the repetitions. The caller makes the runs. The same
call in the same directory asks for the same points, whose runs are there by then, so an interrupted search
goes on where it was.
"""

import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from narrows.comparing import named_figure
from narrows.errors import UsageError
from narrows.plan.build import plan_experiment
from narrows.plan.model import Plan
from narrows.plan.select import select
from narrows.search.chooser import Chooser, Surface
from narrows.search.space import Dimension, Place, dimensions
from narrows.spec.axis import SEED
from narrows.spec.load import Experiment, load
from narrows.store.results import Results

FILE = "search.json"
FORMAT = 1
STEADY = 4
"""So many points in a row must have been predicted within the tolerance, and at least two an axis."""
Make = Callable[[list[Plan]], Mapping[str, Plan]]
"""Makes the runs of some plans; gives the plans by the runs' ids."""


@dataclass(frozen=True)
class Metric:
    """A figure of a run; `source` where several have it. Written SOURCE:FIGURE or FIGURE."""

    name: str
    source: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Metric":
        source, colon, name = text.rpartition(":")
        if not name or (colon and not source):
            raise UsageError(f"--metric {text!r} is no figure", remedy="such as flow:bulk_goodput_bps")
        return cls(name, source or None)

    def __str__(self) -> str:
        return f"{self.source}:{self.name}" if self.source else self.name


@dataclass(frozen=True)
class Point:
    """One condition that was asked for.

    `values`: the median of each metric over the repetitions, None where no run has it; `lowest` and `highest`
    over the repetitions; `predicted` by the surface of the points before it, None for the first ones.
    """

    place: Place
    labels: Mapping[str, str]
    values: tuple[float | None, ...]
    lowest: tuple[float | None, ...]
    highest: tuple[float | None, ...]
    predicted: tuple[float | None, ...]

    @property
    def known(self) -> bool:
        """Whether every metric has a value."""
        return all(value is not None for value in self.values)


@dataclass
class Search:
    """One search; `points` grow as it goes."""

    file: Path
    directory: Path
    over: Sequence[str]
    metrics: Sequence[Metric]
    only: str | None = None
    at_once: int = 1
    points: list[Point] = field(default_factory=list)
    units: dict[Metric, str] = field(default_factory=dict)
    dimensions: tuple[Dimension, ...] = ()
    experiment: str = ""

    def __post_init__(self) -> None:
        experiment = load(self.file)
        self.experiment = experiment.name
        self.dimensions = dimensions(experiment, self.over)
        if not self.metrics:
            raise UsageError("--metric names no figure", remedy="such as --metric ndt7_throughput_bps")
        middle = tuple(0.5 for _ in self.dimensions)
        others = {
            tuple((a, label) for a, label in plan.key.items() if a != SEED and a not in self.over)
            for plan in self.plans(middle)
        }
        if len(others) > 1:
            open_ = {a for key in others for a, _ in key if len({dict(k)[a] for k in others}) > 1}
            name = min(open_)
            labels = sorted({dict(key)[name] for key in others})
            raise UsageError(
                f"the axis {name} is not searched over, and has {len(labels)} values: {', '.join(labels)}",
                remedy=f"choose one: --only {name}={labels[0]}",
            )

    def plans(self, place: Place) -> list[Plan]:
        """The plans of one point: its repetitions. Everything wrong with it is raised here."""
        experiment: Experiment = load(self.file)
        for dimension, part in zip(self.dimensions, place, strict=True):
            label, value = dimension.label(part), dimension.value(part)
            for axis in experiment.every_axis(dimension.name):
                axis.values = {label: axis.values[label] if dimension.listed else value}
        return select(list(plan_experiment(experiment).plans), self.only)

    def batches(self, make: Make, budget: int, tolerance: float | None) -> Iterator[list[Point]]:
        """Points as they become known, until the budget is spent or the surface is known."""
        chooser = Chooser(len(self.dimensions))
        asked: set[Place] = set()
        empty = 0
        while len(self.points) < budget and not self.is_known(tolerance) and empty < 3:
            wanted: list[tuple[Place, Place]] = []
            for exact in chooser.ask(min(self.at_once, budget - len(self.points))):
                near = tuple(d.nearest(part) for d, part in zip(self.dimensions, exact, strict=True))
                if near in asked:
                    self._tell_again(chooser, exact, near)
                else:
                    asked.add(near)
                    wanted.append((exact, near))
            empty = 0 if wanted else empty + 1
            found = self.measure([near for _, near in wanted], make) if wanted else []
            for (exact, _), point in zip(wanted, found, strict=True):
                if point.known:
                    chooser.tell(exact, self._numbers(point))
                self.points.append(point)
            if found:
                self.write()
                yield found

    def _tell_again(self, chooser: Chooser, exact: Place, near: Place) -> None:
        """A listed axis has nothing between two neighbours: what is known of the nearer one stands for it."""
        for point in self.points:
            if point.place == near and point.known:
                chooser.tell(exact, self._numbers(point))

    def _numbers(self, point: Point) -> list[float]:
        """The values; of several metrics as parts of their scales, so that no unit outweighs another."""
        if len(point.values) == 1:
            return [value for value in point.values if value is not None]
        return [
            0.0 if value is None else value / (self.largest(index) or 1.0)
            for index, value in enumerate(point.values)
        ]

    def largest(self, metric: int) -> float:
        """The largest magnitude of the first points: a scale that does not change as the search goes on."""
        first = [p.values[metric] for p in self.points[: 2 ** len(self.dimensions)]]
        return max((abs(value) for value in first if value is not None), default=1.0)

    def measure(self, places: Sequence[Place], make: Make) -> list[Point]:
        """Have points run, and read what they gave."""
        plans = [self.plans(place) for place in places]
        runs = make([plan for some in plans for plan in some])
        results = Results(self.directory)
        by_metric: list[dict[str, float]] = []
        for metric in self.metrics:
            rows = named_figure.rows(
                results, metric.name, source=metric.source, workers=self.at_once, where=str(self.file)
            )
            self.units[metric] = str(rows["unit"][0] or "") if rows.height else ""
            by_metric.append(dict(rows.select("run_id", "value").iter_rows()))
        ids = {json.dumps(plan.key, sort_keys=True): run for run, plan in runs.items()}
        points = []
        for place, some in zip(places, plans, strict=True):
            mine = [ids.get(json.dumps(plan.key, sort_keys=True)) for plan in some]
            values: list[list[float]] = [
                [figures[run] for run in mine if run is not None and figures.get(run) is not None]
                for figures in by_metric
            ]
            points.append(
                Point(
                    place,
                    {d.name: d.label(part) for d, part in zip(self.dimensions, place, strict=True)},
                    tuple(statistics.median(each) if each else None for each in values),
                    tuple(min(each) if each else None for each in values),
                    tuple(max(each) if each else None for each in values),
                    tuple(self._predicted(index, place) for index in range(len(self.metrics))),
                )
            )
        return points

    def _predicted(self, metric: int, place: Place) -> float | None:
        if len([p for p in self.points if p.known]) < 2 ** len(self.dimensions):
            return None
        return float(self.surface(metric).at([place])[0])

    def surface(self, metric: int) -> Surface:
        """The surface through all points that are known."""
        known = [(p.place, p.values[metric]) for p in self.points]
        return Surface([p for p, v in known if v is not None], [v for _, v in known if v is not None])

    def span_of(self, metric: int) -> float:
        """Largest less smallest value found."""
        values = [v for p in self.points if (v := p.values[metric]) is not None]
        return max(values) - min(values) if values else 0.0

    def surprise(self) -> float | None:
        """The largest error of what was predicted for the latest points, as a part of each metric's range;
        None while there are too few."""
        number = max(STEADY, 2 * len(self.dimensions))
        latest = [p for p in self.points if p.known and None not in p.predicted][-number:]
        if len(latest) < number:
            return None
        return max(
            abs(value - guess) / (self.span_of(index) or 1.0)
            for point in latest
            for index, (value, guess) in enumerate(zip(point.values, point.predicted, strict=True))
            if value is not None and guess is not None
        )

    def is_known(self, tolerance: float | None) -> bool:
        """Whether the surface is known to the tolerance."""
        surprise = self.surprise()
        return tolerance is not None and surprise is not None and surprise <= tolerance

    def write(self) -> None:
        """What was asked and found, beside the runs."""
        document = {
            "format": FORMAT,
            "experiment": self.experiment,
            "over": list(self.over),
            "only": self.only,
            "metrics": [
                {"name": m.name, "source": m.source, "unit": self.units.get(m, "")} for m in self.metrics
            ],
            "points": [
                {
                    "key": dict(p.labels), "place": list(p.place), "median": list(p.values),
                    "lowest": list(p.lowest), "highest": list(p.highest), "predicted": list(p.predicted),
                }
                for p in self.points
            ],
        }  # fmt: skip
        self.directory.mkdir(parents=True, exist_ok=True)
        text = json.dumps(document, indent=1, ensure_ascii=False)
        (self.directory / FILE).write_text(text + "\n", encoding="utf-8")
