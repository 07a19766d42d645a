"""What the experiments c1 to c5 share: what they record and how often they repeat. Not an experiment itself.

Each of Ledesma and Livingood's claims (IETF 123) has a link of its own, which its experiment says.
"""

from typing import Any

from narrows.spec import (
    Link,
    axis,
    bdp,
    bfifo,
    cake,
    capacity_test,
    docsis_pie,
    dualpi2,
    fq_codel,
    repeat,
    sample,
    tap,
)

REPETITIONS = 6


def recorded(qdisc: str | None = None) -> None:
    """Record sums of the tap, the link's counters once a second, and the qdisc's this often."""
    tap("summary")
    sample(tcp_info=None, qdisc=qdisc, link="1 s")
    repeat(REPETITIONS)


def link(**queues: Any) -> Link:
    """20 Mbit/s and 20 ms with these queues, DOCSIS-PIE, FQ-CoDel, CAKE, and DualPI2 unless it is given."""
    every = {
        **{name: queue for name, queue in queues.items() if name != "dualpi2"},
        "docsis_pie": docsis_pie(limit=bdp(12.5)),
        "dualpi2": queues.get("dualpi2", dualpi2()),
        "fq_codel": fq_codel(),
        "cake": cake(),
    }
    return Link(
        rate="20 Mbit/s", base_rtt="20 ms", queue=axis("queue", every), queue_up=bfifo(limit=bdp(2.5))
    )


def capacity() -> capacity_test:
    """The operator's test, a second after the link's other load."""
    return capacity_test(direction="down", connections=4, omit="3 s", duration="10 s", start="1 s")
