"""narrows as a wheel: installed in a virtual environment of its own, used where there is no checkout.

The kernel is the one of the cache, which its own wheel carries, so nothing is built twice.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab import CHECKOUT

pytestmark = [pytest.mark.kernel, pytest.mark.slow]


def do(*words: str | Path, cwd: Path, **more: str) -> str:
    """Run a command as a person would who has no checkout; its output."""
    hidden = ("PYTHON", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if not name.startswith(hidden)} | more
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of a wheel made from this checkout, in a new environment."""
    do("make", "wheel", cwd=CHECKOUT)
    place = tmp_path_factory.mktemp("wheel")
    do(sys.executable, "-m", "venv", place / "venv", cwd=place)
    both = sorted((CHECKOUT / "dist").glob("*.whl"))
    assert [wheel.name.split("-")[0] for wheel in both] == ["narrows", "narrows_kernel"]
    pip = place / "venv/bin/pip"
    do(pip, "install", "-q", "--require-hashes", "-r", CHECKOUT / "requirements.txt", cwd=place)
    do(pip, "install", "-q", "--no-deps", *both, cwd=place)
    return place / "venv/bin/narrows"


def test_two_wheels_run_an_experiment_by_its_name_without_compiler_tools_and_cache(
    installed: Path, tmp_path: Path
) -> None:
    bare = {"PATH": str(tmp_path), "NARROWS_CACHE": str(tmp_path / "cache")}
    do(installed, "run", "hello", cwd=tmp_path, **bare)
    assert "  ok  " in do(installed, "list", "results/hello", cwd=tmp_path)
    assert (tmp_path / do(installed, "report", "results/hello", cwd=tmp_path).strip()).exists()


def test_a_wheel_knows_its_studies_and_judges_their_evidence(installed: Path, tmp_path: Path) -> None:
    assert "corescale" in do(installed, "study", cwd=tmp_path)
    assert "not measured" not in do(installed, "claims", "T5", "--format", "md", cwd=tmp_path)
