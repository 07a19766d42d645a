"""R12: the questions of R1 to R9 for CAKE, PIE, FQ-PIE and DualPI2, and for mixed traffic. An open
question: it "holds" where the new queues do as the paper's do."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.metrics.statistics.arrays import Floats
from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import (
    median_rtts_ms,
    rates_mbps,
    rtt_tails_ms,
    utilisations,
    variations,
)
from narrows.studies.operator.claims.measures import by_key, runs_of
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, median_of, not_measured, yes_of

MAX_UNDERUSED = 0.875  # R1: under 700 of 800 Mbit/s
MIN_FULL = 0.95  # R3
MAX_TAIL_MS = 5  # R2, R4
MAX_SHARE_OF_UNLOADED = 0.8  # R5
CLEAR_RISE_MS = 2  # R6
STABLE = 0.1  # R7, R8
LATE = "80-240us"  # R1's 10 to 30 µs at 800 Mbit/s, for the bucket that lasts eight times as long
UNDERUSE = "r12_underuse.py"
SHAPED = ("text",)

CLAIM = Claim(
    "R12",
    "Open: the same questions for CAKE, PIE and DualPI2, and for mixed traffic",
    "section 5",
    "r12_new_aqms.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Each question's answer per queue; R1's from its own experiment."""
    runs = list(runs)
    chosen, late = runs_of(runs, CLAIM.experiment), runs_of(runs, UNDERUSE)
    small = [r for r in chosen if r.key.get("base_rtt") == "500us"]
    numbers: list[Number] = []
    answers: dict[str, dict[str, bool]] = {}
    _underuse(late, numbers, answers)
    for (queue, burst), some in by_key(small, "queue", "burst").items():
        crossed = {cross: same for (cross,), same in by_key(some, "cross").items()}
        _alone(queue, burst, crossed.get("no", []), numbers, answers)
        for cross in ("up", "mixed"):
            if crossed.get(cross) and crossed.get("no"):
                _loaded(queue, burst, cross, crossed["no"], crossed[cross], numbers, answers)
    if not answers:
        return not_measured(CLAIM, "no runs of the new queues")
    told = [f"{question}: {yes_of(marks)}" for question, marks in sorted(answers.items())]
    return Verdict(
        CLAIM,
        graded([mark for marks in answers.values() for mark in marks.values()]),
        "; ".join(told),
        tuple(numbers),
        "100 Mbit/s, base RTT 500 µs",
        ids([*chosen, *late]),
    )


def _underuse(late: list[Observed], numbers: list[Number], answers: dict[str, dict[str, bool]]) -> None:
    for (queue, timer), same in by_key(late, "queue", "timer").items():
        shares = utilisations(same, "down")
        number = median_of("utilisation without burst shaping", "1", shares, f"{queue}, timers {timer}")
        if number is not None:
            numbers.append(number)
            if timer == LATE:
                question = "R1 (late timers leave the link under-used without burst shaping)"
                answers.setdefault(question, {})[queue] = number.value <= MAX_UNDERUSED


def _alone(
    queue: str, burst: str, same: list[Observed], numbers: list[Number], answers: dict[str, dict[str, bool]]
) -> None:
    for direction in ("down", "up"):
        words = f"{queue}, burst {burst}, no cross traffic, {direction}load"
        name = f"{queue} {direction}"
        use, tail, steady = (
            _median(numbers, *what, f(same, direction), words)
            for what, f in (
                (("utilisation", "1"), utilisations),
                (("p99 - median of the test's RTT", "ms"), rtt_tails_ms),
                (("variation of throughput, 10 ms bins", "1"), variations),
            )
        )
        if burst in SHAPED and use is not None:
            answers.setdefault("R3 (full use with burst shaping)", {})[name] = use >= MIN_FULL
        if tail is not None:
            which = "R4 (calm with burst shaping)" if burst in SHAPED else "R2 (calm without)"
            answers.setdefault(which, {})[name] = tail <= MAX_TAIL_MS
        if direction == "up" and burst not in SHAPED and steady is not None:
            answers.setdefault("R7 (stable upload)", {})[name] = steady <= STABLE


def _loaded(
    queue: str,
    burst: str,
    cross: str,
    calm: list[Observed],
    same: list[Observed],
    numbers: list[Number],
    answers: dict[str, dict[str, bool]],
) -> None:
    words = f"{queue}, burst {burst}, cross {cross}, upload"
    rate = _median(numbers, "throughput", "Mbit/s", rates_mbps(same, "up"), words)
    before = _median(numbers, "throughput", "Mbit/s", rates_mbps(calm, "up"), f"{words}, without it")
    rtt = _median(numbers, "median RTT of the test", "ms", median_rtts_ms(same, "up"), words)
    rtt_before = _median(
        numbers, "median RTT of the test", "ms", median_rtts_ms(calm, "up"), f"{words}, without it"
    )
    steady = _median(numbers, "variation of throughput, 10 ms bins", "1", variations(same, "up"), words)
    kind = "cross traffic" if cross == "up" else "mixed traffic"
    if rate is not None and before is not None:
        answers.setdefault(f"R5 (throughput drops, {kind})", {})[queue] = (
            rate <= MAX_SHARE_OF_UNLOADED * before
        )
    if rtt is not None and rtt_before is not None:
        answers.setdefault(f"R6 (latency rises, {kind})", {})[queue] = rtt - rtt_before >= CLEAR_RISE_MS
    if steady is not None and burst in SHAPED:
        is_fair = queue in ("cake", "fq_pie")
        question = f"R8 (fair queues stable, others not, {kind})"
        answers.setdefault(question, {})[queue] = (steady <= STABLE) == is_fair


def _median(numbers: list[Number], name: str, unit: str, found: Floats, words: str) -> float | None:
    number = median_of(name, unit, found, words)
    if number is None:
        return None
    numbers.append(number)
    return float(np.median(found))
