"""The ledger: every claim with its verdict, from all results below one directory; and how it is written."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType

from narrows.runs.flow_case import flow_cases
from narrows.runs.observed import Observed
from narrows.studies.aqm.claims import r01, r02, r03, r04, r05, r06, r07, r08, r09, r10, r11, r12
from narrows.studies.aqm.claims.evidence import PAPER_QUEUES, Facts, by, facts, usable
from narrows.studies.corescale.claims import (
    t01,
    t02,
    t03,
    t04,
    t05,
    t06,
    t07,
    t08,  # fmt: skip
)
from narrows.studies.operator.claims import c1, c2, c3, c4, c5
from narrows.studies.verdict import Verdict, Word, written

CLAIMS: tuple[ModuleType, ...] = (
    r01, r02, r03, r04, r05, r06, r07, r08, r09, r10, r11, r12, c1, c2, c3, c4, c5,
    t01, t02, t03, t04, t05, t06, t07, t08,
)  # fmt: skip
TESTS, MANY = "Speed tests", "Many flows"
PAPERS = {
    "R": "Ray et al., *Characterizing the Impact of Active Queue Management on Speed Test Measurements* "
    "(arXiv 2511.19213)",
    "C": "Ledesma and Livingood, *Dual Queue & AQM Interplay Between CCAs and Speed Tests* (IETF 123, ICCRG)",
    "T": "the thesis on fairness at scale whose chapter 3 is CoreScale (first at IMC 2021)",
}
"""By the first letter of a claim's id."""


def judge_all(runs: Sequence[Observed], only: Iterable[str] = ()) -> list[Verdict]:
    """The verdicts, in the order of the claims."""
    wanted = {name.upper() for name in only}
    chosen = [m for m in CLAIMS if not wanted or m.CLAIM.id in wanted]
    queues = {run.run_id: run.queue for run in runs if run.ok}
    return [covering(module.judge(runs), queues) for module in chosen]


def covering(verdict: Verdict, queues: Mapping[str, str]) -> Verdict:
    """A claim on every AQM cannot hold by some of them: what was not measured is named, and the word is
    weaker."""
    if not verdict.claim.id.startswith("R") or verdict.claim.id == "R12":
        return verdict
    measured = {queues[run_id] for run_id in verdict.run_ids}
    missing = [queue for queue in PAPER_QUEUES if queue not in measured]
    if not missing or verdict.verdict == "not measured":
        return verdict
    word: Word = "holds in part" if verdict.verdict == "holds" else verdict.verdict
    reason = f"{verdict.reason}; not measured: {', '.join(missing)}"
    return dataclasses.replace(verdict, verdict=word, reason=reason)


def to_json(verdicts: Sequence[Verdict]) -> str:
    """For machines: everything, the ids of all runs included."""
    return json.dumps([dataclasses.asdict(v) for v in verdicts], indent=1, ensure_ascii=False) + "\n"


def sample(runs: Sequence[Observed]) -> list[str]:
    """What was measured: how many runs, of which rates and repetitions. A line of each kind of runs."""
    many = flow_cases(runs)
    told = [_sample_of_tests(runs)] if usable(runs) or not many else []
    if many:
        repetitions = [len(same) for same in many.values()]
        scales = ", ".join(dict.fromkeys(case.scale for case in many))
        told.append(
            f"{MANY}: {sum(repetitions)} runs at {scales}, {len(many)} conditions, "
            f"{min(repetitions)} to {max(repetitions)} repetitions of each."
        )
    return told


def _sample_of_tests(runs: Sequence[Observed]) -> str:
    good = usable(runs)
    if not good:
        return f"{TESTS}: no run is stored, so nothing is judged."
    rates = sorted({facts(r).rate_mbps for r in good})
    counts = [len(same) for same in by(good, *(f.name for f in dataclasses.fields(Facts))).values()]
    span = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    failed = sum(not r.ok for r in runs)
    return (
        f"{TESTS}: {len(good)} runs at {', '.join(f'{rate:g}' for rate in rates)} Mbit/s, {len(counts)} "
        f"conditions, {span} repetitions of each (the paper has 10). Failed runs, not counted: {failed}."
    )


