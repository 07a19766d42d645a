"""Fixtures of all tests: the machine's parts, and a core of its own for each of the test runner's workers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from narrows.engine import cores


def pytest_configure(config: pytest.Config) -> None:
    """One worker, one core: guests are pinned, and two on one core would take turns while another idles."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker.startswith("gw"):
        os.sched_setaffinity(0, cores.choose(sorted(os.sched_getaffinity(0)), 1))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need root are left out, with the reason, for anybody else."""
    if os.geteuid() == 0:
        return
    for item in items:
        if item.get_closest_marker("root"):
            item.add_marker(pytest.mark.skip(reason="needs root on this host"))


@pytest.fixture(scope="session")
def all_cores() -> set[int]:
    """Every core of the machine that this user may use."""
    before = os.sched_getaffinity(0)
    count = os.cpu_count() or 1
    try:
        os.sched_setaffinity(0, set(range(count)))
        return set(os.sched_getaffinity(0))
    finally:
        os.sched_setaffinity(0, before)


@pytest.fixture(scope="session")
def kernel() -> Path:
    """The built kernel. Missing, it is an error and not a reason to leave tests out."""
    from narrows.kernel import find

    return find().path


@pytest.fixture(scope="session")
def agent() -> Path:
    """The agent's binary."""
    from narrows.engine import agent_binary

    return agent_binary.find()[0]


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One directory for the whole session."""
    return tmp_path_factory.mktemp("results")
