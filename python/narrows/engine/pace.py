"""How long runs that are not over yet will take, learnt from those that are and from how far others are.

Runs of one kind (the same tools in the plan) share a pace, seconds per unit of guessed work; a kind that was
not seen yet goes by runs of it that were made earlier, if any are known, else by the pace of all. A run on
its way goes by its own: one that settles early is done before that. It is a guess, and no number of a result
rests on it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from narrows.engine.work import duration_s, expected_work
from narrows.plan.items import Command
from narrows.plan.model import Plan

Kind = tuple[str, ...]
Cost = tuple[float, float]
"""Seconds of some runs, and the work that they were guessed to be."""

TELLING = 0.05
"""The share of a run from which its own pace says more than that of others: slow start is over."""

TOOL_S_PER_PACKET, BULK_S_PER_PACKET = 3.5e-6, 6e-7
"""Factors of guessed work: a tool is a program of its own in the guest, bulk flows are the agent's."""


def kind_of(plan: Plan) -> Kind:
    """What decides how dear a packet of the run is: who sends and receives it."""
    return tuple(sorted({i.tool if isinstance(i, Command) else type(i).__name__ for i in plan.traffic}))


def guess_s(plan: Plan) -> float:
    """Seconds of a run where none was made on this machine yet, as they are on one of today."""
    tools = any(isinstance(item, Command) for item in plan.traffic)
    return expected_work(plan) * (TOOL_S_PER_PACKET if tools else BULK_S_PER_PACKET)


@dataclass(frozen=True)
class Running:
    """A run on its way: for how long already, and how far in virtual time (None: not known)."""

    plan: Plan
    elapsed_s: float
    virtual_s: float | None = None

    @property
    def share(self) -> float | None:
        """The part that is done; None before it tells anything."""
        done = min(1.0, (self.virtual_s or 0.0) / duration_s(self.plan))
        return done if done >= TELLING else None


class Pace:
    """The time left for a set of runs. `known` is what runs of some kinds cost earlier."""

    def __init__(self, to_do: Iterable[Plan], known: Mapping[Kind, Cost] | None = None) -> None:
        self._left: dict[Kind, float] = defaultdict(float)
        self._done: dict[Kind, float] = defaultdict(float)
        self._busy_s: dict[Kind, float] = defaultdict(float)
        self._known = dict(known or {})
        self._measured: dict[Kind, Cost] = {}
        for plan in to_do:
            self._left[kind_of(plan)] += expected_work(plan)

    def finished(self, plan: Plan, busy_s: float, good: bool = True) -> None:
        """A run took a slot for so long."""
        kind, work = kind_of(plan), expected_work(plan)
        self._left[kind] -= work
        self._done[kind] += work
        self._busy_s[kind] += busy_s
        if good:
            had_s, had = self._measured.get(kind, (0.0, 0.0))
            self._measured[kind] = (had_s + busy_s, had + work)

    def measured(self) -> dict[Kind, Cost]:
        """What good runs cost, by kind, since this was asked for last."""
        found, self._measured = self._measured, {}
        return found

    def busy_s(self) -> float:
        """Seconds that finished runs took, one slot each."""
        return sum(self._busy_s.values())

    def left_s(self, running: Sequence[Running], slots: int) -> float | None:
        """Seconds until all are done, None as long as neither a run is over nor one has come far enough."""
        busy, done = self._busy_s.copy(), self._done.copy()
        for one in running:
            if one.share is not None:
                busy[kind_of(one.plan)] += one.elapsed_s
                done[kind_of(one.plan)] += one.share * expected_work(one.plan)
        for kind, cost in self._known.items():
            if not done[kind]:
                busy[kind], done[kind] = cost
        if not sum(busy.values()):
            return None
        overall = sum(busy.values()) / sum(done.values())

        def seconds_of(kind: Kind, work: float) -> float:
            return work * (busy[kind] / done[kind] if done[kind] else overall)

        left = sum(seconds_of(kind, work) for kind, work in self._left.items())
        for one in running:
            whole = seconds_of(kind_of(one.plan), expected_work(one.plan))
            left -= whole
            left += (
                max(0.0, whole - one.elapsed_s)
                if one.share is None
                else one.elapsed_s / one.share - one.elapsed_s
            )
        return max(0.0, left) / max(1, slots)
