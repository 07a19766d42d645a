"""pfifo: drop-tail, counted in packets."""

from narrows.tc import options as tc
from narrows.tc.options import QueuePackets
from narrows.tc.qdisc import Qdisc


class pfifo(Qdisc):
    """Drop-tail, counted in packets. Linux takes the interface's txqueuelen, 1000, by default."""

    title, colour, order = "pfifo (no AQM)", "#4d4d4d", 1
    is_fifo = is_drop_tail = keeps_time = True

    limit: QueuePackets = tc.packets(1000, ())
