"""Do the outcomes of BBR, CUBIC and pacing behind a FIFO, FQ-CoDel and CAKE change with the kernel?"""

from narrows.spec import Link, axis, bdp, bfifo, bulk, cake, command, fq_codel, machine, repeat, tap

LENGTH = "15 s"
START = "500 ms"  # after the sender's qdisc is set

machine(kernel=axis("kernel", ["6.1", "6.12", "7.2"]))
link = Link(
    rate="20 Mbit/s",
    base_rtt="40 ms",
    queue=axis("queue", {"fifo_1bdp": bfifo(limit=bdp(1)), "fq_codel": fq_codel(), "cake": cake()}),
)


def loads(**items: object) -> object:
    names = ("bbr_beside_cubic", "bbr", "cubic", "cubic_paced")
    return axis("load", {name: items.get(name) for name in names})


def flow(cca: str) -> object:
    return bulk(cca=cca, start=START, stop=LENGTH)


mine = loads(bbr_beside_cubic=flow("bbr"), bbr=flow("bbr"), cubic=flow("cubic"), cubic_paced=flow("cubic"))
other = loads(bbr_beside_cubic=flow("cubic"))
paced = loads(cubic_paced=command("tc qdisc replace dev eth0 root fq", node="server"))
tap("summary")
repeat(6)
