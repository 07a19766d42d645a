"""N11: policers and bursts, from losses without a queue and from what passes at once."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.path_properties.estimates import burst_bytes, policed_rate
from narrows.studies.path_properties.seen import POLICERS, SENDER, Seen, at_sender, but_for, errors, seen
from narrows.studies.path_properties.testbed import POLICED_RATE
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, not_measured

RIGHT = 0.9
NEAR_RATE = 0.1
NEAR_BURST = 0.25
"""Nine in ten logs are judged rightly; a policer's rate is within a tenth, a bucket's depth a quarter."""
TOLD_RATE = 0.03
"""Over many policers: each rate that is told; NULL where none can be."""

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
    """How often a log at the sender is judged rightly; on paths with a bucket its rate and depth; over many
    policers the rates that are told."""
    runs = list(runs)
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
    policers = [one for one in seen(runs, POLICERS) if one.place == SENDER]
    many = _policers(policers, marks)
    if not numbers and not many:
        return not_measured(CLAIM, "no captures at a sender with enough losses")
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"right in at least {RIGHT:.0%}, rate within {NEAR_RATE:.0%}, burst within {NEAR_BURST:.0%}; "
        f"of many policers each told rate within {TOLD_RATE:.0%}: "
        f"{but_for(marks)}",
        (*numbers, *rate.values(), *depth.values(), *many),
        "CUBIC for 15 s, 20 Mbit/s, buckets of 60 KB; CUBIC, NewReno and BBR for 10 s, policers of "
        f"{POLICED_RATE} with buckets of 20 to 500 KB, 5 to 100 ms",
        ids([one.run for one in (*captures, *policers)]),
    )


def _policers(captures: list[Seen], marks: dict[str, bool]) -> list[Number]:
    """Of each congestion control how many policers are taken for none, how many rates are told, and the
    largest error of these; each becomes a mark."""
    numbers: list[Number] = []
    by_cca: dict[str, list[Seen]] = {}
    for one in captures:
        by_cca.setdefault(str(one.run.key["cca"]), []).append(one)
    for cca, some in sorted(by_cca.items()):
        known = [one.value("policed") for one in some if one.value("policed") is not None]
        told = [abs(error) for one in some if (error := policed_rate(one)) is not None]
        where = f"{cca}, {len(some)} policers, {SENDER}"
        numbers.append(Number("rates that are told", "1", len(told) / len(some), len(some), where))
        if known:
            numbers.append(Number("judged rightly", "1", sum(known) / len(known), len(known), where))
            marks[f"{cca}: whether the many are policed"] = sum(known) / len(known) >= RIGHT
        if told:
            numbers.append(Number("largest relative error of a told rate", "1", max(told), len(told), where))
            marks[f"{cca}: the rates of the many"] = max(told) <= TOLD_RATE
    return numbers
