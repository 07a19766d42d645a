"""The rule that ends a run's bulk flows once a metric has settled: `until_settled` of the plan.

A rule that could never hold, holds always, or would cut off something else that is measured is refused here.
"""

from narrows.plan.expand import ResolvedRun
from narrows.plan.items import AfterItem, TcpBulk, TrafficItem, WithItem
from narrows.plan.model import UntilSettled
from narrows.plan.timing import Timetable
from narrows.spec.traffic import Traffic
from narrows.tools.bulk.spec import bulk
from narrows.units import NS_PER_S, Duration

LEAST_SAMPLES = 10
"""In a window: of fewer, how far the metric moved between them is not known."""


def until_settled(
    run: ResolvedRun, times: Timetable, traffic: tuple[TrafficItem, ...]
) -> UntilSettled | None:
    """The rule in full; None without one."""
    rule, tap = run.until_settled, run.flow_tap
    if rule is None:
        return None
    if tap is None or tap["interval"] is None:
        rule.fail(
            "what the flows delivered is counted from the end of the flow tap's warm-up, at its interval",
            'flow_tap(warm_up="5 min", interval="5 s")',
        )
    window, interval, warm_up = rule["window"], tap["interval"], tap["warm_up"]
    if window < interval.scaled(LEAST_SAMPLES):
        rule.fail(
            f"a window of {window} has {window.ns // interval.ns} samples of flow_tap(interval={interval})",
            f"at least {LEAST_SAMPLES}: a longer window or a shorter interval",
        )
    flows = {name: item for name, item in run.items.items() if isinstance(item, bulk)}
    _check_metrics(run, traffic)
    soonest = Duration(warm_up.ns + max((rule["at_least"] or window).ns, window.ns + interval.ns))
    for name, item in flows.items():
        _check_flows(run, times, name, item, warm_up, soonest)
    _check_others(run, times, soonest)
    return UntilSettled(
        metrics=rule["metric"],
        within=rule["within"],
        window_ns=window.ns,
        start_ns=warm_up.ns,
        interval_ns=interval.ns,
        not_before_ns=warm_up.ns + (rule["at_least"] or window).ns,
    )


def _check_metrics(run: ResolvedRun, traffic: tuple[TrafficItem, ...]) -> None:
    """A metric that cannot move would end every run at once."""
    rule = run.until_settled
    assert rule is not None
    items = [item for item in traffic if isinstance(item, TcpBulk)]
    if not items:
        rule.fail("there are no bulk flows to stop", 'add flow = bulk(cca="cubic", duration="10 min")')
    if "jain" in rule["metric"] and sum(item.flows for item in items) < 2:
        rule.fail("Jain's index of one flow is always 1", 'metric="goodput", or more flows')
    ccas = {item.cca for item in items}
    if "shares" in rule["metric"] and len(ccas) < 2:
        rule.fail(f"all flows are of {ccas.pop()}, whose share is always 1", 'metric="jain", or two CCAs')


def _check_flows(
    run: ResolvedRun, times: Timetable, name: str, item: Traffic, warm_up: Duration, soonest: Duration
) -> None:
    """All flows run from the end of the warm-up on, long enough, and end by being stopped."""
    rule, timing = run.until_settled, times.of(name)
    assert rule is not None
    if item["bytes"] is not None:
        item.fail("flows of a given size are not stopped when they have settled", 'duration="1 h"')
    begun = Duration(timing.expected_start_ns + item["start_spread"].ns)
    if begun > warm_up:
        item.fail(
            f"flows may start until {begun}, but until_settled() measures after the warm-up of {warm_up}",
            f'flow_tap(warm_up="{-(-begun.ns // NS_PER_S)} s")',
        )
    end = Duration(timing.latest_end_ns)
    if end.ns <= soonest.ns:
        rule.fail(
            f"{name} ends at {end}, and nothing can have settled before {soonest} (warm-up and window)",
            "let the flows last longer, or take a shorter window",
        )


def _check_others(run: ResolvedRun, times: Timetable, soonest: Duration) -> None:
    """What has a time of its own would go on without the flows, or be cut off by their end."""
    for name, item in run.items.items():
        if isinstance(item, bulk) or item.values.get("background"):
            continue
        timing = times.of(name)
        known = timing.latest_end_ns if timing.expected_end_ns is None else timing.expected_end_ns
        goes_along = isinstance(timing.stop, WithItem) or _follows_flows(run, times, name)
        if known > soonest.ns and not goes_along:
            item.fail(
                f"{name} may run until {Duration(known)}, but the flows may have settled at {soonest}",
                "stop=with_(…) the flows, or an earlier end; until_settled(at_least=…) keeps them longer",
            )
    for change in run.link.changes:
        if change["time"] > soonest:
            change.fail(
                f"the flows may have settled at {soonest}, before this change",
                "until_settled(at_least=…) keeps them until it has had its effect",
            )


def _follows_flows(run: ResolvedRun, times: Timetable, name: str) -> bool:
    """Whether an item starts when bulk flows have ended, or after one that does."""
    start = times.of(name).start
    return isinstance(start, AfterItem) and (
        isinstance(run.items[start.after], bulk) or _follows_flows(run, times, start.after)
    )
