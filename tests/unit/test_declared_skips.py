"""A skip that is not declared is a failure, wherever it is made; so is a program that is missing."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def outcome(directory: Path, text: str, *words: str) -> str:
    """What pytest prints of one file's tests under our conftest."""
    (directory / "test_it.py").write_text(f"import pytest\n{text}")
    (directory / "conftest.py").write_bytes((TESTS / "conftest.py").read_bytes())
    (directory / "declared_skips.toml").write_bytes((TESTS / "declared_skips.toml").read_bytes())
    words = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", *words)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        words, cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout


@pytest.mark.parametrize(
    "text",
    [
        "def test(): pytest.skip('no such luck')",
        "pytestmark = pytest.mark.skipif(True, reason='no such luck')\ndef test(): pass",
        "@pytest.fixture\ndef luck(): pytest.skip('no such luck')\ndef test(luck): pass",
        "pytest.skip('no such luck', allow_module_level=True)",
    ],
)
@pytest.mark.parametrize("words", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_an_undeclared_skip_fails(tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
    printed = outcome(tmp_path, text, *words)
    assert "declared_skips.toml does not say that it may be: no such luck" in printed
    assert "skipped" not in printed.splitlines()[-1]


def test_a_declared_reason_of_another_test_fails(tmp_path: Path) -> None:
    printed = outcome(tmp_path, "def test(): pytest.skip('root reads everything')")
    assert "may be: root reads everything" in printed


def test_a_declared_skip_is_one(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    text = "import pytest\ndef test(): pytest.skip('needs root on this host')"
    (tmp_path / "tests/test_other.py").write_text(text)
    assert "1 passed, 1 skipped" in outcome(tmp_path, "def test(): pass")


def test_a_missing_program_fails(tmp_path: Path) -> None:
    printed = outcome(tmp_path, "@pytest.mark.needs('sh', 'no-such-program')\ndef test(): pass")
    assert "no-such-program not on PATH" in printed
    assert "1 error" in printed or "1 failed" in printed


def test_every_declared_reason_is_one_that_a_test_gives() -> None:
    declared = tomllib.loads((TESTS / "declared_skips.toml").read_text())["skip"]
    sources = [path for path in TESTS.rglob("*.py") if path.name != Path(__file__).name]
    texts = "\n".join(path.read_text() for path in sources)
    assert declared
    for skip in declared:
        assert skip["reason"] in texts.replace("{REFUSALS}", "6"), skip["reason"]
        assert skip["when"]
