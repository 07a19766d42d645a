"""The study of links below IP: what is asked of each medium, and which runs it makes."""

from narrows.studies.last_hop.testbed import CAKE
from narrows.studies.study import Quick, Study

STUDY = Study(
    title="Speed tests, flows and services on links below IP",
    paper="What a reader of a result takes for granted, and what drafts say, each named by its claim",
    quick=Quick(
        ("b1_tests", "b2_flows"),
        {
            "medium": ("rate", "wifi", "satellite"),
            "place": ("device", CAKE),
            "tool": ("ndt7", "iperf3"),
            "flow": ("cubic", "bbr"),
        },
    ),
    seeds=("0",),
    headline="B1",
    headline_figure="b1_readings",
)
