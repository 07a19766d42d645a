"""Does a QUIC stack leave CUBIC its share, and lose little?

A regression test of a stack whose marks differ: `narrows run quic_regression` ends with status 3, as quinn's
CUBIC holds them and its BBR does not. In place of the two put two folders with a stack.toml, of the release
and of what is to be released (docs/regression.md).
"""

from narrows.spec import Link, axis, bulk, expect, pfifo, quic

link = Link(rate="20 Mbit/s", base_rtt="40 ms", queue=pfifo(limit=70))
mine = quic("quinn", cca=axis("version", {"baseline": "cubic", "candidate": "bbr"}), stop="10 s")
cross = bulk(cca="cubic", stop="10 s")

# Half of the fair share for whoever is beside it.
expect("share", above=0.5, source="cross", direction="down")
expect("quic_lost_packets", below=1000, source="mine", direction="down")
# The rig itself: a stack that sends nothing would leave others everything.
expect("share", above=0.3, source="mine", direction="down")
