"""What the figures of an operator's capacity test read (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import THROUGHPUT, Figures, Load, Reading

FIGURES: Figures = {
    "capacity_test_throughput_bps": Reading(THROUGHPUT, words="capacity test result"),
    "capacity_test_advertised_share": "its result as a share of the advertised speed",
    "capacity_test_retransmits": "what TCP sent again",
    "capacity_test_retransmission_ratio": "what TCP sent again",
    "capacity_test_connections": "how many connections there were",
    "capacity_test_elapsed_s": "how long the test took",
}
LOAD = Load(("capacity_test_throughput_bps",), steady=True)
