"""What every twin needs of this host."""

from __future__ import annotations

import subprocess

import pytest


@pytest.fixture(scope="module", autouse=True)
def namespaces() -> None:
    done = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"network namespaces cannot be made here: {done.stderr.strip()}")
