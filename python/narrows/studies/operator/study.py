"""The study of an operator's claims: what it tests, and which runs it makes."""

from narrows.runs.observed import Observed
from narrows.studies.study import Quick, Study


def condition(run: Observed) -> tuple[str, ...]:
    """These claims are about one experiment each: its labels but for the repetition."""
    return (run.experiment, *(label for axis, label in sorted(run.key.items()) if axis != "seed"))


STUDY = Study(
    title="Capacity tests when an operator deploys an AQM and a dual queue",
    paper="Ledesma and Livingood, *Dual Queue & AQM Interplay Between CCAs and Speed Tests* (IETF 123, "
    "ICCRG)",
    quick=Quick(("c2_docsis_pie",), {"rate": ("25Mbit",)}),
    condition=condition,
    headline="C2",
)
