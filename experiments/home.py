"""Does CAKE at home take the queue away from the ISP's FIFO?"""

from narrows.spec import Home, access, axis, bulk, cake, home_router, icmp_echo, repeat

ISP = access("fttc-30-10")

link = Home(
    **ISP,
    router=axis("home", {
        "none": home_router(),
        "cake": home_router(egress=cake(), ingress=cake(ingress=True)),
    }),
)  # fmt: skip
load = bulk(cca=axis("cca", ["cubic", "bbr"]), start="5 s", duration="20 s")
ping = icmp_echo(interval="20 ms", stop="30 s")
repeat(3)
