"""`narrows bisect` on a small tree: ten commits, of which one is planted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from narrows.cli import bisect
from narrows.cli.bisect import Tried
from narrows.errors import KernelError, UsageError
from narrows.kernel.history import History
from narrows.kernel.image import KernelImage

MARKED = """\"\"\"Does it stay short?\"\"\"
from narrows.spec import *
link = Link(rate="20 Mbit/s", base_rtt="20 ms", queue=fq_codel())
flow = bulk(cca="cubic", duration="5 s")
expect("sojourn_p95_ms", below="20 ms", source="bottleneck", direction="down")
"""
PLANTED = 7


def git(tree: Path, *words: str) -> str:
    who = {
        "GIT_AUTHOR_NAME": "n",
        "GIT_AUTHOR_EMAIL": "n@n",
        "GIT_COMMITTER_NAME": "n",
        "GIT_COMMITTER_EMAIL": "n@n",
    }
    done = subprocess.run(
        ["git", "-C", tree, *words], env=os.environ | who, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten commits; a file says the delay that a queue would have."""
    monkeypatch.setenv("NARROWS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "linux"
    place.mkdir()
    git(place, "init", "-q")
    for number in range(10):
        (place / "delay").write_text("90" if number >= PLANTED else "5")
        (place / "other").write_text(str(number))
        git(place, "add", ".")
        git(place, "commit", "-q", "-m", f"change {number}")
        git(place, "tag", f"v{number}")
    return place


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """In the place of building and running: reads the tree. Those of `SKIPPED` do not build."""
    made: list[str] = []

    def try_tree(tree: Path, file: Path, directory: Path, jobs: int) -> Tried:
        number = (tree / "other").read_text()
        made.append(number)
        if number in os.environ.get("SKIPPED", "").split():
            return Tried("skip", "does not build: net/x.c:1: error: y", [], 1.0)
        value = float((tree / "delay").read_text())
        mark = {
            "mark": "sojourn_p95_ms below 20 ms",
            "condition": {},
            "value": value,
            "unit": "ms",
            "holds": value < 20,
        }
        return Tried("good" if value < 20 else "bad", "1 pass mark", [mark], 1.0)

    monkeypatch.setattr(bisect, "try_tree", try_tree)
    monkeypatch.setattr(bisect, "NARROWS", ("echo",))
    return made


NARROWS = """
import json, os, sys
told = sys.argv[sys.argv.index("--json") + 1]
assert os.environ["NARROWS_KERNEL"] == "/built"
status = int(open("status").read())
mark = {"mark": "m", "condition": {}, "value": 1.0, "unit": "ms", "holds": status == 0}
if status in (0, 3):
    json.dump({"marks": [mark]}, open(told, "w"))
sys.stderr.write("error: why\\n")
sys.exit(status)
"""


@pytest.mark.parametrize(
    ("status", "verdict"), [(0, "good"), (3, "bad"), (1, "skip"), (2, None), (130, None)]
)
def test_a_tree_is_judged_by_how_a_run_on_its_kernel_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, verdict: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "status").write_text(str(status))
    monkeypatch.setattr(bisect, "NARROWS", (sys.executable, "-c", NARROWS))
    monkeypatch.setattr(bisect, "show_build", lambda *_given, **_named: None)
    built = KernelImage(Path("/built/linux"), "id", None, {})
    monkeypatch.setattr("narrows.kernel.named", lambda _name: built)
    asked = (tmp_path, tmp_path / "mine.py", tmp_path / "out", 1)
    if verdict is not None:
        assert bisect.try_tree(*asked).verdict == verdict
    else:
        with pytest.raises((UsageError, typer.Exit)):
            bisect.try_tree(*asked)


def test_what_does_not_build_is_skipped_with_the_compilers_first_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_given: object, **_named: object) -> None:
        raise KernelError(
            "compiling the kernel failed:\nnet/a.c:3:1: error: first\nnet/b.c:1:1: error: second"
        )

    monkeypatch.setattr(bisect, "show_build", fails)
    tried = bisect.try_tree(tmp_path, tmp_path / "mine.py", tmp_path / "out", 1)
    assert (tried.verdict, tried.why) == ("skip", "does not build: net/a.c:3:1: error: first")


def call(*words: str) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(bisect.bisect)
    done = CliRunner().invoke(app, list(words))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MARKED)
    return tmp_path / "mine.py"


