"""The study of what-if: how often it is right, of changes whose outcome is known."""

from narrows.studies.study import Quick, Study

STUDY = Study(
    title="What-if: one thing changed on the path of a capture, against the change itself",
    paper="What is asked of it before anybody should rely on it (our own bars)",
    quick=Quick(("w1_worlds",), {"case": ("w000-as_it_was", "w000-cca")}),
    seeds=("0",),
    headline="W1",
    condition=None,
)
