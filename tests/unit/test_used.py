"""What share of the link a reading is, and where that is not known."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import made_up_trials
import pytest

import lab
from labels import said
from narrows.runs import loaded

S = made_up_trials.S


@pytest.mark.parametrize(
    ("tool", "figure"),
    [('identify(ways="down")', "identify_rate_bps"), ('bulk(cca="cubic", stop="20 s")', "bulk_goodput_bps")],
)
def test_what_passes_a_full_queue_is_no_share_of_a_rate_that_moves(
    tmp_path: Path, tool: str, figure: str
) -> None:
    known = {}
    for name, change in (("steady", ""), ("moves", 'link.at("5 s", rate="4 Mbit/s")\n')):
        text = f'link = Link(rate="8 Mbit/s", base_rtt="50 ms", queue=pfifo(limit=128))\n{change}a = {tool}\n'
        (plan,) = lab.plans(tmp_path / name, text)
        made = made_up_trials.trial(plan, {"seed": "0"}, [6.0], settled_only=True)
        spans = {"a": {"start_ns": 0, "end_ns": 20 * S}}
        rate = said({("a", "down", figure): 4.5e6})
        known[name] = loaded.used(dataclasses.replace(made, manifest={"items": spans}, figures=rate), "down")
    assert known["steady"] == pytest.approx(4.5 / 8, abs=0.05)
    # 8 Mbit/s for 5 s and 4 Mbit/s for 15 s are 5 Mbit/s: right of what was carried all the time.
    assert known["moves"] == (None if "identify" in figure else pytest.approx(4.5 / 5, abs=0.06))
