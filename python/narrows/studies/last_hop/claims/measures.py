"""What the claims measure: what a test reads of what its medium carries, and what a third party meets.

Everything here is the way down.
"""

from collections.abc import Mapping
from functools import partial

from narrows.judging.parts import Judge, Measure, Read, Share, figure, quantity
from narrows.runs.capacity import capacity_bps, goodput_of, payload_share
from narrows.runs.observed import Observed
from narrows.runs.quantities import under
from narrows.studies.last_hop.testbed import NAMES
from narrows.tools.reading import IP_OF_1250
from narrows.units import NS_PER_S

LOADED_NS = (3 * NS_PER_S, 13 * NS_PER_S)
"""When every test and every flow loads the link."""
LOADS = ("test", "test.down", "flow")
RATES: Mapping[str, Read] = {
    "ndt7": figure("test", "ndt7_throughput_bps"),
    "iperf3": figure("test", "iperf3_goodput_bps"),
    "capacity_test": figure("test", "capacity_test_throughput_bps"),
    "cloudflare": figure("test", "cloudflare_bandwidth_bps"),
    "ookla_model": figure("test", "ookla_model_throughput_bps"),
    "librespeed_model": figure("test", "librespeed_model_throughput_bps"),
    "rpm": figure("test", "rpm_goodput_bps"),
    "udp_capacity": figure("test", "udp_capacity_bps"),
    "cubic": figure("flow", "bulk_goodput_bps"),
    "bbr": figure("flow", "bulk_goodput_bps"),
    "quinn_cubic": figure("flow", "quic_goodput_bps"),
    "quinn_bbr": figure("flow", "quic_goodput_bps"),
}
"""The rate that each test or flow says of itself."""
DELAYS: Mapping[str, Read] = {
    "ndt7": figure("test", "ndt7_rtt_mean_ms"),
    "ookla_model": figure("test", "ookla_model_loaded_latency_ms"),
    "librespeed_model": figure("test", "librespeed_model_loaded_latency_ms"),
    "rpm": figure("test", "rpm"),
}
"""The tests that show a latency under load. Cloudflare's is left out: it loads both ways in turn."""
MEDIUM = {"medium": NAMES}


def read_share(run: Observed) -> float | None:
    """The rate that a test or a flow says over what the slowest place could carry, both as TCP payload of
    full packets. On Wi-Fi that is what one way has while the other is silent, so even a perfect test reads
    less: its acknowledgements take air."""
    who = run.key.get("tool") or run.key["flow"]
    said, carried = RATES[who](run), capacity_bps(run.plan, "down", LOADED_NS)
    if said is None or not carried:
        return None
    share = payload_share(run.plan, "down", IP_OF_1250) if who == "udp_capacity" else 1.0
    return share * said / goodput_of(run.plan, "down", carried)


def met_ms(quantile: str) -> Read:
    """The round trip of the third party's probe under load; `quantile`: p50 or p95."""
    reads = [quantity(f"loaded_rtt_{quantile}_ms", under("probe", load)) for load in LOADS]
    return lambda run: next((value for read in reads if (value := read(run)) is not None), None)


def shown_share(run: Observed) -> float | None:
    """The latency under load that a test shows, responsiveness as the time of a round trip, over what the
    third party meets in the median."""
    tool = run.key["tool"]
    shown, met = DELAYS[tool](run), met_ms("p50")(run)
    if shown is None or not shown or not met:
        return None
    return (60_000 / shown if tool == "rpm" else shown) / met


READING = Share("reading over what is carried", read=read_share)
SHOWN = Share("latency shown over that met", read=shown_share)
USED = Share("goodput over what is carried", read=read_share)
MET_P50 = Measure("round trip that another meets, median", "ms", met_ms("p50"))
MET_P95 = Measure("round trip that another meets, p95", "ms", met_ms("p95"))
LastHop = partial(
    Judge,
    where=MEDIUM,
    count_by="medium",
    rests="marked",
    under="30 Mbit/s, 30 ms; the queue in the device, at the router, or under CAKE at 90 %",
)
"""What a medium does is what is asked, so a reason counts by medium."""
