"""The single numbers that verdicts ask of a run of speed tests, and what they need of its distributions.

A run whose tables are there works each out when it is asked for; a shard keeps them all, because it has no
tables. Both come from here, so both give the same number. `NUMBERS` and `TAILS` are the list: a name, a unit,
and of what there is one (a direction, a phase of the run, a probe while an item loads). No file is read.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from narrows.metrics.latency.jitter import jitter
from narrows.metrics.latency.working_latency import working_latency
from narrows.metrics.statistics.arrays import clean
from narrows.metrics.statistics.stability import coefficient_of_variation
from narrows.metrics.statistics.tail import Tail, upper_tail
from narrows.runs import loaded, phases, queue_numbers, settled
from narrows.runs.items import SHARED, Item, shared, shared_rate
from narrows.runs.loaded import IDLE
from narrows.runs.observed import DIRECTIONS, Observed, is_background, is_probe
from narrows.spec.pairs import PAIR
from narrows.units import NS_PER_S

SETTLING_NS = 1_000_000_000
"""The first second of a test's bins is its slow start."""
TAIL_SHARE = 0.05
"""A shard keeps the largest samples under load: enough for a pooled 99th percentile."""


@dataclass(frozen=True)
class Number:
    """How a number is worked out, and of what."""

    unit: str
    ofs: Callable[[Observed], Iterable[str]]
    work_out: Callable[[Observed, str], float | None]


@dataclass(frozen=True)
class Spread:
    """How the part of a distribution that is kept is worked out, and of what."""

    unit: str
    ofs: Callable[[Observed], Iterable[str]]
    work_out: Callable[[Observed, str], Tail | None]


def under(probe: str, load: str) -> str:
    """What a number of a probe while an item loads is "of"."""
    return f"{probe} under {load}"


def directions(run: Observed) -> Iterator[str]:
    """The directions of the run's speed test."""
    return (way for way in DIRECTIONS if _tested(run, way) is not None)


def _tested(run: Observed, way: str) -> Item | None:
    """The speed test, if the run has one that loaded this direction."""
    return next((item for item in loaded.loaders(run, way) if item.name == run.tested), None)


def _phases(run: Observed) -> Iterable[str]:
    return (IDLE, *loaded.ways(run)) if run.probes else ()


def _met(run: Observed) -> Iterator[str]:
    """The services of a settled."""
    if PAIR in run.key:
        yield from (item.id for item in settled.foreground(run.plan))


def _loads(run: Observed) -> Iterator[str]:
    for item in run.plan.traffic:
        if not is_probe(item) and not is_background(item):
            yield from (under(probe, item.id) for probe in sorted(run.probes))


# ---- the speed test ----------------------------------------------------------------------------------------


def _throughput(run: Observed, way: str) -> float | None:
    test = _tested(run, way)
    return None if test is None else test.ways[way].goodput_bps


def _rtt_quantile(share: float) -> Callable[[Observed, str], float | None]:
    def work_out(run: Observed, way: str) -> float | None:
        known = clean(run.rtts_ms[way].value) if way in run.rtts_ms else np.empty(0)
        if not known.size:
            return None
        return float(np.median(known) if share == 0.5 else np.quantile(known, share))

    return work_out


def _variation(run: Observed, way: str) -> float | None:
    series = loaded.throughput_bps(run, way)
    if not series.t_ns.size:
        return None
    return coefficient_of_variation(series.value[series.t_ns >= series.t_ns[0] + SETTLING_NS])


# ---- the probe ---------------------------------------------------------------------------------------------


def _per_minute(*, lost_counts: bool) -> Callable[[Observed, str], float | None]:
    def work_out(run: Observed, way: str) -> float | None:
        per_minute = loaded.probe_glitches(run, way, lost_counts=lost_counts)
        return None if per_minute is None else per_minute.per_minute

    return work_out


def _lost(run: Observed, way: str) -> float | None:
    found = loaded.probe_glitches(run, way)
    return None if found is None or not found.probes else found.lost / found.probes


LATE_MS = 100.0
"""A probe that comes back later is late for a game."""


def _late(run: Observed, probe: str) -> float | None:
    rtt = run.probes[probe].rtt_ms.value if probe in run.probes else np.empty(0)
    return float(np.mean(np.isnan(rtt) | (rtt > LATE_MS))) if rtt.size else None


def _working(run: Observed, way: str) -> float | None:
    return working_latency(loaded.probe_rtts_ms(run, way), loaded.probe_rtts_ms(run, IDLE))


def _loaded(share: float) -> Callable[[Observed, str], float | None]:
    def work_out(run: Observed, of: str) -> float | None:
        probe, _, load = of.partition(" under ")
        item = (run.manifest.get("items") or {}).get(load) or {}
        found = run.probes.get(probe)
        if found is None or item.get("start_ns") is None or item.get("end_ns") is None:
            return None
        window = (int(item["start_ns"] + queue_numbers.LOADED_AFTER_S * NS_PER_S), int(item["end_ns"]))
        rtt = found.rtt_ms.within(window).value
        known = rtt[~np.isnan(rtt)]
        return float(np.quantile(known, share)) if known.size else None

    return work_out


def _probe_rtts(run: Observed, phase: str) -> Tail | None:
    return upper_tail(loaded.probe_rtts_ms(run, phase), share=1.0 if phase == IDLE else TAIL_SHARE)


# ---- the queue ---------------------------------------------------------------------------------------------


