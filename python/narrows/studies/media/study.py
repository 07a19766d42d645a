"""The study of RFC 8867's test cases: which of them it has, and which runs it makes."""

from narrows.runs.observed import Observed
from narrows.studies.study import Quick, Study


def condition(run: Observed) -> tuple[str, ...]:
    """The labels of a run but for the repetition."""
    return (run.experiment, *(label for axis, label in sorted(run.key.items()) if axis != "seed"))


STUDY = Study(
    title="Calls in the test cases of RFC 8867",
    paper="RFC 8867, *Test Cases for Evaluating Congestion Control for Interactive Real-Time Media*",
    quick=Quick(("m1_single", "m4_competing", "m5_long_tcp"), {"pace": ("quarter",), "queue": ("droptail",)}),
    seeds=("0",),
    usual={"pace": ("rfc",)},
    condition=condition,
    headline="M1",
    headline_figure="m1_rates",
)
