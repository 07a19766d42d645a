"""What does a call send alone on a link, with each codec of the browser?"""

from narrows.spec import Link, axis, bdp, bfifo, call, tap

RATES = ("1", "2", "2.5", "4", "8", "20")

link = Link(
    rate=axis("rate", {f"{rate}Mbit": f"{rate} Mbit/s" for rate in RATES}),
    base_rtt="50 ms",
    queue=bfifo(limit=bdp(2)),
)
# One end sends. It begins as an application that knows what a picture of 720 lines wants: from the browser's
# own 300 kbit/s the picture is made smaller before the first frame is sent.
c = call(
    codec=axis("codec", {codec: codec for codec in ("VP8", "VP9", "H264", "AV1")}),
    initial="2 Mbit/s",
    sends="down",
    stop="9 s",
)
tap("summary")
