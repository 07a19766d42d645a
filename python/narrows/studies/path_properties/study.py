"""The study of path properties: what it tests, and which runs it makes."""

from narrows.studies.study import Quick, Study

STUDY = Study(
    title="What packet logs say of their paths, against the truth",
    paper="Philip's thesis (Carnegie Mellon, 2025), chapter 5 and section 6.2",
    quick=Quick(("n1_conditions",), {"base_rtt": ("20ms",)}),
    seeds=("0", "1", "2", "3", "4", "5"),
    headline="N1",
    condition=None,
)
