"""The study of scores: which say how services fare, and which runs it makes."""

from narrows.studies.study import Quick, Study

STUDY = Study(
    title="Scores against what services do",
    paper="draft-ietf-ippm-qoo-10, m-lab/iqb, Cloudflare's AIM, draft-ietf-ippm-responsiveness, and what a "
    "reader of a speed test takes for granted",
    quick=Quick(
        ("o1_services", "o2_tests"), {"home": ("c00", "c01", "c02", "c03"), "service": ("game", "download")}
    ),
    seeds=("0",),
    headline="O1",
    headline_figure="o1_ranks",
)
