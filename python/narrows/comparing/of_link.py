"""The measures of a run that are no item's: of its link while something loaded it, of what a probe met there,
and of many flows taken together.

What is measured of every link stands in `OF_LINK`, of many flows in `OF_FLOWS`: quantity, unit, words, which
is better, the note that its numbers need, and how it is worked out.
"""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from narrows.metrics.latency.jitter import jitter
from narrows.metrics.latency.working_latency import working_latency
from narrows.metrics.statistics.arrays import Floats, clean
from narrows.metrics.statistics.ecdf import weighted_quantile
from narrows.metrics.statistics.stability import coefficient_of_variation
from narrows.plan import wire
from narrows.runs import loaded
from narrows.runs.capacity import shaper
from narrows.runs.items import mean_rate
from narrows.runs.many_flows import ManyFlows
from narrows.runs.measure import Measure
from narrows.runs.observed import DIRECTIONS, Observed
from narrows.store.whose import Whose, labelled
from narrows.tools import reading, registry
from narrows.tools.reading import LESS, MORE, Figure, Reading

THROUGHPUT, LATENCY, OWN_LATENCY, RPM = "throughput_bps", "probe_rtt_p50_ms", "test_rtt_p50_ms", "rpm"
USED, FAIRNESS = "flows_goodput_share", "jain"
CCA_SHARE = "cca_share"
"""The figure of ordinary flows by CCA (docs/data.md)."""
Quantile = Callable[[Observed, str], float | None]


def of_link(run: Observed) -> tuple[Measure, ...]:
    """All that are known of a good run."""
    if "link" not in run.kept:
        run.kept["link"] = tuple(_of_link(run)) if run.ok else ()
    every: tuple[Measure, ...] = run.kept["link"]
    return every


def _of_link(run: Observed) -> Iterator[Measure]:
    for way in DIRECTIONS:
        for quantity, (unit, meaning, work_out) in OF_LINK.items():
            value = work_out(run, way)
            if value is not None:
                yield _measure(quantity, value, unit, meaning, way)
    yield from _rpm(run)
    yield from _cca_shares(run)
    if run.many is not None:
        for quantity, (unit, meaning, work_out_many) in OF_FLOWS.items():
            value = work_out_many(run.many)
            if value is not None:
                yield _measure(quantity, value, unit, meaning, None)
        yield from _by_cca(run.many)


def _measure(quantity: str, value: float, unit: str, meaning: Figure, way: str | None) -> Measure:
    return Measure(
        quantity=quantity, value=value, unit=unit, words=meaning.words, better=meaning.better,
        statistic=meaning.statistic, direction=way, definition=meaning.definition,
    )  # fmt: skip


# ---- while something loaded it -----------------------------------------------------------------------------


def _used(run: Observed, way: str) -> float | None:
    """What all items that load the direction took of the bottleneck's rate; of one alone its payload over the
    largest possible."""
    loads, window, truth = loaded.loaders(run, way), loaded.window(run, way), run.truth(way)
    if len(loads) > 1 and truth is not None and window is not None:
        series, counted = truth.throughput_bps.get(""), shaper(run.plan, way).counted
        if series is None or run.divided_bps(way) is None or counted not in (None, wire.FRAME):
            return None
        return mean_rate(series, window) / run.capacity_bps(way, window)
    return loaded.used(run, way)


def _quantile(share: float, of: Callable[[Observed, str], Floats]) -> Quantile:
    def work_out(run: Observed, way: str) -> float | None:
        known = of(run, way)
        return float(np.quantile(known, share)) if known.size else None

    return work_out


def _own_rtts(run: Observed, way: str) -> Floats:
    return clean(run.rtts_ms[way].value) if way in run.rtts_ms else np.empty(0)


def _glitches(run: Observed, way: str) -> float | None:
    found = loaded.probe_glitches(run, way)
    return None if found is None else found.per_minute


def _sojourn_p99_ms(run: Observed, way: str) -> float | None:
    """A time that a packet had; of a run without that figure the upper edge of its histogram's bucket."""
    exact, truth = run.figure("sojourn_p99_ms", way, Whose(hop=run.bottleneck(way))), run.truth(way)
    if exact is not None or truth is None:
        return exact
    return weighted_quantile(truth.sojourn_ms, truth.sojourn_packets, 0.99)


def _dropped(run: Observed, way: str) -> float | None:
    truth = run.truth(way)
    if truth is None or truth.dropped_packets is None or not truth.departed_packets:
        return None
    return truth.dropped_packets / (truth.departed_packets + truth.dropped_packets)


_SAID = "throughput as the test itself reported it"
_PROBED = "a run's latency is the median round trip of the probe while that direction was loaded"
_OWN = "a run's latency is the median RTT of the test's own connection"
OF_LINK: dict[str, tuple[str, Figure, Quantile]] = {
    THROUGHPUT: ("bit/s", Figure("throughput", MORE, definition=_SAID), loaded.goodput_bps),
    "used_share": ("1", Figure("utilisation", MORE), _used),
    "variation": (
        "1", Figure("variation of throughput, 10 ms bins", LESS),
        lambda run, way: coefficient_of_variation(loaded.throughput_bps(run, way).value),
    ),
    OWN_LATENCY: ("ms", Figure("RTT of the test", LESS, False, "p50", _OWN), _quantile(0.5, _own_rtts)),
    "test_rtt_p95_ms": ("ms", Figure("RTT of the test, p95", LESS, False, "p95"), _quantile(0.95, _own_rtts)),
    LATENCY: ("ms", Figure("probe RTT", LESS, False, "p50", _PROBED), _quantile(0.5, loaded.probe_rtts_ms)),
    "probe_rtt_p95_ms": (
        "ms", Figure("probe RTT, p95", LESS, False, "p95"), _quantile(0.95, loaded.probe_rtts_ms)
    ),
    "probe_rtt_p99_ms": (
        "ms", Figure("probe RTT, p99", LESS, False, "p99"), _quantile(0.99, loaded.probe_rtts_ms)
    ),
    "working_latency_ms": (
        "ms", Figure("working latency (probe)", LESS),
        lambda run, way: working_latency(
            loaded.probe_rtts_ms(run, way), loaded.probe_rtts_ms(run, loaded.IDLE)
        ),
    ),
    "probe_jitter_ms": (
        "ms", Figure("jitter (probe)", LESS), lambda run, way: jitter(loaded.probe_rtts_ms(run, way))
    ),
    "glitches_per_min": ("1/min", Figure("glitches", LESS), _glitches),
    "sojourn_p99_ms": ("ms", Figure("sojourn p99 of the run", LESS, False, "p99"), _sojourn_p99_ms),
    "drop_share": ("1", Figure("drop share, whole run", LESS), _dropped),
}  # fmt: skip


