"""C5, an open question: is UDP better for capacity, and responsiveness a better headline than bandwidth?"""

from collections.abc import Iterator
from itertools import combinations

from narrows.headers import TCP_IPV4_HEADERS_BYTES, UDP_IPV4_HEADERS_BYTES
from narrows.judging.parts import Judge, Mark, Measure, Number, Numbers, Share, all_of, figure, one, percent
from narrows.metrics.rate.utilisation import largest_goodput_bps
from narrows.runs.observed import Observed
from narrows.studies.operator.claims.measures import by_tool, loaded_rtt_ms, reading_bps

FULL = 0.95  # of the largest payload rate that the shaper allows
SAME_BANDWIDTH = 1.05  # largest over smallest reading between the queues
DIFFERENT_RPM = 2.0
CLEAR_MS = 2.0  # two queues' loaded latency differs
ITEMS = {"tcp": "test.down", "udp": "test", "rpm": "test"}


def filled(run: Observed) -> float | None:
    """The reading over what its protocol can carry."""
    headers = UDP_IPV4_HEADERS_BYTES if run.key["tool"] == "udp" else TCP_IPV4_HEADERS_BYTES
    reading = reading_bps(run)
    possible = largest_goodput_bps(run.rate_bps("down"), run.link.mtu_bytes, headers)
    return None if reading is None else reading / possible


PROBE = Measure(
    "RTT of a sparse probe, p95",
    "ms",
    by_tool("tool", {tool: loaded_rtt_ms("probe", item, 95) for tool, item in ITEMS.items()}),
)
RPM = Measure("responsiveness", "1/min", figure("test", "rpm"), {"tool": "rpm"})
FILLED = Share("share of what the protocol can carry", read=filled, where={"tool": ("tcp", "udp")})
LOST = Share("packets lost", read=figure("test", "iperf3_loss_ratio"), where={"tool": "udp"})
ALONE = {"beside": "nothing"}
READS = "differences of bandwidth and RPM between queues"
WRONG = "pairs of queues that RPM orders otherwise than the probe"


def spread(numbers: Numbers) -> float:
    """Largest over smallest."""
    return max(each.value for each in numbers) / min(each.value for each in numbers)


def headlines(found: Numbers) -> Iterator[Number]:
    """Whether bandwidth is alike behind all queues and RPM is not, and how many pairs of queues that differ
    clearly RPM orders the other way than the probe's latency does."""
    tcp, rounds = all_of(found, FILLED.name, tool="tcp", **ALONE), all_of(found, RPM.name, **ALONE)
    if len(tcp) < 2 or len(rounds) < 2:
        return
    bandwidth, rpms = spread(tcp), spread(rounds)
    tells = bandwidth <= SAME_BANDWIDTH and rpms >= DIFFERENT_RPM
    told = {"bandwidth": f"{bandwidth:.2f}-fold", "RPM": f"{rpms:.1f}-fold"}
    yield Number(READS, "1", float(tells), len(tcp), told)
    late = {each.conditions["queue"]: one(found, PROBE.name, **each.conditions) for each in rounds}
    known = {queue: number.value for queue, number in late.items() if number is not None}
    rpm = {each.conditions["queue"]: each.value for each in rounds}
    clear = [(a, b) for a, b in combinations(sorted(known), 2) if abs(known[a] - known[b]) >= CLEAR_MS]
    wrong = sum((rpm[a] - rpm[b]) * (known[a] - known[b]) > 0 for a, b in clear)
    told = {"alike": f"{len(clear) - wrong} of {len(clear)} pairs"}
    yield Number(WRONG, "1", float(wrong), len(clear), told)


judge = Judge(
    "C5",
    "Open: is UDP better? Is responsiveness (RPM) a better headline than bandwidth?",
    "slide 10",
    "c5_udp_and_rpm.py",
    by=("tool", "beside", "queue"),
    measures=(PROBE, RPM, FILLED, LOST),
    derive=headlines,
    hidden=(READS, WRONG),
    marks=(
        Mark(
            f"beside a flow UDP reads {percent(FULL)} of the capacity", FILLED.name, FULL,
            where={"tool": "udp", "beside": "flow"},
        ),
        Mark(
            f"a third party waits no longer (by {CLEAR_MS:g} ms) under UDP than under TCP", PROBE.name,
            most=CLEAR_MS, apart=True, where={"tool": "udp", **ALONE}, against={"tool": "tcp"},
        ),
        Mark(
            f"between queues bandwidth differs {SAME_BANDWIDTH:g}-fold at most, RPM {DIFFERENT_RPM:g}-fold",
            READS, 1,
        ),
        Mark("RPM orders all pairs of queues as the probe does", WRONG, most=0),
    ),
    under="20 Mbit/s, base RTT 20 ms",
)  # fmt: skip
