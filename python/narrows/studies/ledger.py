"""The verdicts on all claims from stored runs, and the ledger, which has a row of each."""

import re
from collections.abc import Iterable, Mapping, Sequence

from narrows.judging import words
from narrows.judging.verdict import Number, Verdict
from narrows.runs.observed import Observed
from narrows.studies.covering import covering
from narrows.studies.find import all_claims, claim_ids, studies

DECIDING = 3
"""Numbers of a row of the ledger."""
BUILD_DIGITS = 8


def judge_all(runs: Sequence[Observed], only: Iterable[str] = ()) -> list[Verdict]:
    """The verdicts, study by study and in the order of the claims; `only` may spell claims in any way."""
    wanted = set(claim_ids(only)) or set(all_claims())
    return [
        covering(module.judge(runs), name, module, runs)
        for claim, (name, module) in all_claims().items()
        if claim in wanted
    ]


def measured(verdicts: Sequence[Verdict], runs: Sequence[Observed]) -> dict[str, str]:
    """For each study with a verdict that rests on runs: how many these are, when they were made, and on which
    kernel."""
    by_id = {run.run_id: run for run in runs}
    found = {}
    for name in studies():
        ids = dict.fromkeys(
            run_id for v in verdicts if all_claims()[v.claim.id][0] == name for run_id in v.run_ids
        )
        own = [by_id[run_id].manifest for run_id in ids if run_id in by_id]
        if own:
            found[name] = f"{len(own)}, made {_days(own)} on {_kernels(own)}"
    return found


def _days(manifests: Sequence[Mapping[str, object]]) -> str:
    days = sorted({str(m["written_at"])[:10] for m in manifests if m.get("written_at")})
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "on a day that is not known"


def _kernels(manifests: Sequence[Mapping[str, object]]) -> str:
    builds: dict[str, str] = {}
    releases: dict[str, None] = {}
    for manifest in sorted(manifests, key=lambda m: str(m.get("written_at", ""))):
        kernel = manifest.get("kernel")
        if isinstance(kernel, Mapping):
            releases[str(kernel.get("release") or "of an unknown release").split()[0]] = None
            builds[str(kernel.get("id") or "unknown")] = ""
    if not builds:
        return "a kernel that is not known"
    last = list(builds)[-1][:BUILD_DIGITS]
    of = f"build {last}" if len(builds) == 1 else f"{len(builds)} builds, the last {last}"
    return f"Linux {', '.join(releases)} ({of})"


def to_ledger(verdicts: Sequence[Verdict], told: Mapping[str, str], where: str, old: str = "") -> str:
    """docs/claims.md: a table for each study, a row for each claim. `told` says which runs
    they rest on (`measured`), `where` where these are.

    A claim that nothing was measured for, or that is not among `verdicts`, keeps the row of an `old` ledger,
    and a study of none that was measured what that says of its runs.
    """
    kept = _Old(old)
    judged = {v.claim.id: v for v in verdicts if v.verdict != "not measured" or v.claim.id not in kept.rows}
    lines = [
        "# Verdicts",
        "",
        "Each row is a claim of a paper, what our runs say of it, and the numbers that decide, with [95 %",
        "interval], number of values and conditions; without an interval there were too few values for one.",
        "This page is written from stored runs by `narrows claims --write docs/claims.md`. Pass marks are in",
        "the claims' own files and are never moved to make a claim hold.",
    ]
    for name, of in studies().items():
        ids = [claim for claim, (study, _) in all_claims().items() if study == name]
        rows = [_row(judged[one]) if one in judged else kept.rows.get(one, "") for one in ids]
        rows = [row for row in rows if row]
        if not rows:
            continue
        runs_of_it = f"Runs: {told[name]}; in `{where}`." if name in told else kept.runs.get(name)
        lines += [
            "",
            f"## {name}: {of.title}",
            f"{of.paper}. The rest: [README](../python/narrows/studies/{name}/README.md), and the page that "
            f"`narrows study {name}` draws.",
            *([runs_of_it] if runs_of_it else []),
            "",
            "| claim | verdict | runs | decided by |",
            "|---|---|---|---|",
            *rows,
        ]
    return "\n".join(lines) + "\n"


class _Old:
    """What a ledger of before has: the rows by claim, and of each study which runs they rest on."""

    def __init__(self, text: str) -> None:
        self.rows = {m[1]: m[0] for m in re.finditer(r"^\| ([A-Z]+\d+): .*\|$", text, flags=re.MULTILINE)}
        self.runs: dict[str, str] = {}
        for part in re.split(r"^## (?=\w+: )", text, flags=re.MULTILINE)[1:]:
            if line := re.search(r"^Runs: .*$", part, flags=re.MULTILINE):
                self.runs[part.partition(":")[0]] = line[0]


def deciding(verdict: Verdict) -> list[Number]:
    """The few numbers that a verdict turns on, of those that its claim says decide it: the smallest and the
    largest of the first quantity, and the largest of the next."""
    told = [n for n in verdict.numbers if n.at(verdict.claim.decided_by)]
    by_name: dict[str, list[Number]] = {}
    for number in told:
        by_name.setdefault(number.name, []).append(number)
    found: list[Number] = []
    for numbers in list(by_name.values())[:2]:
        ordered = sorted(numbers, key=lambda n: n.value)
        alike = words.number(ordered[0].value) == words.number(ordered[-1].value)
        found += [ordered[-1]] if found or alike else [ordered[0], ordered[-1]]
    return found[:DECIDING]


def _row(v: Verdict) -> str:
    numbers = "; ".join(str(n) for n in deciding(v)) or v.reason
    claim = f"{v.claim.id}: {v.claim.text} ({v.claim.source})"
    return f"| {claim} | **{v.verdict}** | {len(v.run_ids)} | {numbers} |"
