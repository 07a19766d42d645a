"""N11: policers and bursts, from losses without a queue and from what passes at once."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.path_properties.estimates import burst_bytes, policed_rate
from narrows.studies.path_properties.seen import SENDER, Seen, at_sender, but_for, errors, seen
from narrows.studies.verdict import Claim, Number, Verdict, graded, ids, not_measured

RIGHT = 0.9
NEAR_RATE = 0.1
NEAR_BURST = 0.25
"""Nine in ten logs are judged rightly; a policer's rate is within a tenth, a bucket's depth a quarter."""

CLAIM = Claim(
    "N11",
    "A policer is where losses come without a queue and only above one rate, which is what passes while "
    "losses last; a burst is the largest excess of acknowledged payload over the rate after a pause (our "
    "definitions of what section 6.2 asks for)",
    "section 6.2",
    "n1_conditions.py",
    "sender",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """How often a log at the sender is judged rightly; on paths with a bucket its rate and depth."""
    captures = [one for one in seen(runs) if one.place == SENDER]
    marks: dict[str, bool] = {}
    numbers: list[Number] = []
    by_path: dict[str, list[Seen]] = {}
    for one in captures:
        by_path.setdefault(one.path, []).append(one)
    for path, some in sorted(by_path.items()):
        known = [one for one in some if one.value("policed") is not None]
        if known:
            right = sum(one.value("policed") == one.value("true_policed") for one in known) / len(known)
            numbers.append(Number("judged rightly", "1", right, len(known), f"{path}, {SENDER}"))
            marks[f"{path}: whether it is policed"] = right >= RIGHT
        elif some[0].value("true_policed"):
            marks[f"{path}: whether it is policed"] = False
    rate = errors(captures, "relative error of the policer's rate", "1", policed_rate)
    depth = errors(captures, "relative error of the burst", "1", burst_bytes)
    marks |= {f"{path}: the policer's rate": right for path, right in at_sender(rate, NEAR_RATE).items()}
    marks |= {f"{path}: the burst": right for path, right in at_sender(depth, NEAR_BURST).items()}
    if not numbers:
        return not_measured(CLAIM, "no captures at a sender with enough losses")
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"right in at least {RIGHT:.0%}, rate within {NEAR_RATE:.0%}, burst within {NEAR_BURST:.0%}: "
        f"{but_for(marks)}",
        (*numbers, *rate.values(), *depth.values()),
        "CUBIC for 15 s, 20 Mbit/s, buckets of 60 KB",
        ids([one.run for one in captures]),
    )