def to_markdown(verdicts: Sequence[Verdict], measured: Sequence[str], old: str = "") -> str:
    """For docs/claims.md; `measured` is what `sample` says. Of claims that nothing was measured for, and of
    those that are not in `verdicts`, the row and the section stay as an `old` ledger has them."""
    kept = _Old(old)
    judged = {
        v.claim.id: v for v in verdicts if v.verdict != "not measured" or v.claim.id not in kept.sections
    }
    rows = {name: _row(v) for name, v in judged.items()}
    sections = {name: _section(v) for name, v in judged.items()}
    kinds = {line.split(":")[0]: line for line in (*kept.measured, *measured)}
    ids = [m.CLAIM.id for m in CLAIMS if m.CLAIM.id in judged or m.CLAIM.id in kept.sections]
    lines = [
        "# Verdicts on the paper's claims",
        "",
        "Written by `narrows claims --write`; computed from stored runs only. Pass marks are constants in",
        "`python/narrows/claims/` and in the experiments; they are never moved to make a claim hold. "
        "Intervals are 95 %",
        "(medians by order statistics, deviations by bootstrap); without one, the values were too few.",
        "",
        *(f"- {letter}: {paper}" for letter, paper in PAPERS.items()),
        "",
        *(f"- {line}" for line in kinds.values()),
        "",
        "| claim | verdict | runs |",
        "|---|---|---|",
    ]
    lines += [rows.get(name) or kept.rows[name] for name in ids]
    text = "\n".join(lines) + "\n"
    return text + "".join(f"\n{sections.get(name) or kept.sections[name]}\n" for name in ids)


class _Old:
    """What a ledger of before has, by claim."""

    def __init__(self, text: str) -> None:
        head, *parts = re.split(r"^## (?=\w+: )", text, flags=re.MULTILINE)
        self.sections = {part.split(":")[0]: f"## {part.strip()}" for part in parts}
        self.rows = {
            match[1]: match[0]
            for match in re.finditer(r"^\| (\w+): .*\|$", head, flags=re.MULTILINE)
            if match[1] in self.sections
        }
        self.sections = {name: part for name, part in self.sections.items() if name in self.rows}
        kinds = rf"^- ((?:{TESTS}|{MANY}): .*)$"
        self.measured = [match[1] for match in re.finditer(kinds, head, flags=re.MULTILINE)]


def _row(v: Verdict) -> str:
    return f"| {v.claim.id}: {v.claim.text} ({v.claim.source}) | **{v.verdict}** | {len(v.run_ids)} |"


def _section(v: Verdict) -> str:
    lines = [
        f"## {v.claim.id}: {v.verdict}",
        "",
        f"{v.claim.text} ({v.claim.source} of the paper).",
        "",
        _sentence(v.reason),
    ]
    if v.numbers:
        lines += [
            "",
            "| quantity | value | interval | unit | n | conditions |",
            "|---|---|---|---|---|---|",
        ]
        for n in v.numbers:
            interval = "–" if n.low is None or n.high is None else f"{written(n.low)} … {written(n.high)}"
            lines.append(
                f"| {n.name} | {written(n.value)} | {interval} | {n.unit} | {n.n} | {n.conditions} |"
            )
    if v.claim.id.startswith("T") and v.conditions:
        lines += ["", f"Measured: {v.conditions}."]
    if v.cause:
        lines += ["", v.cause]
    lines += ["", f"Experiment: `experiments/{v.claim.experiment}`."]
    if v.run_ids:
        shown = " ".join(v.run_ids[:4])
        more = f" and {len(v.run_ids) - 4} more" if len(v.run_ids) > 4 else ""
        lines += [f"Runs: {shown}{more}."]
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
