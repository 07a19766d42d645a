"""What the figures of an operator's capacity test mean (`narrows.tools.reading`)."""

from narrows.tools.reading import LESS, MORE, THROUGHPUT, Figure, Figures, Load, Reading

FIGURES: Figures = {
    "capacity_test_throughput_bps": Reading(THROUGHPUT, words="capacity test result"),
    "capacity_test_advertised_share": Figure("result as a share of the advertised speed", MORE),
    "capacity_test_retransmits": Figure("packets sent again", LESS),
    "capacity_test_retransmission_ratio": Figure("share of packets sent again", LESS),
    "capacity_test_connections": Figure("connections"),
    "capacity_test_elapsed_s": Figure("time that the test took"),
}
LOAD = Load(steady=True)
