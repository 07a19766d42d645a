"""What the claims measure of each change of each world: what was said of it, and what it did.

A row is of one change: `before_…`, `true_…`, `after_…` with `low_…` and `high_…` (None where whatif cannot
answer), and what the baselines say (`trace_…`, `profile_…`). `bench/whatif.py` makes them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from narrows.judging.parts import Item, Judge, Mark, Share, percent, plain_of
from narrows.runs.observed import Observed

METRICS = ("goodput_bps", "rtt_p95_s")
CALLED = {"goodput_bps": "goodput", "rtt_p95_s": "p95 RTT"}
BASELINES = {
    "whatif": "after",
    "as before": "before",
    "the throughput as a trace": "trace",
    "a profile": "profile",
}
"""Who says something, and the columns that have it."""
MATTERS = 0.1
"""A truth that moves by less than this is no difference to be right about."""
Row = Mapping[str, Any]
Of = Callable[[Any], float | None]


def rows(runs: Sequence[Observed]) -> Iterator[Item]:
    """Each change of each world, by its kind and change, and whether it could be answered."""
    for run in runs:
        for row in run.path_logs or ():
            if "true_goodput_bps" in row:
                answered = "no" if row["cannot"] else "yes"
                key = {"kind": row["kind"], "change": row["change"], "answered": answered}
                yield Item(row, key, (run.run_id,))


def error(metric: str, who: str = "whatif") -> Of:
    """How far what is said is from the truth, relative to it."""

    def of(row: Row) -> float | None:
        value = row[f"{BASELINES[who]}_{metric}"]
        return None if value is None else abs(value / row[f"true_{metric}"] - 1)

    return of


def inside(metric: str) -> Of:
    """Whether the 90 % interval holds the truth."""

    def of(row: Row) -> float | None:
        low = row[f"low_{metric}"]
        return None if low is None else float(low <= row[f"true_{metric}"] <= row[f"high_{metric}"])

    return of


def moved(row: Row, metric: str) -> bool:
    """Whether the change moves it at all."""
    return bool(abs(row[f"true_{metric}"] / row[f"before_{metric}"] - 1) > MATTERS)


def ahead(metric: str, who: str = "whatif") -> Of:
    """Whether it is said rightly which arm has more, where the truth moves."""

    def of(row: Row) -> float | None:
        value, before = row[f"{BASELINES[who]}_{metric}"], row[f"before_{metric}"]
        if value is None or not moved(row, metric):
            return None
        return float((value > before) == (row[f"true_{metric}"] > before))

    return of


def sure_and_wrong(metric: str) -> Of:
    """Whether a difference is said that points the wrong way, and the value is off by more than matters."""

    def of(row: Row) -> float | None:
        before, low, after = (row[f"{part}_{metric}"] for part in ("before", "low", "after"))
        if low is None:
            return None
        sure = not low <= before <= row[f"high_{metric}"]
        wrong = (after > before) != (row[f"true_{metric}"] > before) and (error(metric)(row) or 0) > MATTERS
        return float(sure and wrong)

    return of


def cannot(row: Row) -> float:
    """Whether it says that the capture cannot answer."""
    return float(row["cannot"] is not None)


mean = plain_of("mean")
WhatIf = partial(
    Judge,
    by=(),
    items=rows,
    where={"answered": "yes"},
    under="links of 2 to 300 Mbit/s, 8 to 250 ms, of ten kinds; changes of CCA, queue, rate, base RTT and a "
    "sysctl; fitted from a capture of 96 bytes a packet at the sender; 8 draws",
    missing="no world was predicted: make whatif",
)
OURS = ("our own bar", "w1_worlds.py")


def near(name: str, text: str, metric: str, most: float) -> Judge:
    """What is said of a metric is near what the change does, in the median, beside what the baselines say."""
    measures = tuple(Share(f"error of {CALLED[metric]}, {who}", read=error(metric, who)) for who in BASELINES)
    mark = Mark(f"median error at most {percent(most)}", most=most)
    return WhatIf(name, text, *OURS, measures=measures, marks=(mark,))


def often(name: str, text: str, words: str, of: Callable[[str], Of], **bounds: Any) -> Judge:
    """A share of predictions of each metric."""
    measures = tuple(Share(f"{words}, {CALLED[metric]}", read=of(metric), take=mean) for metric in METRICS)
    bound, value = next(iter(bounds.items()))
    marks = tuple(Mark(f"at {bound} {percent(value)}", each.name, **bounds) for each in measures)
    return WhatIf(name, text, *OURS, measures=measures, marks=marks)
