"""The study of QUIC stacks: what was reported of them, and which runs it makes."""

from narrows.runs.observed import Observed
from narrows.studies.study import Quick, Study


def condition(run: Observed) -> tuple[str, ...]:
    """The labels of a run but for the repetition."""
    return (run.experiment, *(label for axis, label in sorted(run.key.items()) if axis != "seed"))


STUDY = Study(
    title="QUIC stacks behind six queues",
    paper="Reports of users in the trackers of quinn and ngtcp2, and RFCs, each named by its claim",
    quick=Quick(
        ("q1_shares", "q2_changes", "q6_idle"),
        {"queue": ("fifo_1bdp",), "link": ("20Mbit_40ms",), "beside": ("nothing", "cubic")},
    ),
    seeds=("0",),
    condition=condition,
    headline="Q1",
)
