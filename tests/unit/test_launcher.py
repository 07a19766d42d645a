"""`./narrows` at the root: works from anywhere, hands on its arguments, and says what is missing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


def call(program: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *words], cwd=cwd, capture_output=True, text=True)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A checkout whose environment holds a `narrows` that prints its arguments."""
    place = tmp_path / "a clone"
    (place / "scripts").mkdir(parents=True)
    for name in (
        "narrows",
        "scripts/environment-id.sh",
        "requirements.txt",
        "requirements-dev.txt",
        "pyproject.toml",
    ):
        shutil.copy(CHECKOUT / name, place / name)
    return place


def set_up(place: Path) -> None:
    program = place / ".venv/bin/narrows"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    program.chmod(0o755)
    identity = subprocess.run([place / "scripts/environment-id.sh"], capture_output=True, text=True).stdout
    (place / ".venv/.narrows-setup").write_text(identity.strip())


def test_it_runs_from_any_directory_through_links_and_keeps_arguments_apart(
    clone: Path, tmp_path: Path
) -> None:
    set_up(clone)
    (tmp_path / "first").symlink_to("a clone/narrows")
    (tmp_path / "second").symlink_to(tmp_path / "first")
    for program in (clone / "narrows", tmp_path / "first", tmp_path / "second"):
        done = call(program, "run", "a b", "--only", "queue=sfq rate=1Gbit", "", cwd=Path("/"))
        assert (done.returncode, done.stdout) == (0, "<run><a b><--only><queue=sfq rate=1Gbit><>")


def test_without_an_environment_it_says_what_to_do(clone: Path) -> None:
    done = call(clone / "narrows", "list", cwd=clone)
    assert done.returncode == 2
    assert "not set up" in done.stderr
    assert f"make -C {clone} setup" in done.stderr


def test_other_requirements_or_another_place_make_the_environment_stale(clone: Path, tmp_path: Path) -> None:
    set_up(clone)
    moved = clone.rename(tmp_path / "moved")
    assert call(moved / "narrows", "list", cwd=moved).returncode == 2
    moved.rename(clone)
    assert call(clone / "narrows", "list", cwd=clone).returncode == 0
    with (clone / "requirements.txt").open("a") as file:
        file.write("one-more==1\n")
    done = call(clone / "narrows", "list", cwd=clone)
    assert done.returncode == 2
    assert "setup" in done.stderr
