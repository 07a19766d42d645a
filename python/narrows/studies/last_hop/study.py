"""The study of links below IP: what is asked of each medium, and which runs it makes."""

from narrows.runs.observed import Observed
from narrows.studies.last_hop.testbed import CAKE
from narrows.studies.study import Quick, Study


def condition(run: Observed) -> tuple[str, ...]:
    """The labels of a run but for the repetition."""
    return (run.experiment, *(label for axis, label in sorted(run.key.items()) if axis != "seed"))


STUDY = Study(
    title="Speed tests, flows and services on links below IP",
    paper="What a reader of a result takes for granted, and what drafts say, each named by its claim",
    quick=Quick(
        ("b1_tests", "b2_flows"),
        {
            "medium": ("rate", "wifi", "satellite"),
            "place": ("device", CAKE),
            "tool": ("ndt7", "iperf3"),
            "flow": ("cubic", "bbr"),
        },
    ),
    seeds=("0",),
    condition=condition,
    headline="B1",
    headline_figure="b1_readings",
)
