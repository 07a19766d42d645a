"""What an experiment asks for and what would never happen in its runs: refused, with the line and the times.

A run would end as if all were well, without the change, the samples or the packets that it was made for.
"""

from itertools import pairwise

from narrows.plan.expand import ResolvedRun
from narrows.plan.items import TcpBulk, TrafficItem
from narrows.plan.timing import Timetable
from narrows.units import Duration


def check(run: ResolvedRun, times: Timetable, traffic: tuple[TrafficItem, ...]) -> None:
    """Raise at the first thing that cannot happen."""
    end = Duration(times.latest_end_ns())
    _check_changes(run, end)
    _check_captures(run, end)
    _check_samples(run, end)
    _check_flow_tap(run, times, traffic)


def _check_changes(run: ResolvedRun, end: Duration) -> None:
    """The link changes while something runs, and each value once at a time."""
    for change in run.link.changes:
        if change["time"] >= end:
            change.fail(
                f"a change at {change['time']}, but all has ended at {end}",
                "an earlier change, or traffic that lasts longer",
            )
    for one, other in pairwise(run.link.changes):
        if one["time"] == other["time"]:
            other.fail(
                f"two changes at {other['time']}", "one link.at() with all that changes then, or another time"
            )


def _check_captures(run: ResolvedRun, end: Duration) -> None:
    for capture in run.captures.values():
        if capture["start"] >= end:
            capture.fail(
                f"starts at {capture['start']}, but all has ended at {end}",
                "an earlier start, or traffic that lasts longer",
            )


def _check_samples(run: ResolvedRun, end: Duration) -> None:
    """What is read every so often is read once at least."""
    for name in sorted(run.sample.given):
        interval = run.sample[name]
        if isinstance(interval, Duration) and interval.ns >= end.ns:
            run.sample.fail(
                f"{name}: nothing would be read every {interval}, as all has ended at {end}",
                f"a shorter interval, or {name}=None",
            )


def _check_flow_tap(run: ResolvedRun, times: Timetable, traffic: tuple[TrafficItem, ...]) -> None:
    """There are bulk flows, which outlast the warm-up and, where one is asked for, an interval after it."""
    asked = run.flow_tap
    if asked is None:
        return
    flows = [item for item in traffic if isinstance(item, TcpBulk)]
    if not flows:
        asked.fail("there are no bulk flows to watch", 'add flow = bulk(cca="cubic", duration="10 s")')
    end = Duration(max(times.of(flow.item).latest_end_ns for flow in flows))
    if end <= asked["warm_up"]:
        asked.fail(
            f"all flows have ended at {end}, within the warm-up of {asked['warm_up']}",
            "a shorter warm_up, or flows that last longer",
        )
    if (
        "interval" in asked.given
        and asked["interval"] is not None
        and asked["interval"] > end - asked["warm_up"]
    ):
        asked.fail(
            f"no interval of {asked['interval']} ends after the warm-up and before all flows have, at {end}",
            "a shorter interval, or interval=None",
        )
