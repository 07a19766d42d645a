"""How long does a post of my feed take beside a download, and what is left for the download?"""

from narrows.spec import Link, bulk, pairs, pfifo, sample, tap, tool

link = Link(rate="8 Mbit/s", base_rtt="50 ms", queue=pfifo(limit=128), services=2)
first, second = pairs(
    {
        "feed": tool("my_feed", cca="bbr", stop="30 s"),  # the folder beside this file
        "reno": bulk(cca="reno", stop="30 s"),
    }
)
tap("summary")
sample(tcp_info="1 s", qdisc=None, link=None)
