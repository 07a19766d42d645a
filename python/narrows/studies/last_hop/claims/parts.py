"""What the claims ask of a run: what its medium carried, what a test read, what a third party met.

Everything here is the way down. Numbers are by condition: who on which medium, and where the queue stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from narrows.runs.capacity import capacity_bps, goodput_of, payload_share
from narrows.runs.observed import Observed
from narrows.runs.quantities import under
from narrows.studies.last_hop.testbed import NAMES, PLACES
from narrows.studies.verdict import Claim, Number, Verdict, graded, ids, median_of, not_measured
from narrows.tools.reading import IP_OF_1250
from narrows.units import NS_PER_S

PROBE = "probe"
LOADED_NS = (3 * NS_PER_S, 13 * NS_PER_S)
"""When every test and every flow loads the link."""
"""Of the IP packets that the UDP capacity test counts."""
RATES: Mapping[str, tuple[str, str]] = {
    "ndt7": ("test", "ndt7_throughput_bps"),
    "iperf3": ("test", "iperf3_goodput_bps"),
    "capacity_test": ("test", "capacity_test_throughput_bps"),
    "cloudflare": ("test", "cloudflare_bandwidth_bps"),
    "ookla_model": ("test", "ookla_model_throughput_bps"),
    "librespeed_model": ("test", "librespeed_model_throughput_bps"),
    "rpm": ("test", "rpm_goodput_bps"),
    "udp_capacity": ("test", "udp_capacity_bps"),
    "cubic": ("flow", "bulk_goodput_bps"),
    "bbr": ("flow", "bulk_goodput_bps"),
    "quinn_cubic": ("flow", "quic_goodput_bps"),
    "quinn_bbr": ("flow", "quic_goodput_bps"),
}
"""Of who loads the link its item, and the figure that says its rate."""
DELAYS: Mapping[str, str] = {
    "ndt7": "ndt7_rtt_mean_ms",
    "ookla_model": "ookla_model_loaded_latency_ms",
    "librespeed_model": "librespeed_model_loaded_latency_ms",
    "rpm": "rpm",
}
"""The tests that show a latency under load. Cloudflare's is left out: it loads both ways in turn."""
AXES = ("tool", "flow", "service")
Condition = tuple[str, str, str]
"""Who, on which medium, and where the queue stands."""


def by_condition(runs: Iterable[Observed], experiment: str) -> dict[Condition, list[Observed]]:
    """Good runs of an experiment, each once, in the order of media and places."""
    found: dict[Condition, dict[str, Observed]] = {}
    for run in runs:
        if run.ok and run.experiment == experiment and run.key["medium"] in NAMES:
            who = next(run.key[axis] for axis in AXES if axis in run.key)
            found.setdefault((who, run.key["medium"], run.key["place"]), {})[run.run_id] = run
    ordered = sorted(found, key=lambda each: (each[0], NAMES.index(each[1]), PLACES.index(each[2])))
    return {key: [found[key][run_id] for run_id in sorted(found[key])] for key in ordered}


def words(condition: Condition) -> str:
    """A condition, for people."""
    who, medium, place = condition
    return f"{who} on {medium}, {place}"


def read_share(run: Observed, who: str) -> float | None:
    """The rate that a test or a flow says over what the slowest place could carry, both as TCP payload of
    full packets. On Wi-Fi that is what one way has while the other is silent, so even a perfect test reads
    less: its acknowledgements take air."""
    item, figure = RATES[who]
    said = run.figure(item, figure)
    carried = capacity_bps(run.plan, "down", LOADED_NS)
    if said is None or not carried:
        return None
    share = payload_share(run.plan, "down", IP_OF_1250) if who == "udp_capacity" else 1.0
    return share * said / goodput_of(run.plan, "down", carried)


def met_ms(run: Observed, quantile: str) -> float | None:
    """The round trip of the third party's probe under load; `quantile`: p50 or p95."""
    loads = ("test", "test.down", "flow")
    found = (run.quantity(f"loaded_rtt_{quantile}_ms", under(PROBE, load)) for load in loads)
    return next((value for value in found if value is not None), None)


def shown_ms(run: Observed, tool: str) -> float | None:
    """The latency under load that a test shows; responsiveness as the time of a round trip."""
    shown = run.figure("test", DELAYS[tool])
    if shown is None or not shown:
        return None
    return 60_000 / shown if tool == "rpm" else shown


def numbers(
    runs: Mapping[Condition, list[Observed]],
    name: str,
    unit: str,
    value: Callable[[Observed, Condition], float | None],
) -> dict[Condition, Number]:
    """The medians of one number, of the conditions that have it."""
    made = {
        each: median_of(name, unit, [value(run, each) for run in own], words(each))
        for each, own in runs.items()
    }
    return {each: number for each, number in made.items() if number is not None}


def judged(
    claim: Claim,
    runs: Mapping[Condition, list[Observed]],
    found: Mapping[Condition, Number],
    marks: Mapping[Condition, bool],
    rule: str,
    more: Iterable[Number] = (),
) -> Verdict:
    """The verdict of marks by condition; the reason counts them by medium, since what a medium does is what
    is asked."""
    if not marks:
        return not_measured(claim, "no run that decides it")
    by_medium = {
        medium: [good for each, good in marks.items() if each[1] == medium]
        for medium in NAMES
        if any(each[1] == medium for each in marks)
    }
    counted = ", ".join(f"{medium} {sum(good)} of {len(good)}" for medium, good in by_medium.items())
    rests = [run for each in marks for run in runs[each]]
    return Verdict(
        claim,
        graded(list(marks.values())),
        f"{rule}: {counted}",
        (*found.values(), *more),
        "30 Mbit/s, 30 ms; the queue in the device, at the router, or under CAKE at 90 %",
        ids(rests),
    )
