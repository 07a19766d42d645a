"""M-Lab's own NDT7 programs in Go: those on PATH, else built with `go` from modules of an exact version.

What is built goes to the cache of narrows, outside the checkout. Changes no setting of Go: where modules come
from, and whether a checksum database is asked, is the user's own environment (GOPROXY, GOSUMDB, …).
"""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from narrows.engine.uml import GO_PROGRAMS
from narrows.kernel.image import cache_dir

WITHIN_S = 900


def place(program: str) -> Path:
    """The directory of a program; the test is skipped where there is neither it nor `go`."""
    found = shutil.which(program)
    if found is not None:
        return Path(found).parent
    package = GO_PROGRAMS[program]
    target = cache_dir() / "go" / f"{program}-{package.rpartition('@')[2]}"
    target.mkdir(parents=True, exist_ok=True)
    with (target / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the tests may run in several processes
        if not (target / program).exists():
            _build(package, target)
    return target


def _build(package: str, target: Path) -> None:
    """As `go install`, which also asks for the list of versions; a mirror need not have that."""
    if shutil.which("go") is None:
        pytest.skip(f"go is not on PATH, which would build {target.name}, nor is it")
    path, _, version = package.rpartition("@")
    host, owner, repository, *inside = path.split("/")
    module = f"{host}/{owner}/{repository}@{version}"
    source = json.loads(_go(["mod", "download", "-json", module], target))["Dir"]
    program = path.rpartition("/")[2]
    _go(["build", "-o", str(target / f".{program}"), "/".join([".", *inside])], Path(source))
    (target / f".{program}").rename(target / program)


def _go(words: list[str], directory: Path) -> str:
    """What it printed."""
    command = f"go {' '.join(words)}"
    try:
        done = subprocess.run(
            ["go", *words], cwd=directory, capture_output=True, text=True, timeout=WITHIN_S, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"{command} took more than {WITHIN_S} s")
    if done.returncode != 0:
        said = " ".join((done.stdout + done.stderr).split())[-400:]
        pytest.fail(f"{command} failed (GOPROXY, GOSUMDB and the like are passed on): {said}")
    return done.stdout
