"""What every twin needs of this host, and that it has it alone."""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


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
