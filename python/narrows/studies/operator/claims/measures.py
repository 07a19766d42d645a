"""What R12 and C1 to C5 measure: what a speed test read, and what packets and probes met.

These claims are about one experiment each; runs are chosen by the labels of its axes.
"""

from narrows.judging.parts import Measure, Read, Share, figure, quantity
from narrows.metrics.rate.utilisation import largest_goodput_bps
from narrows.runs.observed import Observed
from narrows.runs.quantities import under
from narrows.runs.queue_numbers import LOADED_AFTER_S

SETTLING_S = LOADED_AFTER_S
HOP = "bottleneck"
READINGS = ("capacity_test_throughput_bps", "ndt7_throughput_bps", "iperf3_goodput_bps")
"""What each tool itself gives as its result; all are TCP payload."""
reading_bps = figure("test", *READINGS)
"""What the speed test gives as its result."""


def filled(run: Observed) -> float | None:
    """The reading over the largest TCP payload rate that the shaper allows."""
    reading, possible = reading_bps(run), largest_goodput_bps(run.rate_bps("down"), run.link.mtu_bytes)
    return None if reading is None else reading / possible


def advertised_share(run: Observed) -> float | None:
    """The reading over the shaper's rate, as an operator compares it with what was sold."""
    reading = reading_bps(run)
    return None if reading is None else reading / run.rate_bps("down")


def retransmitted(run: Observed) -> float | None:
    """Share of what the test sent that it sent again, by the tool; iperf3's packets over those that reached
    the bottleneck."""
    told = figure("test", "capacity_test_retransmission_ratio", "ndt7_retransmission_ratio")(run)
    if told is not None:
        return told
    again, sent = figure("test", "iperf3_retransmits")(run), figure("test", "tap_arrived", at=HOP)(run)
    return None if again is None or not sent else again / sent


def loaded_rtt_ms(probe: str, load: str, percent: int = 50) -> Read:
    """Quantile of a probe's round-trip time while an item loads the path, its first `SETTLING_S` left out."""
    return quantity(f"loaded_rtt_p{percent}_ms", under(probe, load))


def sojourn_ms(item: str) -> Read:
    """Median of an item's own packets' sojourn time at the bottleneck."""
    return figure(item, "sojourn_p50_ms", at=HOP)


def by_tool(read: str, of: dict[str, Read]) -> Read:
    """What is read of each tool, whose items have names of their own."""
    return lambda run: of[run.key[read]](run)


FILLED = Share("share of what TCP can carry", read=filled)
READING = Measure("reading of the test", "Mbit/s", figure("test", *READINGS, per=1e6))
