"""Does a new version of a QUIC stack still get its share beside the kernel's CUBIC?

quinn-proto 0.11.9 took its window to 0.6 after a loss, where CUBIC's factor is 0.7, whenever the window had
not come back to where the last loss was; 0.11.19 does not (quinn-rs/quinn#2640). The older one is a recipe,
which is built when it is first used; the newer is narrows' own. The call ends with status 3.
"""

from narrows.spec import Link, axis, bulk, expect, pfifo, quic, repeat, tap

link = Link(rate="20 Mbit/s", base_rtt="40 ms", queue=pfifo(limit=70))
mine = axis("version", {"0.11.9": quic("quinn-0.11.9", stop="30 s"), "0.11.19": quic("quinn", stop="30 s")})
cross = bulk(cca="cubic", stop="30 s")
tap("summary")
repeat(3)

expect("share", above=0.7, source="mine", direction="down", of="median")
# The rig itself: who is beside it gets at least the half of what is fair.
expect("share", above=0.5, source="cross", direction="down")