def _rpm(run: Observed) -> Iterator[Measure]:
    """The headline of each tool that reads responsiveness; of several in a direction the first by name."""
    meaning = Figure("RPM", MORE, definition="RPM (round trips per minute) as the test itself reported it")
    found = sorted(
        (labelled(whose), way or "", v) for (name, way, whose), v in run.figures.items() if name in _rpms()
    )
    for way in dict.fromkeys(each[1] for each in found):
        value = next(value for _, of, value in found if of == way)
        yield _measure(RPM, value, "1/min", meaning, way or None)


@cache
def _rpms() -> frozenset[str]:
    """The first figure of each tool that reads responsiveness: its own headline."""
    firsts = (
        next((name for name, of in each.FIGURES.items() if _is_rpm(of)), None)
        for each in registry.parts(registry.READINGS)
    )
    return frozenset(name for name in firsts if name is not None)


def _is_rpm(of: Reading | Figure) -> bool:
    return isinstance(of, Reading) and of.quantity == reading.RPM


def _cca_shares(run: Observed) -> Iterator[Measure]:
    """Shares of ordinary flows by CCA."""
    for (name, way, whose), value in sorted(run.figures.items(), key=str):
        if name == CCA_SHARE and way is not None and run.many is None:
            yield _measure(f"{whose.part}_share", value, "1", Figure(f"share of {whose.part}"), way)


# ---- many flows --------------------------------------------------------------------------------------------


def _at(*names: str) -> Callable[[ManyFlows], float | None]:
    return lambda many: many.get(*names)


OF_FLOWS: dict[str, tuple[str, Figure, Callable[[ManyFlows], float | None]]] = {
    "flows": ("flows", Figure("flows with something in the window"), lambda m: float(m.flows)),
    "measured_s": ("s", Figure("measured after the warm-up"), lambda m: m.seconds),
    FAIRNESS: (
        "1",
        Figure(
            "Jain's index of goodputs", MORE,
            definition="fairness is Jain's index of the flows' goodputs after the warm-up",
        ),
        lambda m: m.jain,
    ),
    "mathis_c_losses": ("1", Figure("Mathis C on losses"), _at("mathis_on_losses", "c")),
    "mathis_c_halvings": ("1", Figure("Mathis C on halvings"), _at("mathis_on_halvings", "c")),
    "mathis_losses_error_share": (
        "1", Figure("Mathis error on losses, median of flows"),
        _at("mathis_on_losses", "median_error"),
    ),
    "mathis_halvings_error_share": (
        "1", Figure("Mathis error on halvings, median of flows"),
        _at("mathis_on_halvings", "median_error"),
    ),
    "losses_per_halving": ("packets", Figure("losses per halving"), _at("losses_per_halving", "ratio")),
    "drop_burstiness": (
        "1", Figure("burstiness of all drops of the queue"),
        _at("drop_burstiness", "goh_barabasi"),
    ),
    "flow_burstiness": (
        "1", Figure("burstiness of a flow's drops, median of flows"),
        _at("flow_burstiness", "goh_barabasi"),
    ),
    "synchronisation": ("1", Figure("synchronisation of reductions"), _at("synchronisation", "index")),
    USED: (
        "1",
        Figure(
            "utilisation by goodput", MORE, definition="utilisation is the flows' goodput over the link's"
        ),
        lambda m: m.utilisation,
    ),
    "occupancy_share": ("1", Figure("mean occupancy of the queue"), lambda m: m.occupancy_mean),
    "window_drops": (
        "packets", Figure("drops in the window"), lambda m: None if m.drops is None else float(m.drops)
    ),
    "time_to_fairness_s": (
        "s", Figure("time to fairness", LESS),
        lambda m: None if m.time_to_fairness_ns is None else m.time_to_fairness_ns / 1e9,
    ),
    "jain_moved_share": (
        "1", Figure("Jain's index: moved over the last part"),
        _at("jain_settled", "moved"),
    ),
}  # fmt: skip


def _by_cca(many: ManyFlows) -> Iterator[Measure]:
    """Share and fairness of each CCA, where several met or might have."""
    for cca, share in sorted(many.shares.items()):
        settled, own = many.share_settled.get(cca), many.jain_by_cca.get(cca)
        moved = None if settled is None else settled.moved
        for quantity, value, words in (
            (f"{cca}_share", share.share, f"share of {cca}"),
            (f"{cca}_jain", own, f"Jain's index among {cca}"),
            (f"{cca}_moved_share", moved, f"share of {cca}: moved over the last part"),
        ):
            if value is not None:
                yield _measure(quantity, value, "1", Figure(words), None)
