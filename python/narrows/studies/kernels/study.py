"""The study of kernels: what is said of updates, and which runs it makes."""

from narrows.runs.observed import Observed
from narrows.studies.study import Quick, Study


def condition(run: Observed) -> tuple[str, ...]:
    """The labels of a run but for the repetition."""
    return (run.experiment, *(label for axis, label in sorted(run.key.items()) if axis != "seed"))


STUDY = Study(
    title="BBR, CUBIC, pacing, FQ-CoDel and CAKE on three versions of Linux",
    paper="Philip, *Accurately Parameterizing Internet Performance Testing for Realistic Evaluations* "
    "(2025), chapter 4, whose own kernels are older",
    quick=Quick(("t21_kernels",), {"load": ("bbr_beside_cubic", "bbr"), "queue": ("fifo_1bdp",)}),
    seeds=("0", "1", "2", "3", "4", "5"),
    condition=condition,
    headline="T21",
)
