"""identify in a guest: what it says is what the experiment set."""

from __future__ import annotations

from pathlib import Path

import pytest

import lab
from narrows.store.command_run import read_text
from narrows.tools.identify import features, records, verdict

pytestmark = pytest.mark.kernel

RATE = 10e6
FRAME, PACKET = 1264, 1250
"""What the shaper and the buffer count of a packet of 1250 bytes, and the packet."""
LINK = """
link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue={queue})
tap("off")
test = identify(ways="{way}", mode="quick")
"""


def judged(directory: Path, queue: str, way: str) -> verdict.Verdict:
    (made,) = lab.make([lab.plan(directory, LINK.format(queue=queue, way=way))], directory / "out")
    made.ok()
    report = records.read(read_text(made.directory / "raw", "test.stdout"))
    assert report.rtt_s.min() == pytest.approx(0.020, rel=0.02)
    return verdict.judge(features.of(report, way))


def test_a_fifo_is_told_with_its_rate_and_its_buffer(tmp_path: Path) -> None:
    found = judged(tmp_path, "bfifo(limit='50 KB')", "up")
    f = found.features
    assert found.discipline.value == verdict.FIFO
    assert f.rate_bps == pytest.approx(RATE * PACKET / FRAME, rel=0.005)
    assert f.buffer_s == pytest.approx(50_000 * 8 / RATE, rel=0.05)


def test_flows_with_queues_of_their_own_and_an_aqm_are_told(tmp_path: Path) -> None:
    found = judged(tmp_path, "fq_codel()", "down")
    assert (found.per_flow.value, found.aqm.value, found.ecn.value) == ("yes", "yes", "marks")
    # The quick mode has no phase that tells FQ-CoDel from CAKE, and says so.
    assert not found.discipline.told
    assert "FQ-CoDel or CAKE" in found.discipline.why


@pytest.mark.parametrize(
    ("link", "part"),
    [
        ('rate="10 Mbit/s", base_rtt="400 ms"', "base RTT of 400 ms is too long for this mode"),
        ('rate="500 kbit/s", base_rtt="20 ms"', "the rate is too low for this mode (at least 2.0 Mbit/s"),
    ],
)
def test_a_path_that_the_quick_mode_cannot_judge_is_refused_with_the_reason(
    tmp_path: Path, link: str, part: str
) -> None:
    text = f'link = Link({link}, queue=pfifo(limit=50))\ntap("off")\n'
    text += 'test = identify(ways="down", mode="quick")\n'
    (made,) = lab.make([lab.plan(tmp_path, text)], tmp_path / "out")
    assert part in str(made.manifest["error"])
