"""L12: the remote FIFO drops at the latency's peaks."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import median, number, tested
from narrows.judging.verdict import Claim, Verdict, graded, ids, not_measured

AT_PEAKS = 0.9
SPIKE = 1.2  # over the rate, in the fullest 10 ms
CLAIM = Claim(
    "L12",
    "Drops in the remote FIFO come at the latency's peaks, with throughput spikes",
    "Fig. 6",
    "l12_drops.py",
)


def _near_peak(run: Observed) -> float | None:
    return run.quantity("dropped_near_peak_share", f"isp {run.key['way']}")


def _spike(run: Observed) -> float | None:
    way = run.key["way"]
    most = run.quantity("largest_10ms_bps", f"isp {way}")
    return None if most is None else most / run.rate_bps(way)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Do nine of ten drops come within a tenth of the longest delay, and does more ever leave than the rate?
    With CUBIC, both ways."""
    every, used, numbers, marks = list(runs), [], [], {}
    for way in ("down", "up"):
        some = tested(every, way, profile="fttc-30-10", cca="cubic", home="remote")
        share, spike = median(some, _near_peak), median(some, _spike)
        if share is None or spike is None:
            continue
        used += some
        marks[f"{way}: {share:.0%} of the drops come at the peaks"] = share >= AT_PEAKS
        marks[f"{way}: the fullest 10 ms have {spike:.2f} times the rate"] = spike >= SPIKE
        of = f"FTTC 30/10 {way}, cubic, remote"
        for name, read in (
            ("drops within 10 % of the longest delay", _near_peak),
            ("fullest 10 ms over the rate", _spike),
        ):
            made = number(name, "1", some, read, of)
            numbers += [made] if made else []
    if not marks:
        return not_measured(CLAIM, "no CUBIC bulk test through the ISP's FIFO with a drop")
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"{'; '.join(marks)} (a spike is {SPIKE:g}). What spikes in such a figure is what TCP hands on once "
        "a gap is filled, not what leaves the bottleneck",
        tuple(numbers),
        "FTTC 30/10, bulk, CUBIC, remote",
        ids(used),
    )
