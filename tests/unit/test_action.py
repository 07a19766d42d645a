"""action.yml: its steps are what the manual says, and nothing of a caller's is put into a script."""

from __future__ import annotations

import re
from pathlib import Path

ACTION = (Path(__file__).parents[2] / "action.yml").read_text()


def test_other_peoples_actions_are_pinned_by_their_hash() -> None:
    used = re.findall(r"uses: (\S+)", ACTION)
    assert used
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", one) for one in used)


def test_inputs_reach_a_script_by_its_environment_alone() -> None:
    scripts = re.findall(r"^      run: (?:\|\n((?:        .*\n)+)|(.*)\n)", ACTION, re.M)
    assert len(scripts) == 3
    assert all("${{" not in text for pair in scripts for text in pair)


def test_the_status_of_the_run_is_the_steps() -> None:
    assert "|| status=$?" in ACTION
    assert 'exit "$status"' in ACTION
