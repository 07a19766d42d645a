"""The study of kernels: what is said of updates, and which runs it makes."""

from narrows.studies.study import Quick, Study

STUDY = Study(
    title="BBR, CUBIC, pacing, FQ-CoDel and CAKE on three versions of Linux",
    paper="Philip, *Accurately Parameterizing Internet Performance Testing for Realistic Evaluations* "
    "(2025), chapter 4, whose own kernels are older",
    quick=Quick(("t21_kernels",), {"load": ("bbr_beside_cubic", "bbr"), "queue": ("fifo_1bdp",)}),
    seeds=("0", "1", "2", "3", "4", "5"),
    headline="T21",
    compared="kernel",
)
