"""The answers as rows and as JSON: what a terminal, a program and the page show."""

from dataclasses import asdict
from typing import Any

import numpy as np

from narrows.tools.identify import features, records
from narrows.tools.identify.verdict import Answer, Verdict, judge

CANNOT = "cannot tell"
QUESTIONS = (
    ("discipline", "discipline"),
    ("per_flow", "a queue for each flow"),
    ("aqm", "AQM"),
    ("drops_at", "drops at"),
    ("classes", "code points"),
    ("ecn", "ECN"),
    ("policer", "policer"),
    ("below", "below the queue"),
)


def verdicts(report: records.Report) -> list[Verdict]:
    """One of each way that was probed."""
    return [judge(features.of(report, way)) for way in report.ways]


def measured(report: records.Report, verdict: Verdict) -> list[tuple[str, str, str]]:
    """What is a number: (what, value, from what)."""
    f = verdict.features
    rtt = f"{report.rtt_s.min() * 1e3:.2f} ms" if len(report.rtt_s) else CANNOT
    rate = CANNOT if f.rate_bps is None else f"{f.rate_bps / 1e6:.2f} Mbit/s"
    passed = "IP packets of 1250 bytes that pass the full queue"
    if f.rate_bps is not None and not verdict.policer.told:
        rate, passed = f"at least {rate}", "IP packets of 1250 bytes, without a bottleneck that was met"
    elif f.rate_bps is not None and f.is_outrun:
        rate = f"at least {rate}"
        passed = f"bursts of {f.burst_packets} packets, which the sender's timer makes, fill the buffer"
    rows = [("base RTT", rtt, f"the smallest of {len(report.rtt_s)} idle probes"), ("rate", rate, passed)]
    if f.buffer_s is None or f.rate_bps is None:
        rows.append(("buffer", CANNOT, "nothing was dropped in the phase fill"))
    elif verdict.aqm.value == "no":
        held = f.buffer_s * f.rate_bps / 8
        rows.append(("buffer", f"{f.buffer_s * 1e3:.1f} ms, {held / 1e3:.0f} kB", "the longest wait"))
    else:
        rows.append(("longest wait", f"{f.buffer_s * 1e3:.1f} ms", "the phase fill; the buffer is no less"))
    return rows


def rows(report: records.Report, verdict: Verdict) -> list[tuple[str, str, str, str]]:
    """(what, value, how sure, from what) of one way, the discipline first."""
    found = []
    for name, words in QUESTIONS:
        answer: Answer = getattr(verdict, name)
        sure = f"{answer.sure:.0%}" if answer.told else "–"
        found.append((words, answer.value or CANNOT, sure, answer.why))
    numbers = [(what, value, "–", why) for what, value, why in measured(report, verdict)]
    return [found[0], *numbers, *found[1:]]


def as_json(report: records.Report, verdicts: list[Verdict]) -> dict[str, Any]:
    """All of it. Not known is null."""
    ways: dict[str, Any] = {}
    for verdict in verdicts:
        answers = {name: asdict(getattr(verdict, name)) for name, _ in QUESTIONS}
        ways[verdict.way] = {**answers, "features": asdict(verdict.features)}
    return {
        "server": report.server,
        "mode": report.mode,
        "base_rtt_ms": float(report.rtt_s.min()) * 1e3 if len(report.rtt_s) else None,
        "median_rtt_ms": float(np.median(report.rtt_s)) * 1e3 if len(report.rtt_s) else None,
        "ip_bytes": sum(phase.ip_bytes for phase in report.phases),
        "elapsed_s": report.elapsed_s,
        "notes": list(report.notes),
        "ways": ways,
    }