def test_the_planted_commit_is_found_and_what_it_moved(tree: Path, tries: list[str], file: Path) -> None:
    status, said = call("v0", "v9", str(file), "--tree", str(tree))
    assert status == 0
    assert f"first bad commit: {git(tree, 'rev-parse', 'v7')[:12]} change 7" in said
    assert "before: sojourn_p95_ms below 20 ms: 5 ms" in said
    assert "after:  sojourn_p95_ms below 20 ms: 90 ms" in said
    assert "8 commits to tell apart, about 4 steps, 4.0 s left" in said
    assert len(tries) <= 2 + 4
    assert git(tree, "status", "--porcelain") == ""
    assert git(tree, "describe", "--tags") == "v9"
    assert len(git(tree, "worktree", "list").splitlines()) == 1


def test_it_goes_on_where_it_was_interrupted(
    tree: Path, tries: list[str], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = bisect.try_tree

    def interrupted(*given: object) -> Tried:
        if len(tries) == 3:
            raise typer.Exit(130)
        return reads(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(bisect, "try_tree", interrupted)
    assert call("v0", "v9", str(file), "--tree", str(tree))[0] == 130
    before = list(tries)
    monkeypatch.setattr(bisect, "try_tree", reads)
    status, said = call("v0", "v9", str(file), "--tree", str(tree))
    assert status == 0
    assert "change 7" in said.split("first bad commit")[1]
    assert set(tries[len(before) :]).isdisjoint(before)


@pytest.mark.parametrize(
    ("skipped", "found"), [("4 5", ["change 7"]), ("6 5", ["change 5", "change 6", "change 7"])]
)
def test_what_does_not_build_is_skipped(
    tree: Path, tries: list[str], file: Path, monkeypatch: pytest.MonkeyPatch, skipped: str, found: list[str]
) -> None:
    monkeypatch.setenv("SKIPPED", skipped)
    status, said = call("v0", "v9", str(file), "--tree", str(tree))
    end = said[said.index("first bad commit") :]
    assert status == (len(found) > 1)
    assert [name for name in (f"change {n}" for n in range(10)) if name in end] == found


def test_ends_that_do_not_differ_or_are_no_ends_are_refused(tree: Path, tries: list[str], file: Path) -> None:
    for words, why in {
        ("v0", "v5"): "BAD is not bad but good",
        ("v8", "v9"): "GOOD is not good but bad",
        ("v9", "v0"): "is no ancestor of",
        ("v9", "v9"): "the same commit",
        ("v0", "v11"): "v11 names no commit",
    }.items():
        with pytest.raises(UsageError, match=why):
            call(*words, str(file), "--tree", str(tree))


def test_what_cannot_be_asked_is_refused(tree: Path, tries: list[str], file: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="2 words for"):
        call("v0", str(file), "--tree", str(tree))
    with pytest.raises(UsageError, match="not the top of a git tree"):
        call("v0", "v9", str(file), "--tree", str(tmp_path))
    file.write_text(MARKED[: MARKED.index("expect")])
    with pytest.raises(UsageError, match="expects nothing"):
        call("v0", "v9", str(file), "--tree", str(tree))
    file.write_text(MARKED + 'machine(kernel="6.12")\n')
    with pytest.raises(UsageError, match="names kernels itself"):
        call("v0", "v9", str(file), "--tree", str(tree))


@pytest.mark.parametrize(("revision", "status"), [("v3", 0), ("v7", 1), ("v5", 125)])
def test_git_bisect_run_gets_its_statuses(
    tree: Path, tries: list[str], file: Path, monkeypatch: pytest.MonkeyPatch, revision: str, status: int
) -> None:
    monkeypatch.setenv("SKIPPED", "5")
    git(tree, "checkout", "-q", revision)
    assert call(str(file), "--tree", str(tree))[0] == status
    file.write_text("Link(")
    assert call(str(file), "--tree", str(tree))[0] == 128
    assert call("no_such_file.py", "--tree", str(tree))[0] == 128


def test_a_defect_does_not_call_a_good_commit_bad(
    tree: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_given: object) -> Tried:
        raise ZeroDivisionError

    monkeypatch.setattr(bisect, "try_tree", breaks)
    assert call(str(file), "--tree", str(tree))[0] == 128


def test_a_record_of_another_question_is_not_believed(tree: Path, tries: list[str], file: Path) -> None:
    call("v0", "v9", str(file), "--tree", str(tree))
    assert json.loads(Path("results/bisect-mine/bisect.json").read_text())["tree"] == str(tree)
    made = len(tries)
    file.write_text(MARKED.replace("20 ms", "30 ms"))
    call("v0", "v9", str(file), "--tree", str(tree))
    assert len(tries) == 2 * made


def test_two_at_once_are_refused(tree: Path, tries: list[str], file: Path) -> None:
    with History(tree).alone(), pytest.raises(UsageError, match="another narrows bisect"):
        call("v0", "v9", str(file), "--tree", str(tree))
