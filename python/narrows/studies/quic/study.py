"""The study of QUIC stacks: what was reported of them, and which runs it makes."""

from narrows.studies.study import Quick, Study

STUDY = Study(
    title="QUIC stacks behind five queues",
    paper="Reports of users in the trackers of quinn and ngtcp2, and RFCs, each named by its claim",
    quick=Quick(
        ("q1_shares", "q2_changes", "q6_idle"),
        {"queue": ("fifo_1bdp",), "link": ("20Mbit_40ms",), "beside": ("nothing", "cubic")},
    ),
    seeds=("0",),
    headline="Q7",
    compared="beside",
)
