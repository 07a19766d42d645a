"""When the items of a run start and stop, and when at the latest the run has ended.

Random start offsets are drawn here, from the run's seed, so that the plan holds what really happens.
"""

from dataclasses import dataclass, replace

from narrows.plan.expand import ResolvedRun, drawn_ns
from narrows.plan.items import AfterItem, AtTime, Start, Stop, WithItem
from narrows.spec.traffic import Reference, Traffic, after
from narrows.tools.bulk.spec import bulk
from narrows.units import Duration, Rate


@dataclass(frozen=True)
class Timing:
    """One item's times: as in the plan, and what is known of them in advance."""

    start: Start
    stop: Stop
    expected_start_ns: int
    expected_end_ns: int | None
    """None if it has no end of its own that can be known (a command)."""
    latest_end_ns: int


class Timetable:
    """The times of all items of a run."""

    def __init__(self, run: ResolvedRun) -> None:
        self.run = run
        self._known: dict[str, Timing] = {}
        self._pending: list[str] = []

    def of(self, item_id: str) -> Timing:
        """The times of one item; raises if items wait for each other."""
        if item_id not in self._known:
            item = self.run.items[item_id]
            if item_id in self._pending:
                circle = " → ".join((*self._pending[self._pending.index(item_id) :], item_id))
                item.fail(f"these items wait for each other: {circle}", "give one of them a time")
            self._pending.append(item_id)
            timing = self._limited(item, self._work_out(item_id, item))
            _check_spread(item, timing)
            _check_limit(item, self.run)
            self._known[item_id] = timing
            self._pending.pop()
        return self._known[item_id]

    def expected_end_ns(self) -> int:
        """When the run will have ended, as far as can be known."""
        timings = [self.of(item_id) for item_id in self._foreground()]
        ends = [t.latest_end_ns if t.expected_end_ns is None else t.expected_end_ns for t in timings]
        return max(ends, default=0)

    def latest_end_ns(self) -> int:
        """When the run has surely ended, or hangs."""
        return max((self.of(item_id).latest_end_ns for item_id in self._foreground()), default=0)

    def _foreground(self) -> list[str]:
        return [name for name, item in self.run.items.items() if not item.values.get("background")]

    def _limited(self, item: Traffic, timing: Timing) -> Timing:
        """No bulk flow lasts longer than `until_settled(at_most=…)` after the warm-up."""
        rule, tap = self.run.until_settled, self.run.flow_tap
        if not isinstance(item, bulk) or rule is None or rule["at_most"] is None or tap is None:
            return timing
        end_ns = tap["warm_up"].ns + rule["at_most"].ns
        if not isinstance(timing.stop, AtTime) or timing.stop.at_ns < end_ns:
            own = Duration(timing.latest_end_ns)
            rule.fail(
                f"at_most={rule['at_most']} after the warm-up is {Duration(end_ns)}, but flows end at {own}",
                "leave at_most out, or let the flows last longer",
            )
        return replace(timing, stop=AtTime(at_ns=end_ns), expected_end_ns=end_ns, latest_end_ns=end_ns)

    def _target(self, item: Traffic, reference: Reference, what: str) -> str:
        origin = reference.target(self.run.choices)
        target = None if origin is None else self.run.id_of(origin)
        if target is None:
            labels = ", ".join(f"{k}={v}" for k, v in self.run.key.items() if k != "seed")
            item.fail(
                f"{what} refers to an item that is absent"
                + (f" in the runs with {labels}" if labels else ""),
                "refer to an item that is always there, and assign it to a name",
            )
        return target

    def _work_out(self, item_id: str, item: Traffic) -> Timing:
        jitter_ns = drawn_ns(self.run.seed, f"start of {item_id}", item["start_jitter"].ns)
        start: Start
        latest_start_ns: int
        if isinstance(item["start"], after):
            target = self._target(item, item["start"], "start")
            other = self.of(target)
            delay_ns = item["start"]["delay"].ns + jitter_ns
            start = AfterItem(after=target, delay_ns=delay_ns)
            other_end = other.latest_end_ns if other.expected_end_ns is None else other.expected_end_ns
            expected_start_ns, latest_start_ns = other_end + delay_ns, other.latest_end_ns + delay_ns
        else:
            expected_start_ns = latest_start_ns = item["start"].ns + jitter_ns
            start = AtTime(at_ns=expected_start_ns)
        spread = item.values.get("start_spread")
        spread_ns = spread.ns if isinstance(spread, Duration) else 0

        stop: Stop = None
        if isinstance(item["stop"], Reference):
            target = self._target(item, item["stop"], "stop")
            if target == item_id:
                item.fail("stops with itself", "give it a duration or a stop time")
            other = self.of(target)
            if expected_start_ns >= other.latest_end_ns:
                item.fail(
                    f"starts at {Duration(expected_start_ns)} and stops with {target}, which has ended at "
                    f"{Duration(other.latest_end_ns)}",
                    "start earlier, or stop with something that lasts longer",
                )
            stop = WithItem(with_=target)
            return Timing(start, stop, expected_start_ns, other.expected_end_ns, other.latest_end_ns)
        if item["stop"] is not None:
            end_ns = item["stop"].ns
            if end_ns <= latest_start_ns:
                item.fail(
                    f"stops at {item['stop']}, but may start as late as {Duration(latest_start_ns)}",
                    "stop later",
                )
            return Timing(start, AtTime(at_ns=end_ns), expected_start_ns, end_ns, end_ns)

        length = item.takes(_rates(self.run))
        if length is not None:
            expected_ns, latest_ns = length
            if item.values.get("duration") is not None and item.is_stopped:
                stop = AtTime(at_ns=expected_start_ns + expected_ns)
            return Timing(
                start,
                stop,
                expected_start_ns,
                expected_start_ns + expected_ns,
                latest_start_ns + spread_ns + latest_ns,
            )
        limit = item.values.get("time_limit")
        limit_ns = limit.ns if isinstance(limit, Duration) else 0
        return Timing(start, None, expected_start_ns, None, latest_start_ns + limit_ns)


def _check_spread(item: Traffic, timing: Timing) -> None:
    """Flows that start at random within a time all start before they are stopped."""
    spread = item.values.get("start_spread")
    if not isinstance(spread, Duration) or not spread.ns or timing.stop is None:
        return
    end_ns = timing.stop.at_ns if isinstance(timing.stop, AtTime) else timing.latest_end_ns
    if timing.expected_start_ns + spread.ns > end_ns:
        item.fail(
            f"flows start at random within {spread}, but all are stopped after "
            f"{Duration(end_ns - timing.expected_start_ns)}",
            "a shorter start_spread, or a longer duration",
        )


def _check_limit(item: Traffic, run: ResolvedRun) -> None:
    """A limit lets an item that is not stopped end by itself; how long a transfer takes is only guessed."""
    if item["stop"] is not None or item.values.get("bytes") is not None:
        return
    limit, length = item.values.get("time_limit"), item.takes(_rates(run))
    if isinstance(limit, Duration) and length is not None and limit.ns < length[0]:
        item.fail(
            f"time_limit: {limit} is less than the {Duration(length[0])} that it takes at least",
            "a longer time_limit, or leave it out",
        )


def _rates(run: ResolvedRun) -> tuple[Rate, Rate]:
    return run.link["rate"], run.link.up("rate")
