"""Do the congestion controls of the QUIC server behave as the kernel's of the same name?

Each alone, and beside its namesake: narrows run quic_cca; narrows service shares results/quic_cca
"""

from narrows.spec import Link, bulk, download, pairs, pfifo, sample, tap

CCAS = ("cubic", "reno", "bbr")

link = Link(rate="10 Mbit/s", base_rtt="50 ms", queue=pfifo(limit=64), services=2)
over_quic = {f"quic_{cca}": download(http="3", client="browser", cca=cca, stop="30 s") for cca in CCAS}
kernel = {cca: bulk(cca=cca, stop="30 s") for cca in CCAS}
first, second = pairs(over_quic, kernel)
tap(detail="summary")
sample(tcp_info="5 s", qdisc=None, link=None)
