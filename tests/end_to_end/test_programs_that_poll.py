"""iperf3 polls from its last interval until the other end answers: it costs little, and a limit says it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lab

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

S = 1_000_000_000
LINK = 'link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=fq_codel())\n'


def events(directory: Path, name: str) -> list[dict[str, Any]]:
    lines = (directory / "raw" / "agent.jsonl").read_text().splitlines()
    return [each for line in lines if (each := json.loads(line))["event"] == name]


def test_a_program_that_polls_for_its_peer_is_held_and_ends_when_the_answer_comes(tmp_path: Path) -> None:
    text = LINK + 'link.at("1.9 s", loss="100 %")\nlink.at("3.9 s", loss="0 %")\nt = iperf3(duration="2 s")\n'
    (made,) = lab.make([lab.plan(tmp_path, text)], tmp_path / "out")
    folder = made.ok().directory
    (polls,) = events(folder, "polls")
    # Its periodic timers are due once more a second after the last interval; from then on it polls.
    assert polls["item"] == "t"
    assert 3 * S <= polls["t_ns"] < 3.2 * S
    (end,) = (each for each in events(folder, "end") if each["item"] == "t")
    # Lost requests are sent again after doubled timeouts: the first after 3.9 s gets through, at most two
    # seconds later, and its answer takes two round trips. Holding it delays none of that.
    assert 3.9 * S < end["t_ns"] < 6 * S
    (cost,) = events(folder, "cost")
    assert cost["wakes"] < 3000


def test_a_limit_names_the_item_its_option_and_what_it_waited_for(tmp_path: Path) -> None:
    text = LINK + 'link.at("1.9 s", loss="100 %")\nt = iperf3(duration="2 s", time_limit="3 s")\n'
    (made,) = lab.make([lab.plan(tmp_path, text)], tmp_path / "out")
    fault = made.manifest["error"]
    assert (fault["stage"], fault["item"]) == ("limit", "t")
    assert "polls since 3.1" in fault["message"]
    assert "10.0.2.1:5201 has not acknowledged 1 bytes" in fault["message"]
    assert "a longer time_limit" in fault["message"]
