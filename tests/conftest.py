"""Fixtures of all tests: the machine's parts, and a core of its own for each of the test runner's workers."""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Generator
from fnmatch import fnmatch
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

from narrows.engine import cores

COSTLY = ("test_wheel.py", "test_site_in_a_browser.py", "test_pages_in_a_browser.py")
"""Files with fixtures that take minutes (wheels, sites), which two workers would make twice."""

DECLARED_SKIPS = tomllib.loads(Path(__file__).with_name("declared_skips.toml").read_text())["skip"]


def pytest_configure(config: pytest.Config) -> None:
    """One worker, one core: guests are pinned, and two on one core would take turns while another idles."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker.startswith("gw"):
        os.sched_setaffinity(0, cores.choose(sorted(os.sched_getaffinity(0)), 1))


class OfFiles(LoadScopeScheduling):
    """One worker for all tests of a file whose fixtures take minutes, any worker for any other test."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if Path(file).name in COSTLY else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    return OfFiles(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need root are left out, with the reason, for anybody else."""
    if os.geteuid() == 0:
        return
    for item in items:
        if item.get_closest_marker("root"):
            item.add_marker(pytest.mark.skip(reason="needs root on this host"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A program that is missing is a failure: `scripts/setup.sh tests` installs all of them."""
    wanted = {program for marker in item.iter_markers("needs") for program in marker.args}
    if missing := sorted(program for program in wanted if shutil.which(program) is None):
        pytest.fail(f"{', '.join(missing)} not on PATH: scripts/setup.sh tests", pytrace=False)


def is_declared(test: str, reason: str) -> bool:
    """Whether a test may be skipped for this reason."""
    return any(
        reason.startswith(skip["reason"]) and any(fnmatch(test, pattern) for pattern in skip["tests"])
        for skip in DECLARED_SKIPS
    )


def fail_undeclared_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """A skip that declared_skips.toml does not have becomes a failure."""
    if report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    if not is_declared(report.nodeid, reason):
        report.outcome = "failed"
        report.longrepr = f"skipped, and tests/declared_skips.toml does not say that it may be: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    fail_undeclared_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    fail_undeclared_skip(report)
    return report


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
