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
mine = axis(
    "load",
    {
        "bbr_beside_cubic": bulk(cca="bbr", start=START, stop=LENGTH),
        "bbr": bulk(cca="bbr", start=START, stop=LENGTH),
        "cubic": bulk(cca="cubic", start=START, stop=LENGTH),
        "cubic_paced": bulk(cca="cubic", start=START, stop=LENGTH),
    },
)
other = axis(
    "load",
    {
        "bbr_beside_cubic": bulk(cca="cubic", start=START, stop=LENGTH),
        "bbr": None,
        "cubic": None,
        "cubic_paced": None,
    },
)
paced = axis(
    "load",
    {
        "bbr_beside_cubic": None,
        "bbr": None,
        "cubic": None,
        "cubic_paced": command("tc qdisc replace dev eth0 root fq", node="server"),
    },
)
tap("summary")
repeat(6)
