"""T20: contentiousness is not monotonic in bandwidth."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from narrows.comparing.pair_shares import Summary
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import FAIR, lengths, met, number, numbers, pair, pairs, used
from narrows.studies.prudentia.testbed import LENGTHS
from narrows.judging.verdict import Claim, Verdict, graded, not_measured

FEWEST = 4
"""Rates that the two must have met at."""

CLAIM = Claim(
    "T20",
    "contentiousness is not monotonic in bandwidth: a video against a BBR download from 8 to 100 Mbit/s; its "
    "own rate falls from 30 to 50 Mbit/s; fair beyond 70",
    "section 4.5.2, Fig. 4.7",
    "t20_bandwidth.py",
)


def sweep(runs: Iterable[Observed]) -> list[Summary]:
    """The two at each rate, of trials of the greatest length at which they met at enough rates: trials of
    other lengths are other trials. Nothing where there is no such length."""
    every = list(runs)
    for length in sorted(LENGTHS, key=lambda label: -float(label.removesuffix("s"))):
        found = [one for one in met(pairs(every, length=length)) if set(one.pair) == {"dash", "download"}]
        if len({dict(one.conditions)["rate"] for one in found}) >= FEWEST:
            return found
    return []


def judge(runs: Iterable[Observed]) -> Verdict:
    """The video's share and rate at each bandwidth."""
    shares, rates = {}, {}
    rest = sweep(runs)
    for one in rest:
        rate = float(dict(one.conditions)["rate"].removesuffix("Mbit"))
        found = pair([one], "dash", "download")
        if found is not None and found[0].share is not None and found[0].rate_mbps is not None:
            shares[rate], rates[rate] = found[0].share, found[0].rate_mbps
    if len(shares) < FEWEST:
        return not_measured(CLAIM, f"the video met the download at fewer than {FEWEST} rates")
    ordered = [shares[rate] for rate in sorted(shares)]
    rises = [b > a for a, b in pairwise(ordered)]
    marks = {"not monotonic": len(set(rises)) > 1}
    if {30.0, 50.0} <= set(rates):
        marks["its own rate falls from 30 to 50"] = rates[50.0] < rates[30.0]
    wide = [share for rate, share in shares.items() if rate > 70]
    if wide:
        marks["fair beyond 70"] = min(wide) >= FAIR
    made = [number("video's share", "1", [shares[rate]], f"at {rate:g} Mbit/s") for rate in sorted(shares)]
    told = "; ".join(f"{name}: {'so' if mark else 'not so'}" for name, mark in marks.items())
    return Verdict(CLAIM, graded(list(marks.values())), told, numbers(*made), lengths(rest), used(rest))
