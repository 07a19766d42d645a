"""bfifo: drop-tail, counted in bytes."""

from narrows.tc import options as tc
from narrows.tc.options import QueueBytes
from narrows.tc.qdisc import Qdisc


class bfifo(Qdisc):
    """Drop-tail, counted in bytes. Its limit has no useful default."""

    colour, order, example = "#8c8c8c", 2, 'limit="1 BDP"'
    is_fifo = is_drop_tail = keeps_time = True

    limit: QueueBytes = tc.queue_size('"100 KB" or "1 BDP"', ())
