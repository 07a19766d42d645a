"""What the claims measure: what each flow of media got in each phase, against what it could have."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import inf

from narrows.judging.parts import Item, Judge, Mark, Measure, Share, Words, good, grouped, of_runs, percent
from narrows.metrics.fairness.jain import jain_index
from narrows.runs import phases
from narrows.runs.observed import Observed
from narrows.studies.media.testbed import MOST_BPS

LEAST_USE, MOST_USE = 0.5, 1.05
"""Parts of what a flow could have: it has converged to the capacity if it uses this much, and no more."""
EVEN = 0.9
"""Jain's index from which on flows share evenly."""
LEAST_PART, MOST_PART = 0.5, 1.5
"""Parts of what is due to flows of media beside TCP."""
OVERHEAD = 1.1
"""Headers, sound and what is sent again come on top of the video's most."""
BY = ("program", "queue")


def of_case(runs: Iterable[Observed], case: str) -> list[Item]:
    """The runs of a case: of each program behind each queue those of the RFC's own pace where there are such,
    else of a faster one."""
    return [
        item
        for _, own in grouped(of_runs(good(runs, case)), BY)
        for item in [one for one in own if one.key.get("pace") == "rfc"] or own
    ]


def _by_phase(case: str, runs: Sequence[Observed]) -> Iterator[Item]:
    for item in of_case(runs, case):
        for n in range(1, _count(item.of) + 1):
            yield Item((item.of, n), {**item.key, "phase": str(n)}, item.run_ids)


def _rates_bps(run: Observed, phase: int) -> list[float]:
    """The rates of the flows of media that were there all of a phase."""
    every = (run.quantity("phase_rate_bps", phases.of(item, phase)) for item in phases.calls(run))
    return [rate for rate in every if rate is not None]


def _count(run: Observed) -> int:
    return len(phases.phases(run))


def _last_rates_bps(run: Observed, flows: int) -> list[float]:
    """In the last phase in which all flows are there; none if there is no such phase."""
    every = (_rates_bps(run, n) for n in range(_count(run), 0, -1))
    return next((rates for rates in every if len(rates) == flows), [])


def _could_bps(run: Observed, phase: int, flows: int, part: float = 1.0) -> float:
    """What the flows could have together: their part of the capacity, or the most that they send."""
    return min(part * phases.capacity_bps(run, phase), flows * OVERHEAD * MOST_BPS)


def follows(*claim: *Words, flows: int) -> Judge:
    """Whether the use in the second half of every phase is that of who has converged."""

    def use(of: tuple[Observed, int]) -> float | None:
        rates = _rates_bps(*of)
        return sum(rates) / _could_bps(*of, flows) if len(rates) == flows else None

    text = f"converged is {percent(LEAST_USE)} to {percent(MOST_USE)} in every phase"
    return Judge(
        *claim,
        by=(*BY, "phase"),
        items=partial(_by_phase, claim[3]),
        measures=(Share("use of the capacity", read=use),),
        marks=(Mark(text, least=LEAST_USE, most=MOST_USE),),
        together="phase",
        rests="measured",
        under=text,
    )


def _once(*claim: *Words, measure: Measure, least: float, most: float, text: str) -> Judge:
    return Judge(
        *claim,
        by=BY,
        items=lambda runs: of_case(runs, claim[3]),
        measures=(measure,),
        marks=(Mark(text, least=least, most=most),),
        rests="measured",
        under=text,
    )


def even(*claim: *Words, flows: int) -> Judge:
    """Whether the flows share evenly in the last phase in which all are there."""

    def index(run: Observed) -> float | None:
        return jain_index(rates) if (rates := _last_rates_bps(run, flows)) else None

    text = f"even is a Jain's index of {EVEN} and more"
    return _once(*claim, measure=Measure("Jain's index", "1", index), least=EVEN, most=inf, text=text)


def beside(*claim: *Words, flows: int, part: float, of: str) -> Judge:
    """Whether media get half to one and a half times their part beside TCP. `part`: of the capacity; `of`: in
    words."""

    def share(run: Observed) -> float | None:
        rates = _last_rates_bps(run, flows)
        return sum(rates) / _could_bps(run, _count(run), flows, part) if rates else None

    text = f"neither starves the other from half to one and a half of {of}"
    return _once(
        *claim, measure=Share("share of its part", read=share), least=LEAST_PART, most=MOST_PART, text=text
    )
