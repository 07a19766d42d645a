"""The study of Ray et al.: what it tests, and which runs it makes."""

from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import labels
from narrows.studies.study import Quick, Study


def condition(run: Observed) -> tuple[str, ...] | None:
    """A run of another experiment serves a claim as well, so its plan says what it is a repetition of."""
    return tuple(labels(run).values()) if run.link.rate_down_bps else None


STUDY = Study(
    title="Active queue management and what a speed test reports",
    paper="Ray et al., *Characterizing the Impact of Active Queue Management on Speed Test Measurements* "
    "(arXiv 2511.19213)",
    quick=Quick(("aqm_study",), {"rate": ("100Mbit", "200Mbit")}),
    condition=condition,
    headline="R8",
    headline_figure="paper_fig8",
)
