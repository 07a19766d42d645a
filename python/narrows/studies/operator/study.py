"""The study of an operator's claims: what it tests, and which runs it makes."""

from narrows.studies.study import Quick, Study

STUDY = Study(
    title="Capacity tests when an operator deploys an AQM and a dual queue",
    paper="Ledesma and Livingood, *Dual Queue & AQM Interplay Between CCAs and Speed Tests* (IETF 123, "
    "ICCRG)",
    quick=Quick(("c2_docsis_pie",), {"rate": ("25Mbit",)}),
    headline="C2",
)
