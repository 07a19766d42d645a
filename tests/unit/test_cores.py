"""Processes on one machine run their guests on different cores while there are any."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from narrows.engine import cores

OTHER = """
import sys
from pathlib import Path
from narrows.engine import cores
cores.memory_base = lambda: Path(sys.argv[1])
print(cores.choose([3, 5, 7], int(sys.argv[2])), flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "memory_base", lambda: tmp_path)
    monkeypatch.setattr(cores, "_held", {})


def other(tmp_path: Path, count: int) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER, str(tmp_path), str(count)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_a_second_process_takes_the_next_core_and_the_first_ones_is_free_when_it_ends(tmp_path: Path) -> None:
    first, told = other(tmp_path, 1)
    assert told == "[3]"
    assert cores.choose([3, 5, 7], 1) == [5]
    assert cores.choose([3, 5, 7], 1) == [5]
    first.communicate("")
    assert cores.choose([3, 5, 7], 2) == [5, 3]


def test_where_all_are_held_guests_still_have_cores_each_its_own(tmp_path: Path) -> None:
    first, told = other(tmp_path, 3)
    assert told == "[3, 5, 7]"
    assert sorted(cores.choose([3, 5, 7], 3)) == [3, 5, 7]
    assert len(cores.choose([3, 5, 7], 5)) == 5
    first.communicate("")


def test_a_folder_that_cannot_be_made_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "memory_base", lambda: tmp_path / "missing" / "deeper")
    assert cores.choose([3, 5], 2) == [3, 5]
