"""Do the standards find planted faults? Copies of the kernel's CUBIC and BBR with one edit each
(tests/modules/mutations), each held against the unchanged copy: what holds of that and not of the mutation
has found it.

    .venv/bin/python scripts/mutations.py                     # the table, into docs/standards.md
    .venv/bin/python scripts/mutations.py --replays 100       # the unchanged ones under so many seeds
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from narrows import kernel
from narrows.cli.standard import maker
from narrows.spec.axis import SEED
from narrows.standards import written
from narrows.standards.contestant import Contestant, named
from narrows.standards.session import Outcome, judge, load, planned, suite

HERE = Path(__file__).resolve().parents[1]
EDITS = HERE / "tests/modules/mutations/mutations.toml"
PAGE = HERE / "docs/standards.md"
BEGIN, END = "<!-- mutations: scripts/mutations.py -->", "<!-- end of mutations -->"
SUITES = {"cubic": "cubic", "bbr": "bbr-draft"}
Mark = tuple[str, str, str]
"""A criterion, the words of a mark, and its conditions."""


def copy(of: str, name: str, out: Path, old: str = "", new: str = "") -> Path:
    """A copy of the kernel's file under another name, with one edit."""
    text = (kernel.find().tree / f"net/ipv4/tcp_{of}.c").read_text()
    for before, after in (*([(old, new)] if old else []), (f'.name\t\t= "{of}"', f'.name\t\t= "{name}"')):
        if text.count(before) != 1:
            raise SystemExit(f"{name}: {before!r} is {text.count(before)} times in tcp_{of}.c, not once")
        text = text.replace(before, after)
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"tcp_{name}.c"
    file.write_text(text)
    return file


def tried(who: Contestant, of: str, out: Path, seeds: int = 1) -> Outcome:
    """All runs of its standard, judged."""
    standard = suite(SUITES[of])
    directory = out / standard.name / who.name
    runs, failed = maker(None, None)(planned(standard, who, full=False, seeds=seeds), directory)
    return judge(standard, who, load(runs, directory), failed, runs)


def passed(outcome: Outcome) -> Mapping[Mark, bool]:
    """Whether each mark passes."""
    return {
        (verdict.claim.id, one.mark.words, written.shown(one.number).partition(":")[0]): one.passes
        for criterion, verdict in outcome.judged
        for one in written.decided(criterion, verdict)
    }


def found(unchanged: Mapping[Mark, bool], now: Mapping[Mark, bool]) -> dict[str, list[str]]:
    """By criterion, the marks that pass of the unchanged and not of this; a number that is gone fails too."""
    by: dict[str, list[str]] = {}
    for mark, passes in unchanged.items():
        if passes and not now.get(mark, False):
            by.setdefault(mark[0], []).append(mark[1])
    return by


def table(mutations: Sequence[Mapping[str, str]], out: Path) -> list[str]:
    """A line for each mutation, and how many were found."""
    base = {of: passed(tried(named(str(copy(of, f"{of}_copy", out))), of, out)) for of in SUITES}
    rows, count = [], 0
    for number, each in enumerate(mutations):
        name = f"{each['of']}_m{number}"  # the kernel takes 15 characters
        file = copy(each["of"], name, out, each["old"], each["new"])
        outcome = tried(named(str(file)), each["of"], out)
        if outcome.failed:  # a run that fails shows no fault of the congestion control
            raise SystemExit(f"{each['name']}: {next(iter(outcome.failed.values()))}")
        by = found(base[each["of"]], passed(outcome))
        count += each["fits"] in by
        others = ", ".join(one for one in by if one != each["fits"])
        said = f"{each['fits']} ({'; '.join(by[each['fits']])})" if each["fits"] in by else "not found"
        rows.append((each["of"], each["what"], said, others or "–"))
        print(*rows[-1], sep=" | ", flush=True)
    head = f"Of {len(rows)} planted faults {count} are found by the criterion that fits."
    lines = written.table(("in", "the edit", "found by", "also by"), rows)
    return [head, "", *lines]


def replays(out: Path, seeds: int) -> list[str]:
    """The unchanged copies under other seeds, each seed judged by itself: which marks of the first fail."""
    total, fails = 0, Counter[Mark]()
    for of in SUITES:
        outcome = tried(named(str(copy(of, f"{of}_copy", out))), of, out, seeds)
        total += len(outcome.runs)
        by: dict[str, list[object]] = {}
        for run in outcome.runs:
            by.setdefault(run.key[SEED], []).append(run)
        every = {seed: passed(judge(outcome.suite, outcome.tried, runs, {}, {})) for seed, runs in by.items()}
        for now in every.values():
            fails.update(mark for mark, passes in every["0"].items() if passes and not now.get(mark, False))
    told = [f"{' '.join(mark[:2])}: {n}" for mark, n in fails.items()]
    return [
        f"{total} replays of the unchanged copies ({seeds} seeds): {len(fails)} marks that ever fail",
        *told,
    ]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("--replays", type=int, default=0, metavar="SEEDS")
    words.add_argument("--only", default="", help="names that begin so")
    words.add_argument("--out", type=Path, default=HERE / "results/mutations")
    asked = words.parse_args()
    mutations = [
        each for each in tomllib.loads(EDITS.read_text())["mutation"] if each["name"].startswith(asked.only)
    ]
    if asked.replays:
        print("\n".join(replays(asked.out, asked.replays)))
        return
    lines = table(mutations, asked.out)
    print(lines[0])
    if asked.only or not PAGE.is_file():
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}")


if __name__ == "__main__":
    sys.exit(main())
