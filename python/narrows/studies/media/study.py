"""The study of RFC 8867's test cases: which of them it has, and which runs it makes."""

from narrows.studies.study import Quick, Study

STUDY = Study(
    title="Calls in the test cases of RFC 8867",
    paper="RFC 8867, *Test Cases for Evaluating Congestion Control for Interactive Real-Time Media*",
    quick=Quick(("m1_single", "m4_competing", "m5_long_tcp"), {"pace": ("quarter",), "queue": ("droptail",)}),
    seeds=("0",),
    usual={"pace": ("rfc",)},
    headline="M1",
    compared="program",
    headline_figure="m1_rates",
)
