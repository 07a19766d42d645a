"""A contestant of `make shapers` that did nothing is not judged; what a guest cannot see is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import shapers

import lab
from narrows.engine.uml import check_tools
from narrows.errors import EngineError, UsageError


def ran(folder: Path, shaper: str, bandwidth: object) -> Path:
    """A run whose CAKE at home was set up with 40 Mbit/s and ended with this, as tc says it: in bytes."""
    home = {"ifb": "ifb4eth1", "down": {"rate_bps": 40_000_000}}
    plan = {"key": {"shaper": shaper}, "link": {"home": home}}
    cake = {"kind": "cake", "options": {"bandwidth": bandwidth}}
    (folder / "plan.json").write_text(json.dumps(plan))
    after = {"home": {"ifb4eth1": {"qdisc": [{"kind": "ingress", "options": {}}, cake]}}}
    (folder / "manifest.json").write_text(json.dumps({"tc_after": after}))
    return folder


@pytest.mark.parametrize(
    ("shaper", "bandwidth", "acted"),
    [
        ("cake-autorate", 5_000_000, False),  # 40 Mbit/s: it ended before it did anything
        ("cake-autorate", 3_750_000, False),  # 30 Mbit/s: it only said its base
        ("cake-autorate", 2_600_000, True),
        ("narrows", 3_750_000, True),
        ("narrows", 5_000_000, False),
        ("narrows", "unlimited", False),
        ("fixed-mean", 5_000_000, True),
    ],
)
def test_an_adaptive_shaper_has_changed_the_rate(
    tmp_path: Path, shaper: str, bandwidth: object, acted: bool
) -> None:
    assert (shapers.idle(ran(tmp_path, shaper, bandwidth), 30_000) is None) == acted


def test_a_copy_below_tmp_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cake-autorate.sh").write_text("")
    monkeypatch.setenv(shapers.ENV, str(tmp_path))
    monkeypatch.setattr("sys.argv", ["shapers.py", "--out", "/tmp/shapers"])
    with pytest.raises(UsageError, match="--out /tmp/shapers lies below /tmp, which a guest has of its own"):
        shapers.main()


def test_cake_autorate_runs_until_it_is_stopped_and_its_files_are_part_of_the_run() -> None:
    assert "ok_exits=()" in shapers.THEIRS
    assert 'depends=["{copy}", "{config}"]' in shapers.THEIRS


def test_a_file_below_tmp_is_refused_before_a_guest_boots(tmp_path: Path) -> None:
    script = tmp_path / "probe.sh"
    script.write_text("true\n")
    plan = lab.plan(tmp_path, f'link = Link(rate="5 Mbit/s")\nmine = command("sh {script}")\n')
    hidden = str(script).startswith("/tmp/")
    if not hidden:
        check_tools([plan], os.environ["PATH"])
        return
    with pytest.raises(EngineError, match=r"mine: .*probe\.sh lies below /tmp, which a guest has of its own"):
        check_tools([plan], os.environ["PATH"])
