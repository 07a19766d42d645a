"""How long runs that are not made yet will take, learnt from those that are.

Runs of one kind (the same tools in the plan) share a pace, seconds per unit of guessed work; a kind that was
not seen yet goes by the pace of all. It is a guess, and no number of a result rests on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from narrows.engine.work import expected_work
from narrows.plan.model import Command, Plan

Kind = tuple[str, ...]


def kind_of(plan: Plan) -> Kind:
    """What decides how dear a packet of the run is: who sends and receives it."""
    return tuple(sorted({i.tool if isinstance(i, Command) else type(i).__name__ for i in plan.traffic}))


class Pace:
    """The time left for a set of runs."""

    def __init__(self, to_do: Iterable[Plan]) -> None:
        self._left: dict[Kind, float] = defaultdict(float)
        self._done: dict[Kind, float] = defaultdict(float)
        self._busy_s: dict[Kind, float] = defaultdict(float)
        for plan in to_do:
            self._left[kind_of(plan)] += expected_work(plan)

    def finished(self, plan: Plan, busy_s: float) -> None:
        """A run took a slot for so long."""
        kind, work = kind_of(plan), expected_work(plan)
        self._left[kind] -= work
        self._done[kind] += work
        self._busy_s[kind] += busy_s

    def busy_s(self) -> float:
        """Seconds that finished runs took, one slot each."""
        return sum(self._busy_s.values())

    def left_s(self, running: Iterable[tuple[Plan, float]], slots: int) -> float | None:
        """Seconds until all are done, None before the first; `running`: plans, and for how long already."""
        if not self.busy_s():
            return None
        overall = self.busy_s() / sum(self._done.values())

        def seconds_of(kind: Kind, work: float) -> float:
            return work * (self._busy_s[kind] / self._done[kind] if self._done[kind] else overall)

        left = sum(seconds_of(kind, work) for kind, work in list(self._left.items()))
        for plan, elapsed_s in running:
            left -= min(elapsed_s, seconds_of(kind_of(plan), expected_work(plan)))
        return max(0.0, left) / max(1, slots)
