"""The history of a source tree: a checkout of our own, and which commit is to be tried next.

git knows the commits; nothing is kept in the person's repository but the worktree, and their checkout, its
branches and a bisection of their own stay as they are. Which commits were tried, and what came of them, is
the caller's to keep.
"""

import contextlib
import fcntl
import hashlib
import math
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from narrows.errors import UsageError
from narrows.kernel.image import cache_dir


@dataclass(frozen=True)
class Commit:
    """One commit, in full, as people write it, and the first line of its message."""

    sha: str
    subject: str

    def __str__(self) -> str:
        return f"{self.sha[:12]} {self.subject}"


class History:
    def __init__(self, tree: Path) -> None:
        """UsageError where `tree` is not the top of a git tree."""
        self.tree = tree.expanduser().resolve()
        done = self._git("rev-parse", "--show-toplevel") if self.tree.is_dir() else None
        if done is None or done.returncode or Path(done.stdout.strip()).resolve() != self.tree:
            raise UsageError(
                "--tree is not the top of a git tree", where=str(tree), remedy="git clone, or cd to its top"
            )

    @property
    def place(self) -> Path:
        """Where commits are checked out, one after the other, so that a build finds objects."""
        return cache_dir() / "bisect" / hashlib.sha256(os.fsencode(self.tree)).hexdigest()[:12]

    def commit(self, revision: str) -> Commit:
        """A revision as git's words name it; UsageError for one that is none."""
        done = self._git("log", "-1", "--format=%H %s", "--end-of-options", revision, "--")
        if done.returncode:
            raise UsageError(f"{revision} names no commit", where=str(self.tree), remedy="git log --oneline")
        sha, _, subject = done.stdout.strip().partition(" ")
        return Commit(sha, subject)

    def refuse_unrelated(self, good: Commit, bad: Commit) -> None:
        """UsageError unless `good` is an ancestor of `bad`."""
        if good.sha == bad.sha:
            raise UsageError(
                "GOOD and BAD are the same commit", where=str(self.tree), remedy=f"git log {good}"
            )
        if self._git("merge-base", "--is-ancestor", good.sha, bad.sha).returncode:
            raise UsageError(
                f"GOOD ({good}) is no ancestor of BAD ({bad})",
                where=str(self.tree),
                remedy="to find what mended something, expect its opposite: GOOD is the older one",
            )

    def open(self, good: Commit, bad: Commit, verdicts: Mapping[str, str]) -> list[str]:
        """The commits of which one may be the first bad one, by how much trying them tells; the last known
        bad one at the end. `verdicts`: "good", "bad" or "skip" of those that were tried."""
        goods = {good.sha, *(sha for sha, verdict in verdicts.items() if verdict == "good")}
        left = self._halving(bad.sha, goods)
        while worse := next((sha for sha in left if verdicts.get(sha) == "bad" and sha != left[-1]), None):
            left = self._halving(worse, goods)
        return left

    def next(self, left: list[str], verdicts: Mapping[str, str]) -> str | None:
        """Which of those that are open to try; None if there is nothing to learn any more."""
        return next((sha for sha in left[:-1] if sha not in verdicts), None)

    @staticmethod
    def steps(left: list[str]) -> int:
        """About how many are still to be tried."""
        return math.ceil(math.log2(len(left))) if left else 0

    def before(self, commit: Commit) -> Commit:
        """Its (first) parent."""
        return self.commit(f"{commit.sha}^")

    def check_out(self, sha: str) -> Path:
        """The files of a commit, at `place`."""
        if (self.place / ".git").exists():
            done = self._git("-C", str(self.place), "checkout", "--quiet", "--force", "--detach", sha)
        else:
            self._git("worktree", "prune")
            self.place.parent.mkdir(parents=True, exist_ok=True)
            done = self._git("worktree", "add", "--quiet", "--force", "--detach", str(self.place), sha)
        if done.returncode:
            raise UsageError(f"git cannot check out {sha}: {done.stderr.strip()}", where=str(self.tree))
        return self.place

    def leave(self) -> None:
        self._git("worktree", "remove", "--force", str(self.place))

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """UsageError while another bisection of this tree goes on."""
        self.place.parent.mkdir(parents=True, exist_ok=True)
        with self.place.with_name(f".lock-{self.place.name}").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError(
                    "another narrows bisect of this tree goes on", where=str(self.tree), remedy="wait for it"
                ) from None
            yield

    def _halving(self, bad: str, goods: set[str]) -> list[str]:
        done = self._git("rev-list", "--bisect-all", bad, "--not", *sorted(goods))
        shas = [line.split()[0] for line in done.stdout.splitlines()]
        return [*(sha for sha in shas if sha != bad), bad]

    def _git(self, *words: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(["git", "-C", str(self.tree), *words], capture_output=True, text=True)
        except FileNotFoundError:
            raise UsageError("git does not run", remedy="apt-get install git") from None
