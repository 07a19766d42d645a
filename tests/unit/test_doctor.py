"""`narrows doctor`: each check says what it found, and what is bad has a remedy."""

from __future__ import annotations

import json
import platform
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from narrows.cli.main import build_app
from narrows.engine import doctor, guest_disk


def test_on_this_host_every_check_answers_and_what_is_not_well_has_a_remedy() -> None:
    found = list(doctor.checks())
    assert len(found) == len(doctor.CHECKS)
    assert all(one.found for one in found)
    assert all((one.ok is True) == (one.remedy is None) for one in found)


def test_another_architecture_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert doctor.architecture().ok is False


def test_a_place_for_memory_that_cannot_be_written_is_bad(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(guest_disk, "memory_base", lambda: tmp_path / "none")
    one = doctor.memory_file()
    assert one.ok is False
    assert one.remedy


def test_a_small_place_for_memory_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest_disk, "free_bytes", lambda: 64 * 2**20)
    one = doctor.memory_file()
    assert (one.ok, one.found) == (False, "64 MiB free")


def test_a_limit_on_the_size_of_files_is_bad_and_named() -> None:
    program = "from narrows.engine import doctor; print(doctor.limits())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)),
    )  # fmt: skip
    assert "ok=False" in done.stdout
    assert "ulimit -f unlimited" in done.stdout


def test_the_command_says_by_its_status_whether_anything_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "CHECKS", (doctor.page_size,))
    assert CliRunner().invoke(build_app(), ["doctor"]).exit_code == 0
    monkeypatch.setattr(doctor, "CHECKS", (lambda: doctor.Check("x", False, "broken", "mend it"),))
    result = CliRunner().invoke(build_app(), ["doctor", "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {"name": "x", "ok": False, "found": "broken", "remedy": "mend it"}
