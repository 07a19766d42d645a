"""pfifo_head_drop: drop-head, counted in packets."""

from narrows.tc import options as tc
from narrows.tc.options import QueuePackets
from narrows.tc.qdisc import Qdisc


class pfifo_head_drop(Qdisc):
    """Drop-head, counted in packets."""

    is_fifo = keeps_time = True

    limit: QueuePackets = tc.packets(1000, ())
