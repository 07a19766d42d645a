"""C5, an open question: is UDP better for capacity, and responsiveness a better headline than bandwidth?"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np

from narrows.headers import TCP_IPV4_HEADERS_BYTES, UDP_IPV4_HEADERS_BYTES
from narrows.metrics.rate.utilisation import largest_goodput_bps
from narrows.runs.observed import Observed
from narrows.studies.operator.claims.cases import by_key, known, loaded_rtt_ms, reading_bps, runs_of
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, median_of, not_measured

FULL = 0.95  # of the largest payload rate that the shaper allows
SAME_BANDWIDTH = 1.05  # largest over smallest reading between the queues
DIFFERENT_RPM = 2.0
CLEAR_MS = 2.0  # two queues' loaded latency differs
ITEMS = {"tcp": "test.down", "udp": "test", "rpm": "test"}

CLAIM = Claim(
    "C5",
    "Open: is UDP better? Is responsiveness (RPM) a better headline than bandwidth?",
    "slide 10",
    "c5_udp_and_rpm.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Readings of each tool through each queue, alone and beside a flow, and what a sparse probe meets."""
    chosen = runs_of(runs, CLAIM.experiment)
    numbers: list[Number] = []
    filled: dict[tuple[str, str, str], float] = {}
    harm: dict[tuple[str, str, str], float] = {}
    rounds: dict[str, float] = {}
    for (tool, beside, queue), same in by_key(chosen, "tool", "beside", "queue").items():
        words = f"{tool} test, beside it {beside}, {queue}"
        key = (tool, beside, queue)
        late = known(loaded_rtt_ms(run, "probe", ITEMS.get(tool, "test"), 95) for run in same)
        found = [median_of("RTT of a sparse probe, p95", "ms", late, words)]
        if tool == "rpm":
            told = known(run.figure("test", "rpm") for run in same)
            found.append(median_of("responsiveness", "1/min", told, words))
            if told.size and beside == "nothing":
                rounds[queue] = float(np.median(told))
        else:
            shares = known(_filled(run, tool) for run in same)
            found.append(median_of("share of what the protocol can carry", "1", shares, words))
            if shares.size:
                filled[key] = float(np.median(shares))
        if tool == "udp":
            lost = known(run.figure("test", "iperf3_loss_ratio") for run in same)
            found.append(median_of("packets lost", "1", lost, words))
        if late.size:
            harm[key] = float(np.median(late))
        numbers += [number for number in found if number is not None]
    answers: dict[str, bool] = {}
    udp = {q: share for (tool, beside, q), share in filled.items() if tool == "udp" and beside == "flow"}
    if udp:
        answers[f"beside a flow UDP reads the capacity in {_of(udp, FULL)}"] = min(udp.values()) >= FULL
    pairs = [
        (q, late, harm["tcp", beside, q])
        for (tool, beside, q), late in harm.items()
        if tool == "udp" and beside == "nothing" and ("tcp", beside, q) in harm
    ]
    if pairs:
        worse = [q for q, udp_ms, tcp_ms in pairs if udp_ms > tcp_ms + CLEAR_MS]
        text = f"a third party waits longer (by {CLEAR_MS:g} ms) under UDP than under TCP in {len(worse)} of "
        answers[f"{text}{len(pairs)} queues ({', '.join(worse) or 'none'})"] = not worse
    tcp = {q: share for (tool, beside, q), share in filled.items() if tool == "tcp" and beside == "nothing"}
    if len(tcp) > 1 and len(rounds) > 1:
        bandwidth, rpm = _spread(tcp), _spread(rounds)
        text = f"between queues bandwidth differs {bandwidth:.2f}-fold, RPM {rpm:.1f}-fold"
        answers[text] = bandwidth <= SAME_BANDWIDTH and rpm >= DIFFERENT_RPM
        wrong, clear = _inversions(rounds, {q: harm["rpm", "nothing", q] for q in rounds})
        answers[f"RPM orders {clear - wrong} of {clear} pairs of queues as the probe does"] = wrong == 0
    if not answers:
        return not_measured(CLAIM, "no runs of two tools")
    return Verdict(
        CLAIM,
        graded(list(answers.values())),
        "; ".join(answers),
        tuple(numbers),
        "20 Mbit/s, base RTT 20 ms",
        ids(chosen),
    )


def _filled(run: Observed, tool: str) -> float | None:
    reading, mtu = reading_bps(run), run.link.mtu_bytes
    rate = run.rate_bps("down")
    headers = UDP_IPV4_HEADERS_BYTES if tool == "udp" else TCP_IPV4_HEADERS_BYTES
    possible = largest_goodput_bps(rate, mtu, headers)
    return None if reading is None else reading / possible


def _spread(found: dict[str, float]) -> float:
    return max(found.values()) / min(found.values())


def _inversions(rpm: dict[str, float], late_ms: dict[str, float]) -> tuple[int, int]:
    """Pairs that RPM orders the other way than the probe's latency does; and pairs that differ clearly."""
    clear = [(a, b) for a, b in combinations(sorted(rpm), 2) if abs(late_ms[a] - late_ms[b]) >= CLEAR_MS]
    return sum((rpm[a] - rpm[b]) * (late_ms[a] - late_ms[b]) > 0 for a, b in clear), len(clear)


def _of(found: dict[str, float], least: float) -> str:
    yes = [name for name, value in found.items() if value >= least]
    return f"{len(yes)} of {len(found)} queues ({', '.join(yes) or 'none'})"
