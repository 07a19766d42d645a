"""What the claims T1 to T8 measure of many flows, and what each verdict says of how its runs ended.

A claim about CoreScale that was measured at smaller scales only can hold in part at best; what is missing is
named. How far each metric still moved at the end of its run is a number of the verdict like any other.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from narrows.judging.parts import (
    Group,
    Item,
    Items,
    Judge,
    Mark,
    Measure,
    Number,
    Read,
    Share,
    Verdict,
    Where,
    Word,
    Words,
    fits,
    number,
    percent,
)
from narrows.metrics.queue.first_drain import DRAINED
from narrows.metrics.statistics.settled import TOLERANCE
from narrows.runs.many_flows import ManyFlows, Settled
from narrows.runs.observed import Observed
from narrows.studies.corescale.case import SCALES, Case, thesis_cases
from narrows.units import NS_PER_S

MOVED = "metric still moved at the end, worst run"
"""The quantity that says how far from rest runs ended: it decides nothing by itself."""
SettledOf = Callable[[ManyFlows], Settled | None]
EDGE, CORE = {"scale": "edge"}, {"scale": "core"}
BY = ("scale", "mix", "rtt", "runs of", "besides", "case")


def of_flows(*names: str, per: float = 1.0) -> Read:
    """A number of the many flows of a run (`ManyFlows.get`), in so many (`per`) of its unit."""

    def read(run: Observed) -> float | None:
        value = None if run.many is None else run.many.get(*names)
        return None if value is None else value / per

    return read


def share_of(cca: str, per: float = 1.0) -> Read:
    """The share of what was delivered that a CCA has."""

    def read(run: Observed) -> float | None:
        found = None if run.many is None else run.many.shares.get(cca)
        return None if found is None else found.share / per

    return read


def conditions(
    wanted: Callable[[Case], bool], more: Callable[[Case, bool], Mapping[str, str]] | None = None
) -> Items:
    """Runs by condition. The thesis' own of one base RTT; with `more` labels of a case, which hears whether
    it is of these, also other buffers, queues, starts, offloads and mixed RTTs."""

    def items(runs: Sequence[Observed]) -> Iterator[Item]:
        for case, same in thesis_cases(runs).items():
            is_plain = case.is_thesis and len(case.rtts_ms) == 1
            if wanted(case) and (is_plain or more is not None):
                span = measured(same)
                key = case.labels() | ({"runs of": span} if " to " in span else {})
                key |= more(case, is_plain) if more is not None else {}
                yield from (Item(run, key, (run.run_id,)) for run in same)

    return items


def measured(runs: Iterable[Observed]) -> str:
    """The measured virtual time: "120 s", or "120 to 1200 s" of runs of several lengths."""
    seconds = {round(run.many.seconds) for run in runs if run.many is not None}
    low, high = min(seconds, default=0), max(seconds, default=0)
    return f"{low if low == high else f'{low} to {high}'} s"


def lengths(items: Iterable[Item]) -> str:
    """The measured virtual time of each scale."""
    told = (f"{scale} {measured(runs)} after warm-up" for scale, runs in by_scale(items).items())
    return "; ".join(told)


def by_scale(items: Iterable[Item]) -> dict[str, list[Observed]]:
    """The runs of each scale, smaller ones first."""
    found: dict[str, list[Observed]] = {scale: [] for scale in SCALES.values()}
    for item in items:
        found.setdefault(item.key["scale"], []).append(item.of)
    return {scale: runs for scale, runs in found.items() if runs}


def jain_settled(many: ManyFlows) -> Settled | None:
    """How Jain's index ended."""
    return many.jain_settled


