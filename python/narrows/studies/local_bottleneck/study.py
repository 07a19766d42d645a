"""The study of the local bottleneck: what it tests, and which runs it makes."""

from functools import partial

from narrows.studies.study import Quick, Study, labels

STUDY = Study(
    title="A queue at home before the ISP's",
    paper="Grazia, Klapez and Casoni, *Less is More: Reducing Bandwidth to Enable Queueing Control and QoS* "
    "(Journal of Communications and Networks, 2025)",
    quick=Quick(("l03_cubic_curve", "l07_upload_rtt"), {}),
    headline="L1",
    headline_figure="fig5",
    condition=partial(labels, experiment=False),
)
