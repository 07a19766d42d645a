"""Names of the kernel's drop reasons, as the tap numbers them.

Names are those of `enum qdisc_drop_reason` (include/net/dropreason-qdisc.h, Linux 7.0 and newer) without
`_DROP`. Core reasons (`enum skb_drop_reason`) change their numbers between versions, so they keep the number.
"""

QDISC = (
    "QDISC_UNSPEC",
    "QDISC_GENERIC",
    "QDISC_OVERLIMIT",
    "QDISC_CONGESTED",
    "QDISC_MAXFLOWS",
    "QDISC_FLOOD_PROTECTION",
    "QDISC_BAND_LIMIT",
    "QDISC_HORIZON_LIMIT",
    "QDISC_FLOW_LIMIT",
    "QDISC_L4S_STEP_NON_ECN",
)


CORE = 0x8000  # the tap sets this bit for a reason of `enum skb_drop_reason`, so that the two do not mix
CONSUMED = 0x4000
"""The tap's: a queueing discipline freed the packet as one that was used up. Of those here only CAKE does so,
with an acknowledgement that a later one makes needless."""


def name(reason: int) -> str | None:
    """Name of a reason; None where the kernel gave none."""
    if reason == 0:
        return None
    if reason == CONSUMED:
        return "ACK_FILTER"
    if reason & CORE:
        return f"SKB_REASON_{reason & ~CORE}"
    if reason < len(QDISC):
        return QDISC[reason]
    return f"SKB_REASON_{reason}"
