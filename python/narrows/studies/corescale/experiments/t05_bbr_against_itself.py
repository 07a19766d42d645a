"""Are BBR flows fair to each other, and what does it hang on?

Claim T5, Figure 3.4 of the thesis: Jain's index down to 0.4 at Core and 0.7 beyond 10 flows at Edge. An
independent reproduction found about 1.0 at 20 ms and 0.64 to 0.96 at 100 and 200 ms. So the base RTT, the
start, the buffer, segmentation offloads and how late timers are vary here (late ones with a bucket of 2 ms,
so that nothing of the rate is lost). HZ is fixed when the kernel is built: a kernel of another HZ is another
kernel (`narrows kernel build --config`), not an axis; NARROWS_KERNEL chooses it.
"""

from narrows.spec import axis, bfifo, bulk, machine
from narrows.studies.corescale.testbed import SETTINGS, TIMERS, buckets, dumbbell, each, recorded
from narrows.units import Size

BUFFERS = {"quarter": 0.25, "half": 0.5, "three_quarters": 0.75, "one": 1, "four": 4}


def buffer(of: str) -> object:
    whole = Size.parse(of)
    return axis("buffer", {name: bfifo(limit=whole.scaled(share)) for name, share in BUFFERS.items()})


link = dumbbell(
    queue=axis("setting", {name: buffer(one.buffer) for name, one in SETTINGS.items()}),
    offloads=axis("offloads", {"off": {}, "on": {"tso": True, "gso": True, "gro": True}}),
    shaper=buckets(),
)
machine(timer_latency=axis("timers", TIMERS))
start = axis("start", {"spread": each("spread"), "together": "100 ms"})
flows = bulk(cca="bbr", flows=each("flows"), start_spread=start, duration=each("duration"))
recorded("jain")
