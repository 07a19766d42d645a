"""What every twin needs of this host, and that it has it alone."""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import lab


@pytest.fixture(scope="module", autouse=True)
def namespaces() -> None:
    done = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"network namespaces cannot be made here: {done.stderr.strip()}")


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """One twin at a time: the tests may run in several processes, share the host's namespaces and trace
    instances, and look whether any is left."""
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


COMPARISONS = 3
"""In real time, other work on the machine is in the numbers; in virtual time there is nothing to repeat."""

REFUSALS = 6
"""As often a host may fail to hold the plan's rate before there is nothing to compare."""


@pytest.fixture
def compare() -> Callable[[Callable[[int], list[str]]], None]:
    """Compares until one real run agrees: a call with the attempt's number gives what differs too much.

    A twin that disagreed and never agreed fails. A host that failed its own calibration `REFUSALS` times and
    was never compared is too disturbed to be anybody's twin: the test is left out with what calibration said.
    """

    def compared(once: Callable[[int], list[str]]) -> None:
        problems: list[list[str]] = []
        refusals: list[str] = []
        while len(problems) < COMPARISONS and len(refusals) < REFUSALS:
            try:
                differences = once(len(problems) + len(refusals))
            except lab.Refused as refused:
                refusals.append(str(refused))
                continue
            if not differences:
                return
            problems.append(differences)
        if problems:
            pytest.fail(f"{len(problems)} times outside the tolerance: {problems}; refused: {refusals}")
        pytest.skip(f"this host did not hold the plan in {REFUSALS} attempts: {refusals[-1]}")

    return compared
