"""What does the kernel do most? Each queue with TCP through it, so that the compiler knows.

`narrows kernel build` runs this once on a kernel that counts its branches; nobody reads the results.
"""

from narrows.spec import (
    Link,
    axis,
    bulk,
    cake,
    codel,
    dualpi2,
    fq,
    fq_codel,
    fq_pie,
    htb,
    pfifo,
    pie,
    red,
    repeat,
    sfq,
    tap,
    udp_probe,
    with_,
)

KINDS = {  # queue, CCA, flows, duration
    "pfifo": (pfifo(limit=16000), "reno", 100, "5 s"),
    "fq_codel": (fq_codel(), "cubic", 20, "2 s"),
    "codel": (codel(), "reno", 20, "1 s"),
    "fq": (fq(), "bbr", 20, "2 s"),
    "pie": (pie(), "cubic", 20, "1 s"),
    "fq_pie": (fq_pie(), "reno", 20, "1 s"),
    "red": (red(limit="2 MB"), "cubic", 20, "1 s"),
    "sfq": (sfq(), "reno", 20, "1 s"),
    "cake": (cake(), "bbr", 20, "2 s"),
    "dualpi2": (dualpi2(), "dctcp", 20, "1 s"),
}


def each(place):
    """One column of the table."""
    return axis("kind", {name: row[place] for name, row in KINDS.items()})


link = Link(rate="1 Gbit/s", queue=each(0), shaper=htb(), base_rtt="20 ms")
flows = bulk(direction="down", cca=each(1), flows=each(2), duration=each(3))
probe = udp_probe(interval="10 ms", stop=with_(flows))
tap("packets")
repeat(1)