@dataclass(frozen=True)
class OfFlows(Judge):
    """A claim on many flows."""

    settled: SettledOf = jain_settled
    """How the judged metric ended."""
    needed: tuple[str, ...] = ("edge", "core")
    """The scales that it is about."""
    fails_below: bool = False
    """Whether it has failed where it fails at a smaller scale, though Core was not measured."""
    counted: Where = field(default_factory=dict)
    """The conditions that decide it."""

    def finished(self, verdict: Verdict, groups: Sequence[Group]) -> Verdict:
        """Weaker words where a scale that the claim is about was not measured or a metric had not settled.

        What fails at a smaller scale alone says nothing of the scale that is claimed: that is not measured.
        """
        every = by_scale(item for _, items in groups for item in items)
        numbers = [made for scale, runs in every.items() for made in self._moved(scale, runs)]
        counts = sorted({len(items) for condition, items in groups if fits(condition, self.counted)})
        each = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
        alone = ", one run has no interval" if counts[0] == 1 else ""
        reason = f"{verdict.reason}; n = {each} of each condition{alone}"
        restless = [f"{n.conditions['scale']}, worst {n.said}" for n in numbers if n.value >= TOLERANCE]
        reason += f"; not every metric had settled: {'; '.join(restless)}" if restless else ""
        there = {condition["scale"] for condition, _ in groups if fits(condition, self.counted)}
        missing = [scale for scale in self.needed if scale not in there]
        word: Word = verdict.verdict
        if missing:
            failed: Word = "does not hold here" if self.fails_below else "not measured"
            weaker: dict[Word, Word] = {"holds": "holds in part", "does not hold here": failed}
            word = weaker.get(word, word)
            reason += f"; not measured: {', '.join(missing)}"
        return replace(verdict, verdict=word, reason=reason, numbers=(*verdict.numbers, *numbers))

    def _moved(self, scale: str, runs: Sequence[Observed]) -> Iterator[Number]:
        """How much the judged metric still moved at the end of a scale's worst run."""
        ends = [end for run in runs if run.many is not None and (end := self.settled(run.many)) is not None]
        if moved := [(end.moved, end.over_ns) for end in ends if end.moved is not None]:
            worst, over_ns = max(moved)
            at_rest = percent(float(np.mean([value < TOLERANCE for value, _ in moved])))
            under = {"scale": scale, "over the last": f"{over_ns / NS_PER_S:.0f} s", "below 1 %": at_rest}
            yield Number(MOVED, "1", worst, len(moved), under, percent=True)


Flows = partial(OfFlows, by=BY, under=lengths)
JAIN = Measure("Jain's index", "1", of_flows("jain"))


def by_drain(runs: Iterable[Observed], of: Measure) -> str:
    """What BBR did in runs whose queue drained, and in those whose queue stayed full: a sentence for each
    kind of run; nothing of runs whose queue was never full or not recorded."""
    stayed: list[float] = []
    drained: list[float] = []
    after_s: list[float] = []
    for run in runs:
        many, value = run.many, of.read(run)
        if many is None or value is None or many.drain is None or many.drain.full_ns is None:
            continue
        if many.drain.drained_ns is None:
            stayed.append(value)
        else:
            drained.append(value)
            after_s.append((many.drain.drained_ns - many.drain.full_ns) / NS_PER_S)
    told = []
    if stayed:
        told.append(
            f"In {len(stayed)} run(s) the queue, once full, never fell to {percent(DRAINED)} of its limit: "
            f"{of.name} {spread(stayed)}."
        )
    if drained:
        told.append(
            f"In {len(drained)} run(s) it did, first {spread(after_s)} s after it was full: {of.name} "
            f"{spread(drained)}."
        )
    return " ".join(told)


def spread(values: Sequence[float]) -> str:
    """ "1.2 to 1.9", "1.2"; "none" of nothing."""
    return " to ".join(dict.fromkeys((number(min(values)), number(max(values))))) if values else "none"


def share(
    *claim: *Words,
    cca: str,
    against: Sequence[str],
    wanted: Callable[[Case], bool],
    low: float,
    high: float,
    tells_drain: bool = False,
) -> Judge:
    """Whether a CCA's share of what was delivered is within a range in each condition of it `against` one of
    some others. `tells_drain`: the verdict says what the share was where the queue stayed full."""

    of = Share(f"share of {cca}", read=share_of(cca))
    return Flows(
        *claim,
        items=conditions(lambda c: any(set(c.ccas) == {cca, one} for one in against) and wanted(c)),
        measures=(of,),
        marks=(Mark(f"a share of {percent(low)} to {percent(high)}", least=low, most=high),),
        settled=lambda many: many.share_settled.get(cca),
        needed=("core",),
        count_by="scale",
        decided_by={"quantity": of.name},
        cause=lambda items, _: by_drain([one.of for one in items], of) if tells_drain else "",
    )
