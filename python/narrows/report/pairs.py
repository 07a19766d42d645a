"""The answer of trials of services in sentences: who got what share of its fair rate, beside whom.

It only words what `narrows.comparing.pair_shares` gathered.
"""

from __future__ import annotations

from collections.abc import Sequence

from narrows.comparing.pair_shares import Side, Summary, summaries
from narrows.comparing.trials import trials
from narrows.figures.side_by_side import number
from narrows.runs.observed import Observed

MOST_SAID = 6
"""Pairs that are said one by one; of more, those with the lowest and the highest shares."""


def sentences(runs: Sequence[Observed]) -> list[str]:
    """One for each pair, or for those that stand out; then what each takes alone. None without a trial."""
    every = [one for one in summaries(trials(runs)) if one.n]
    pairs = [one for one in every if len(one.sides) > 1]
    alone = [one for one in every if len(one.sides) == 1]
    several = len({one.conditions for one in every}) > 1
    said = [_pair(one, several) for one in pairs[:MOST_SAID]]
    if len(pairs) > MOST_SAID:
        shared = sorted(
            ((side.share, one, side) for one in pairs for side in one.sides if side.share is not None),
            key=lambda each: each[0],
        )
        said = [f"{len(pairs)} pairs were tried; the lowest and the highest shares of a fair rate:"]
        said += [_pair(one, several) for _, one, _ in (*shared[:3], *shared[-2:])] if shared else []
        said = list(dict.fromkeys(said))
    if alone and len(alone) <= MOST_SAID:
        rates = [f"{one.sides[0].service} {_rate(one.sides[0])}{_given(one, several)}" for one in alone]
        said.append(f"Alone: {', '.join(rates)}.")
    return said


def note(runs: Sequence[Observed]) -> str:
    """What one must know to read the numbers."""
    counts = sorted({one.n for one in summaries(trials(runs))})
    n = f"{counts[0]} to {counts[-1]}" if len(set(counts)) > 1 else f"{counts[0]}" if counts else "0"
    return (
        f"Medians of n = {n} valid trials, with the 95 % interval of the median in brackets from six on; "
        "rates are of the bottleneck's tap, in the middle three fifths of a trial; a share is of the max-min "
        "fair rate, which follows from what each takes alone."
    )


def _pair(one: Summary, several: bool) -> str:
    first, second = one.sides[0], one.sides[1]
    beside = (
        f"of two {first.service} one got {_got(first)}, the other {_got(second)}"
        if first.service == second.service
        else f"{first.service} got {_got(first)} beside {second.service}, which got {_got(second)}"
    )
    rest = "".join(f"; {side.service} got {_got(side)}" for side in one.sides[2:])
    text = f"{beside}{rest}{_given(one, several)}."
    return text[:1].upper() + text[1:]


def _got(side: Side) -> str:
    share = "" if side.share is None else f" ({number(100 * side.share)} % of its fair rate)"
    return f"{_rate(side)}{share}"


def _rate(side: Side) -> str:
    if side.rate_mbps is None:
        return "a rate that was not measured"
    interval = (
        "" if side.low_mbps is None or side.high_mbps is None
        else f" [{number(side.low_mbps)}–{number(side.high_mbps)}]"
    )  # fmt: skip
    return f"{number(side.rate_mbps)} Mbit/s{interval}"


def _given(one: Summary, several: bool) -> str:
    return f", with {', '.join(f'{axis} {text}' for axis, text in one.conditions)}" if several else ""
