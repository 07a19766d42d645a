"""docsis_pie: PIE as cable modems have it."""

from narrows.qdiscs.pie import pie
from narrows.tc import options as tc
from narrows.tc.options import QueuePackets, Time


class docsis_pie(pie):
    """PIE with the settings of DOCSIS cable modems, RFC 8034, as near as Linux' PIE comes.

    Deviations: beta is 2.0 Hz, tc's largest, not 2.5; a drop's probability is scaled by the packet's size
    over the MTU, not over 1024 bytes; the first burst that is let through is 150 ms, not 142; delay is
    measured on leaving packets, not predicted from the modem's grants. Linux keeps what is common to both:
    derandomisation, scaling of small probabilities, no drops below half the target.
    """

    tc_kind = "pie"
    title, colour, marker, order = "DOCSIS-PIE", "#f0a36b", "o", 8

    limit: QueuePackets = tc.packets(1000, 2, doc="the modem's buffer")
    target: Time = tc.pie_target("10 ms", 1)
    tupdate: Time = tc.timer("16 ms", 3)
    alpha: int = tc.count(4, 4, highest=32, doc="in sixteenths of a hertz: 0.25 Hz")
    beta: int = tc.count(32, 5, highest=32, doc="2.0 Hz; RFC 8034 has 2.5")
    bytemode: bool = tc.flag(True, 7, off="nobytemode")
