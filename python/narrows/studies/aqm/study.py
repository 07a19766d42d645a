"""The study of Ray et al.: what it tests, and which runs it makes."""

from dataclasses import replace

from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import Facts, facts
from narrows.studies.study import Quick, Study

TEST = "ndt7"


def condition(run: Observed) -> Facts | None:
    """A run of another experiment serves a claim as well, so its plan says what it is a repetition of."""
    if not run.link.get("rate_down_bps"):
        return None
    items = (item for item in run.plan["traffic"] if item["kind"] == "command" and not item["background"])
    test = next((item["id"] for item in items if item["tool"] == TEST), None)
    return facts(run if run.test_item else replace(run, test_item=test))


STUDY = Study(
    title="Active queue management and what a speed test reports",
    paper="Ray et al., *Characterizing the Impact of Active Queue Management on Speed Test Measurements* "
    "(arXiv 2511.19213)",
    quick=Quick(("aqm_study",), {"rate": ("100Mbit", "200Mbit")}),
    condition=condition,
)
