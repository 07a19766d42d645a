from collections.abc import Iterator

from narrows.judging.parts import Judge, Mark, Measure, Number, Numbers, Share, all_of, one, percent
from narrows.studies.operator.claims.measures import (
    advertised_share,
    by_tool,
    loaded_rtt_ms,
    retransmitted,
    sojourn_ms,
)

DIFFERENT_SHARE = 0.05  # of the advertised speed
DIFFERENT_RETRANSMISSIONS = 2  # or retransmissions by this factor
LEAST_RETRANSMISSIONS = 1e-4  # below this there are none to speak of
BEFORE = {"queue": "fifo"}
ITEMS = {"capacity": "test.down", "ndt7": "test", "l4s": "test"}
"""The item of the plan that each tool is."""
SHARE = Share("share of advertised speed", read=advertised_share)
AGAIN = Share("retransmitted", read=retransmitted)
MOVED, FOLD = "difference to the FIFO's share", "retransmissions, larger over smaller"


def against_fifo(found: Numbers) -> Iterator[Number]:
    """How far each AQM's share is from the FIFO's, and by which factor retransmissions differ."""
    for share in all_of(found, SHARE.name):
        now, under = one(found, AGAIN.name, **share.conditions), {**share.conditions, **BEFORE}
        share_before, before = one(found, SHARE.name, **under), one(found, AGAIN.name, **under)
        if now is None or share_before is None or before is None or share is share_before:
            continue
        yield Number(MOVED, "1", abs(share.value - share_before.value), share.n, share.conditions)
        low, high = sorted(max(each.value, LEAST_RETRANSMISSIONS) for each in (now, before))
        yield Number(FOLD, "1", high / low, now.n, share.conditions)


judge = Judge(
    "C3",
    "The same test reads differently once AQM and a dual queue are deployed: share of advertised speed by "
    "configuration, retransmissions change",
    "slides 6, 7 and 9",
    "c3_dual_queue.py",
    by=("tool", "beside", "queue"),
    measures=(
        SHARE,
        AGAIN,
        Measure(
            "sojourn of the test's packets, median", "ms",
            by_tool("tool", {tool: sojourn_ms(item) for tool, item in ITEMS.items()}),
        ),
        Measure(
            "RTT of sparse NQB probes, p95", "ms",
            by_tool("tool", {tool: loaded_rtt_ms("nqb", item, 95) for tool, item in ITEMS.items()}),
        ),
    ),
    derive=against_fifo,
    hidden=(MOVED, FOLD),
    marks=(
        Mark(f"the share differs from the FIFO's by {percent(DIFFERENT_SHARE)}", MOVED, DIFFERENT_SHARE),
        Mark(f"retransmissions {DIFFERENT_RETRANSMISSIONS}-fold", FOLD, DIFFERENT_RETRANSMISSIONS),
    ),
    under="20 Mbit/s, base RTT 20 ms, one tool at a time",
)  # fmt: skip
