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


def whole(directory: Path, link: str) -> verdict.Verdict:
    """Of a download in the whole mode."""
    text = f'link = {link}\ntap("off")\ntest = identify(ways="down")\n'
    (made,) = lab.make([lab.plan(directory, text)], directory / "out")
    made.ok()
    return verdict.judge(features.of(records.read(read_text(made.directory / "raw", "test.stdout")), "down"))


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
    assert found.discipline.value == "FQ-CoDel or CAKE"


HOME = (
    'Home(rate="29 Mbit/s", rate_up="7 Mbit/s", base_rtt="24 ms", queue={isp}, router=home_router({router}))'
)
CAKE = "egress=cake(), ingress=cake(ingress=True)"
LTE = 'Link(medium=lte(rate="23 Mbit/s"), base_rtt="47 ms", queue={})'
RED = 'limit="900 KB", min="70 KB", max="210 KB", avpkt="1000 B", burst=120, probability="10 %"'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("link", "named", "aqm"),
    [
        (LTE.format("codel()"), ["CoDel"], "yes"),
        (LTE.format("pfifo(limit=180)"), ["FIFO"], "no"),
        (HOME.format(isp="pfifo(limit=180)", router=CAKE), ["two queues", "CAKE"], "yes"),
        (
            HOME.format(isp="fq_codel()", router="ingress=pfifo(limit=90)"),
            ["two queues", "FIFO", "FQ-CoDel"],
            "yes",
        ),
        (f'Link(rate="61 Mbit/s", base_rtt="71 ms", queue=red({RED}))', ["PIE", "RED"], "yes"),
        ('Link(rate="7 Mbit/s", base_rtt="30 ms", queue=sfq())', ["SFQ"], "no"),
    ],
    ids=["CoDel on LTE", "a FIFO on LTE", "CAKE at home", "a FIFO behind FQ-CoDel", "RED", "SFQ at 7 Mbit/s"],
)
def test_media_homes_and_what_looks_alike_are_named(
    tmp_path: Path, link: str, named: list[str], aqm: str
) -> None:
    found = whole(tmp_path, link)
    assert all(name in str(found.discipline.value) for name in named), found.discipline
    assert found.aqm.value == aqm
    assert found.below.value == ("a medium, or jitter" if "medium" in link else found.below.value)


@pytest.mark.slow
def test_cake_that_counts_what_it_drops_is_told_with_the_rate_it_was_given(tmp_path: Path) -> None:
    """80 % of 29 Mbit/s are 23.2; of a frame of 1264 bytes 1250 are the packet: 22.94 Mbit/s."""
    found = whole(tmp_path, HOME.format(isp="pfifo(limit=180)", router=f'share="80 %", {CAKE}'))
    assert found.discipline.value == verdict.CAKE
    assert found.features.rate_bps == pytest.approx(0.8 * 29e6 * PACKET / FRAME, rel=0.01)


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
