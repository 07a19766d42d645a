"""A cache of kernels that one person built and others use: read-only it works, closed it is one line."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import lab
from narrows.kernel import find

pytestmark = [pytest.mark.kernel, pytest.mark.slow]


@dataclass(frozen=True)
class Sharing(lab.OrdinaryUser):
    """An ordinary user whose kernel lies in somebody else's cache."""

    cache: Path

    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in super().env().items() if name != "NARROWS_KERNEL"}
        return kept | {"NARROWS_CACHE": str(self.cache)}


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Sharing]:
    """The cache belongs to whoever runs the tests, and may only be read."""
    with lab.ordinary_user(tmp_path) as found, tempfile.TemporaryDirectory(prefix="narrows-cache-") as cache:
        kernels = Path(cache) / "kernel"
        kernels.mkdir()
        (kernels / find().directory.name).symlink_to(find().directory)
        kernels.chmod(0o555)
        Path(cache).chmod(0o555)
        yield Sharing(found.name, found.home, found.before, Path(cache))
        Path(cache).chmod(0o755)
        kernels.chmod(0o755)


def test_a_kernel_that_may_only_be_read_runs_experiments(user: Sharing) -> None:
    lab.experiment(user.home, lab.SMALL).chmod(0o644)
    assert find().id in user.narrows("kernel", "info").ok().out
    user.narrows("kernel", "build").ok()  # it is there: nothing to do
    user.narrows("run", "tiny.py").ok()


def test_a_closed_cache_is_one_line_with_the_command_that_opens_it(user: Sharing) -> None:
    if user.before == ():
        pytest.skip("the cache's owner may read what it closed to others")
    for closed in (user.cache, user.cache / "kernel"):
        before = closed.stat().st_mode
        closed.chmod(0o700)
        for words in (("kernel", "info"), ("kernel", "build"), ("kernel", "prune")):
            called = user.narrows(*words).failed()
            said = called.err.strip()
            assert said.startswith("error: "), called.err
            assert "the kernel in the cache cannot be read" in called.err
            assert f"chmod -R a+rX {user.cache}" in called.err
            assert len(said.splitlines()) == 2, called.err
        closed.chmod(before)
