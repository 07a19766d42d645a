"""Can the paper's three rules tell what the ISP's queue is: AQM, fair scheduling, classes?

Claim L10 (Grazia et al., Table II). The paper saw FIFOs only; here the truth is known, and of every kind. The
rules read no truth: ICMP's RTT, the flows' rates and the classes' rates.
"""

from narrows.spec import (
    Home,
    access,
    axis,
    bfifo,
    cake,
    codel,
    fq_codel,
    pfifo_fast,
    pfifo_head_drop,
    pie,
    prio,
)
from narrows.studies.local_bottleneck.testbed import best_effort, classes, recorded

DEEP = bfifo(limit="500 KB")
isp = axis(
    "isp",
    {
        "fifo": DEEP,
        "head_drop": pfifo_head_drop(limit=330),
        "pfifo_fast": pfifo_fast(),
        "prio_cs5": prio(dscp={"CS5": 0}, bands=[DEEP, DEEP]),
        "codel": codel(),
        "pie": pie(),
        "fq_codel": fq_codel(),
        "cake": cake(diffserv="diffserv4"),
    },
)
link = Home(**access("fttc-30-10") | {"queue": isp})
test = axis("test", {"best_effort": best_effort([4], ["cubic"]), "classes": classes(["cubic"])})
recorded()
