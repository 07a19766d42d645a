"""The kernel's own tests of a qdisc pass in a guest."""

import re
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from narrows.cli.main import build_app

pytestmark = [pytest.mark.kernel, pytest.mark.slow]


def test_fq_codel_and_dualpi2_pass_their_own_tests() -> None:
    beside = Path.cwd() / "results"  # a guest has a /tmp of its own
    beside.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=beside) as out:
        done = CliRunner().invoke(build_app(), ["kernel", "selftest", "fq_codel", "dualpi2", "--out", out])
    assert done.exit_code == 0, done.output
    match = re.search(r"(\d+) of (\d+) tests of Linux [\d.]+ pass$", done.output.strip())
    assert match is not None
    assert int(match[1]) == int(match[2]) >= 25
