"""What a shaper makes of a packet's length, so that rates can be said at any layer.

Linux counts in net/sched: psched_l2t_ns for HTB and TBF, cake_calc_overhead for CAKE. The rate that is left
for IP packets of a length is the shaper's rate × that length / what the shaper counts of it.
"""

from narrows.headers import ETHERNET_HEADER_BYTES
from narrows.plan.model import Counted

FRAME = Counted(of="frame", overhead_bytes=0, mpu_bytes=0, cells="none")
"""What is counted where nothing else is asked for: the packet with its Ethernet header."""
CELLS = {"none": (1, 1), "atm": (48, 53), "ptm": (64, 65)}
"""Payload of a cell, and the cell, in bytes. PTM's are not filled up: a packet takes one more byte for each
64 that it begins."""


def counted_bytes(counted: Counted, ip_bytes: int) -> int:
    """The bytes that a shaper charges for an IP packet of so many."""
    length = ip_bytes + (ETHERNET_HEADER_BYTES if counted.of == "frame" else 0) + counted.overhead_bytes
    length = max(length, counted.mpu_bytes, 0)
    payload, cell = CELLS[counted.cells]
    begun = -(-length // payload)
    if counted.cells == "ptm":
        return length + begun
    return begun * cell if counted.cells == "atm" else length
