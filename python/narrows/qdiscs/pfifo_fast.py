"""pfifo_fast: three drop-tail bands by priority."""

from narrows.tc.qdisc import Qdisc


class pfifo_fast(Qdisc):
    """Three drop-tail bands by priority, txqueuelen (1000) packets each; it has no options."""

    colour, order = "#b3b3b3", 3
    is_fifo = keeps_time = True
