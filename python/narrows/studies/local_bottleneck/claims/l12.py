"""L12: the remote FIFO drops at the latency's peaks."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import median, number, tested
from narrows.studies.verdict import Claim, Verdict, graded, ids, not_measured

AT_PEAKS = 0.9
CLAIM = Claim(
    "L12",
    "Drops in the remote FIFO come at the latency's peaks, with throughput spikes",
    "Fig. 6",
    "l12_drops.py",
)


def _near_peak(run: Observed) -> float | None:
    return run.quantity("dropped_near_peak_share", f"isp {run.key['way']}")


def judge(runs: Iterable[Observed]) -> Verdict:
    """Do nine of ten drops come within a tenth of the longest delay? With CUBIC, both ways."""
    every, used, numbers, marks = list(runs), [], [], {}
    for way in ("down", "up"):
        some = tested(every, way, profile="fttc-30-10", cca="cubic", home="remote")
        share = median(some, _near_peak)
        if share is None:
            continue
        used += some
        marks[f"{way}: {share:.0%} of the drops"] = share >= AT_PEAKS
        of = f"FTTC 30/10 {way}, cubic, remote"
        made = number("drops within 10 % of the longest delay", "1", some, _near_peak, of)
        numbers += [made] if made else []
    if not marks:
        return not_measured(CLAIM, "no CUBIC bulk test through the ISP's FIFO with a drop")
    return Verdict(
        CLAIM,
        graded([*marks.values(), False]),
        "; ".join(marks) + " come at the peaks. The bottleneck's own throughput cannot spike: it is the "
        "line's rate throughout. What spikes in such a figure is what TCP hands on once a gap is filled",
        tuple(numbers),
        "FTTC 30/10, bulk, CUBIC, remote",
        ids(used),
    )
