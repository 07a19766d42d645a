"""What a session with real hosts says when this machine, and no host, is to blame."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from narrows.engine.ssh.parts import Part
from narrows.engine.ssh.session import Agent, Session
from narrows.engine.types import Limits
from narrows.plan.model import Calibration


class Child:
    """A connection that brings one file and ends."""

    def __init__(self, said: bytes) -> None:
        self.stdout, self.stderr = io.BytesIO(said), io.BytesIO(b"")


@pytest.mark.parametrize(
    ("bytes_there", "why"), [(1 << 20, "cannot be kept here: No space left on device"), (10, "is gone")]
)
def test_a_full_disk_here_is_told_from_a_host_that_is_gone(
    tmp_path: Path, bytes_there: int, why: str
) -> None:
    (tmp_path / "tap.csv").symlink_to("/dev/full" if bytes_there > 10 else "/dev/null")
    child = Child(b'{"file": "tap.csv", "bytes": 1048576}\n' + bytes(bytes_there))
    part = Part("router", (), {}, frozenset(), frozenset(), frozenset())
    one = Agent(part, "lab1", cast(Any, child), tmp_path)
    session = Session(
        [one], cast(Calibration, None), Limits(), threading.Event(), lambda _: None, tmp_path / "console"
    )
    session._read(one, tmp_path / "console")
    assert why in session._gone(one).message
