"""`narrows bisect`: which commit of a kernel's tree made an experiment's pass mark fail."""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from narrows import kernel
from narrows.cli.experiment import asked_of
from narrows.cli.format import console as make_console
from narrows.cli.format import counted, duration, key
from narrows.cli.kernel import show_build
from narrows.errors import KernelError, NarrowsError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from narrows.kernel.history import Commit, History

GOOD, BAD, SKIP = "good", "bad", "skip"
OF_GIT = {GOOD: 0, BAD: 1, SKIP: 125}
"""What `git bisect run` makes of an exit status; from 128 on it stops."""
STOP = 128
MARK_FAILS, RUN_FAILED, INTERRUPTED = 3, 1, 130
"""How `narrows run` ends."""
RECORD = "bisect.json"
NARROWS = (sys.executable, "-c", "from narrows.cli.main import main; main()")
"""A process of its own for each kernel: which one runs is in its environment."""


@dataclass(frozen=True)
class Tried:
    """What came of a tree: a verdict, why, its marks as `narrows run --json` writes them, and its time."""

    verdict: str
    why: str
    marks: list[dict[str, Any]]
    took_s: float


def bisect(
    words: Annotated[
        list[str], typer.Argument(metavar="[GOOD BAD] EXPERIMENT", help="Two revisions, the good one older.")
    ],
    tree: Annotated[Path, typer.Option(metavar="DIR", help="A git tree of Linux.")],
    out: Annotated[
        Path | None, typer.Option(help="Where results go; default: results/bisect-<experiment>.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="Compilers, and then guests, at once; default: one per core.")
    ] = len(os.sched_getaffinity(0)),
) -> None:
    """Find the commit of a kernel that made a pass mark (expect) of an experiment fail.

    \b
      narrows bisect v7.1 HEAD mine.py --tree ../linux
      git bisect run narrows bisect mine.py --tree .     # or let git do it: 0 good, 1 bad, 125 skip

    Builds each commit that it tries (what did not change is not compiled again), makes the experiment's
    runs on it and holds them against its marks. What does not build, or does not run, is skipped. Your
    checkout is not touched. Interrupt it at will: the same call goes on. It ends with the commit, the
    figure that moved, and a page of the runs before and after it.
    """
    from narrows.kernel.history import History

    if len(words) not in (1, 3):
        raise UsageError(
            f"{counted(len(words), 'word')} for [GOOD BAD] EXPERIMENT",
            remedy="narrows bisect v7.1 HEAD mine.py --tree ../linux",
        )
    file = Path(words[-1])
    if len(words) == 1:
        _for_git(file, tree.expanduser().resolve(), out, jobs)
    directory = _directory(file, out)
    question = _digest(file)
    history = History(tree)
    good, bad = history.commit(words[0]), history.commit(words[1])
    history.refuse_unrelated(good, bad)
    with history.alone():
        _Search(make_console(), history, file, directory, jobs, question).go(good, bad)


def _directory(file: Path, out: Path | None) -> Path:
    from narrows.spec.named import experiment_file

    return out or Path("results") / f"bisect-{experiment_file(file).stem}"


def _digest(file: Path) -> str:
    """Digests what is asked of each kernel: plans and marks. Refuses an experiment that cannot tell."""
    asked = asked_of(file)
    if not asked.expects:
        raise UsageError(
            "the experiment expects nothing", where=str(file), remedy='expect("…", below="20 ms")'
        )
    if any(plan.machine.kernel for plan in asked.plans):
        raise UsageError(
            "the experiment names kernels itself", where=str(file), remedy="leave out machine(kernel=…)"
        )
    text = "".join([*(plan.to_json() for plan in asked.plans), *map(repr, asked.expects)])
    return hashlib.sha256(text.encode()).hexdigest()


def try_tree(tree: Path, file: Path, directory: Path, jobs: int) -> Tried:
    """Build a tree, make the runs of an experiment on it, hold them against the marks."""
    started = time.monotonic()

    def tried(verdict: str, why: str, marks: list[dict[str, Any]] | None = None) -> Tried:
        return Tried(verdict, why, marks or [], time.monotonic() - started)

    try:
        show_build(jobs, named=f"tree:{tree}")
        image = kernel.named(f"tree:{tree}")
    except KernelError as error:
        said = error.message.splitlines()
        return tried(SKIP, f"does not build: {said[min(1, len(said) - 1)]}")  # the compiler's first error
    directory.mkdir(parents=True, exist_ok=True)
    marks_file = directory / "marks.json"
    done = subprocess.run(
        [*NARROWS, "run", str(file), "--out", str(directory), "--json", str(marks_file), "--jobs", str(jobs)],
        env=os.environ | {"NARROWS_KERNEL": str(image.directory)},
        capture_output=True,
        text=True,
    )
    (directory / "run.log").write_text(done.stdout + done.stderr)
    if done.returncode == INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
    if done.returncode not in (0, RUN_FAILED, MARK_FAILS):
        raise UsageError(done.stderr.strip().removeprefix("error: ") or "narrows run failed", where=str(file))
    if done.returncode == RUN_FAILED:
        return tried(SKIP, f"a run failed: {directory / 'run.log'}")
    marks = json.loads(marks_file.read_text())["marks"]
    failing = [mark for mark in marks if not mark["holds"]]
    why = "; ".join(shown(mark) for mark in failing[:3]) or f"{counted(len(marks), 'pass mark')} hold"
    return tried(BAD if failing else GOOD, why, marks)


def shown(mark: Mapping[str, Any]) -> str:
    from narrows.comparing.expectations import shown as with_unit

    found = "nothing" if mark["value"] is None else with_unit(mark["value"], mark["unit"])
    condition = f"{key(mark['condition'])} " if mark["condition"] else ""
    return f"{condition}{mark['mark']}: {found}"


def _for_git(file: Path, tree: Path, out: Path | None, jobs: int) -> None:
    """One tree as it is, with the exit statuses that `git bisect run` wants. Whatever goes wrong stops it: as
    status 1 it would call a good commit bad."""
    try:
        _digest(file)
        tried = try_tree(tree, file, _directory(file, out), jobs)
    except NarrowsError as error:
        from narrows.cli.main import print_error

        print_error(error)
        raise typer.Exit(STOP) from None
    except typer.Exit:
        raise  # it was interrupted
    except Exception:
        traceback.print_exc()
        raise typer.Exit(STOP) from None
    make_console().print(f"{tried.verdict}: {tried.why}")
    raise typer.Exit(OF_GIT[tried.verdict])


class _Search:
    """One search: what was tried is kept in the directory, so that it goes on after an interruption."""

    def __init__(
        self, console: Console, history: History, file: Path, directory: Path, jobs: int, question: str
    ) -> None:
        self.console, self.history, self.file = console, history, file
        self.directory, self.jobs, self.question = directory, jobs, question
        self.tried: dict[str, Tried] = {}
        with_record = directory / RECORD
        if with_record.is_file():
            kept = json.loads(with_record.read_text())
            if kept["question"] == question and kept["tree"] == str(history.tree):
                self.tried = {sha: Tried(**one) for sha, one in kept["tried"].items()}

    def go(self, good: Commit, bad: Commit) -> None:
        """Try commits until one is left, and say it."""
        for commit, wanted in ((good, GOOD), (bad, BAD)):
            tried = self._try(commit, "")
            if tried.verdict != wanted:
                raise UsageError(
                    f"{wanted.upper()} is not {wanted} but {tried.verdict} ({commit}): {tried.why}",
                    where=str(self.file),
                    remedy="name two commits between which a mark begins to fail",
                )
        verdicts = self._verdicts()
        left = self.history.open(good, bad, verdicts)
        while sha := self.history.next(left, verdicts):
            took = [one.took_s for one in self.tried.values()]
            each = statistics.median(took[1:] or took)  # the first one compiled everything
            steps = self.history.steps(left)
            rest = f"{counted(len(left) - 1, 'commit')} to tell apart, about {counted(steps, 'step')}, "
            self._try(self.history.commit(sha), rest + f"{duration(steps * each)} left")
            verdicts = self._verdicts()
            left = self.history.open(good, bad, verdicts)
        self._say([self.history.commit(sha) for sha in left])

    def _verdicts(self) -> dict[str, str]:
        return {sha: one.verdict for sha, one in self.tried.items()}

    def _try(self, commit: Commit, left: str) -> Tried:
        if commit.sha not in self.tried:
            if left:
                self.console.print(left)
            place = self.history.check_out(commit.sha)
            self.tried[commit.sha] = try_tree(place, self.file, self._of(commit), self.jobs)
            self._keep()
        tried = self.tried[commit.sha]
        self.console.print(f"{tried.verdict:4} {commit}\n     {tried.why}")
        return tried

    def _of(self, commit: Commit) -> Path:
        return self.directory / commit.sha[:12]

    def _keep(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        document = {
            "question": self.question,
            "tree": str(self.history.tree),
            "tried": {sha: asdict(one) for sha, one in self.tried.items()},
        }
        fresh = self.directory / f"{RECORD}.new"
        fresh.write_text(json.dumps(document, indent=1) + "\n")
        fresh.rename(self.directory / RECORD)

    def _say(self, left: list[Commit]) -> None:
        """The commit, or those of which it is one; what moved; the two pages."""
        culprit = left[-1]
        self.history.leave()
        if len(left) > 1:
            self.console.print(
                "one of these is the first bad commit; those before the last could not be tried:"
            )
            for commit in left:
                self.console.print(f"  {commit}")
            raise typer.Exit(1)
        self.console.print(f"first bad commit: {culprit}")
        before = self.history.before(culprit)
        was = {(m["mark"], key(m["condition"])): m for m in self._marks(before)}
        for mark in self._marks(culprit):
            if not mark["holds"]:
                old = was.get((mark["mark"], key(mark["condition"])))
                self.console.print(f"  before: {shown(old)}" if old else "  before: not tried")
                self.console.print(f"  after:  {shown(mark)}")
        for commit in (before, culprit):
            if commit.sha in self.tried:
                words = [*NARROWS, "report", str(self._of(commit))]
                drawn = subprocess.run(words, capture_output=True, text=True)
                last = (drawn.stdout.strip().splitlines() or [drawn.stderr.strip()])[-1]
                self.console.print(f"page of {commit.sha[:12]}: {last}")

    def _marks(self, commit: Commit) -> list[dict[str, Any]]:
        tried = self.tried.get(commit.sha)
        return tried.marks if tried else []
