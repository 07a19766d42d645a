"""Why are BBR flows unfair to each other behind a buffer of less than one BDP?

Claim T5 hangs on the buffer: ten flows, 200 ms and drop-tail of 0.3 BDP have a Jain's index below 0.5
(t05_bbr_against_itself.py). Here the queue and the timers vary: RED and PIE hold about the same standing
queue and drop by chance; late timers (a bucket of 2 ms, so that nothing of the rate is lost) shuffle who
meets a full queue; a base RTT longer by parts of the 121 µs that a packet takes shifts when what an
acknowledgement releases arrives after a departure. What of BBR itself it hangs on:
kernel/modules/bbr_parts/bbr_parts.py.
"""

from narrows.spec import Dumbbell, axis, bfifo, bulk, machine, pair, pie, red
from narrows.studies.corescale.testbed import TIMERS, buckets, counted

QUEUES = {
    "bfifo": bfifo(limit="750 KB"),
    "red": red(limit="3 MB", min="300 KB", max="900 KB", probability="20 %"),
    "pie": pie(target="50 ms", limit="5000 packets"),
}
RTTS = ("200 ms", "200.03 ms", "200.06 ms", "200.09 ms")

link = Dumbbell(
    rate="100 Mbit/s",
    queue=axis("queue", QUEUES),
    shaper=buckets(),
    pairs=axis("rtt", {rtt.replace(" ", ""): [pair(rtt)] for rtt in RTTS}),
)
machine(timer_latency=axis("timers", TIMERS))
flows = bulk(cca="bbr", flows=10, start_spread="2 min", duration="15 min")
counted("5 min", 6)