def _sojourns(run: Observed, way: str) -> Tail | None:
    truth = run.queues.get(way)
    return None if truth is None else upper_tail(truth.sojourn_ms, truth.sojourn_packets, TAIL_SHARE)


NUMBERS: dict[str, Number] = {
    "test_throughput_bps": Number("bit/s", directions, _throughput),
    "test_rtt_p50_ms": Number("ms", directions, _rtt_quantile(0.5)),
    "test_rtt_p99_ms": Number("ms", directions, _rtt_quantile(0.99)),
    "test_variation": Number("1", directions, _variation),
    "probe_glitches_per_minute": Number("1/min", directions, _per_minute(lost_counts=True)),
    "probe_spikes_per_minute": Number("1/min", directions, _per_minute(lost_counts=False)),
    "probe_loss_ratio": Number("1", directions, _lost),
    "probe_working_latency_ms": Number("ms", directions, _working),
    "probe_jitter_ms": Number("ms", _phases, lambda run, phase: jitter(loaded.probe_rtts_ms(run, phase))),
    "probe_late_ratio": Number("1", lambda run: sorted(run.probes), _late),
    "loaded_rtt_p5_ms": Number("ms", _loads, _loaded(0.05)),
    "loaded_rtt_p50_ms": Number("ms", _loads, _loaded(0.5)),
    "loaded_rtt_p95_ms": Number("ms", _loads, _loaded(0.95)),
    "loaded_rtt_p99_ms": Number("ms", _loads, _loaded(0.99)),
    "standing_p50_ms": Number("ms", queue_numbers.places, queue_numbers.standing(0.5)),
    "standing_p95_ms": Number("ms", queue_numbers.places, queue_numbers.standing(0.95)),
    "drained_ms": Number("ms", queue_numbers.places, queue_numbers.drained),
    "dropped_near_peak_share": Number("1", queue_numbers.places, queue_numbers.dropped_near_peak),
    "largest_10ms_bps": Number("bit/s", queue_numbers.places, queue_numbers.largest_10ms),
    "dropped_at_changes": Number("packets", queue_numbers.places, queue_numbers.dropped_at_changes),
    "dropped_at_start": Number("packets", queue_numbers.places, queue_numbers.dropped_at_start),
    "refilled_ms": Number("ms", queue_numbers.places, queue_numbers.refilled),
    "phase_rate_bps": Number("bit/s", phases.of_calls, phases.rate_bps),
    "dropped_after_pause": Number("packets", queue_numbers.places, queue_numbers.dropped_after_pause),
    "filled_after_pause_ms": Number("ms", queue_numbers.places, queue_numbers.filled_after_pause),
    SHARED: Number("bit/s", shared, shared_rate),
    settled.RATE: Number("bit/s", _met, settled.settled_rate),
    settled.LATE: Number(
        "1", lambda run: dict.fromkeys((*_met(run), *phases.calls(run))), settled.late_share
    ),
}
"""docs/data.md says in words what each is. Spikes are the glitches that are no lost probe; `test_variation`
is the coefficient of variation of the test's own 10 ms bins at the bottleneck."""

TAILS: dict[str, Spread] = {
    "probe_rtt_ms": Spread("ms", _phases, _probe_rtts),
    "sojourn_ms": Spread("ms", lambda run: run.queues, _sojourns),
}
"""The probe's round-trip times: all of the idle phase, the largest under load; the largest sojourn times of
all packets of the bottleneck's queue, of a direction."""


class Measured:
    """Numbers worked out of a run's series, each when it is first asked for."""

    def __init__(self, run: Observed) -> None:
        self._run = run
        self._numbers: dict[tuple[str, str], float | None] = {}

    def value(self, name: str, of: str) -> float | None:
        """A number; None if it was not measured."""
        if (name, of) not in self._numbers:
            self._numbers[name, of] = None  # until it is known, for what is read on the way
            self._numbers[name, of] = NUMBERS[name].work_out(self._run, of)
        return self._numbers[name, of]

    def tail(self, name: str, of: str) -> Tail | None:
        """What is kept of a distribution; None if it was not measured."""
        return TAILS[name].work_out(self._run, of)


def numbers(run: Observed) -> Iterator[tuple[str, str, str, float]]:
    """Name, of what, unit and value of every number that the run has."""
    if isinstance(run.quantities, Kept):
        yield from ((*key, NUMBERS[key[0]].unit, value) for key, value in run.quantities.numbers.items())
        return
    for name, number in NUMBERS.items():
        for of in number.ofs(run):
            value = run.quantities.value(name, of)
            if value is not None:
                yield name, of, number.unit, float(value)


def tails(run: Observed) -> Iterator[tuple[str, str, str, Tail]]:
    """Name, of what, unit and what is kept of every distribution that the run has."""
    if isinstance(run.quantities, Kept):
        yield from ((*key, TAILS[key[0]].unit, tail) for key, tail in run.quantities.tails.items())
        return
    for name, spread in TAILS.items():
        for of in spread.ofs(run):
            tail = run.quantities.tail(name, of)
            if tail is not None:
                yield name, of, spread.unit, tail


@dataclass(frozen=True)
class Kept:
    """Numbers and tails that were read of a shard."""

    numbers: dict[tuple[str, str], float]
    tails: dict[tuple[str, str], Tail]

    def value(self, name: str, of: str) -> float | None:
        return self.numbers.get((name, of))

    def tail(self, name: str, of: str) -> Tail | None:
        return self.tails.get((name, of))


__all__ = ["NUMBERS", "TAILS", "Kept", "Measured", "numbers", "tails", "under"]
