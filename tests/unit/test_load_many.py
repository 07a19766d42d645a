"""What is read of a run of many flows whose tap was not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from narrows.runs.load_many import _was_there


@pytest.mark.parametrize(("tap", "there"), [({"dropped_packets": 0}, True), (None, False)])
def test_a_tap_that_was_not_there_saw_no_drops_and_did_not_see_none(
    tmp_path: Path, tap: dict[str, int] | None, there: bool
) -> None:
    taps = [{"hop": "bottleneck", "tap": tap}, {"hop": "other", "tap": {"dropped_packets": 1}}]
    (tmp_path / "manifest.json").write_text(json.dumps({"taps": taps}))
    assert _was_there(tmp_path, "bottleneck") is there
    assert not _was_there(tmp_path, "nowhere")
