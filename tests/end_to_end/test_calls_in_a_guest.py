"""Calls in guests: each codec reaches the camera's lines on a link that bears them, more rate is never worse,
and what is wrong is one line.

Needs Chromium, ffmpeg and Node.js. The camera's picture is made once, as in use.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import lab
from narrows.runs.items import items
from narrows.runs.load import load_one
from narrows.runs.observed import Observed
from narrows.store.results import Results
from narrows.store.whose import Whose

pytestmark = [pytest.mark.kernel, pytest.mark.slow, pytest.mark.needs("chromium", "ffmpeg", "node")]
LINK = 'link = Link(rate="{rate} Mbit/s", base_rtt="50 ms", queue=bfifo(limit=bdp(2)))\n'
ALONE = 'c = call(codec="{codec}", initial="2 Mbit/s", sends="down", stop="6 s")\ntap("summary")'
END = """
import json, signal, socket, sys, time

role, at = sys.argv[1:]
host, port = at.split(":")


def say(kind, **what):
    print(json.dumps({"kind": kind, "at_ms": time.time() * 1e3, **what}), flush=True)


def end(*_):
    say("end", state=None)
    sys.exit(0)


signal.signal(signal.SIGINT, end)
open_one = socket.create_server if role == "callee" else socket.create_connection
opened = open_one((host, int(port)))
say("ice", state="checking")
while True:
    time.sleep(1)
"""


def made(tmp_path: Path, *texts: str) -> list[Observed]:
    plans = [lab.plan(tmp_path, text) for text in texts]
    names = [each.ok().directory.name for each in lab.make(plans, tmp_path / "out")]
    results = Results(tmp_path / "out")  # by id: without an axis that tells them apart only the newest counts
    return [run for name in names if (run := load_one(results, name)) is not None]


def test_each_codec_has_all_lines_within_five_seconds_at_2_5_mbit(tmp_path: Path) -> None:
    codecs = ("VP8", "VP9", "H264", "AV1")
    runs = made(tmp_path, *(LINK.format(rate=2.5) + ALONE.format(codec=codec) for codec in codecs))
    for codec, run in zip(codecs, runs, strict=True):
        assert run.figure("call_height", "down", Whose("c")) == 720, codec
        whole_after_ms = run.figure("call_whole_after_ms", "down", Whose("c"))
        assert whole_after_ms is not None, codec
        assert whole_after_ms <= 5000, codec
        assert run.figure("call_cpu_limited_s", None, Whose("c")) == 0, codec
        # What getStats says was lost, the queue dropped: nothing else loses.
        lost = run.figure("call_packets_lost", "down", Whose("c"))
        assert lost is not None
        assert lost <= (run.figure("call_packets_dropped", "down", Whose("c")) or 0), codec
        delay = run.figure("call_frame_delay_p50_ms", "down", Whose("c"))
        assert delay is not None
        assert delay > 25, "no frame is faster than light"
        (call,) = items(run)
        assert {"late_packets_share", "call_ssim"} <= {each.quantity for each in call.figures}


def test_a_call_alone_is_never_worse_at_a_higher_rate(tmp_path: Path) -> None:
    runs = made(tmp_path, *(LINK.format(rate=rate) + ALONE.format(codec="VP9") for rate in (1, 2, 8)))
    lines = [run.figure("call_height", "down", Whose("c")) or 0 for run in runs]
    like = [run.figure("call_ssim", "down", Whose("c")) or 0 for run in runs]
    assert lines == sorted(lines)
    assert like == sorted(like)
    assert lines[-1] == 720


def test_an_sfu_that_does_not_come_up_is_named(tmp_path: Path) -> None:
    (tmp_path / "mute").mkdir()
    (tmp_path / "mute" / "program.toml").write_text(
        'program = "mute"\nkind = "sfu"\nfiles = ["program.toml"]\nneeds = ["sh"]\n'
        'argv = ["sh", "-c", "exit 3"]\n'
    )
    plan = lab.plan(tmp_path, LINK.format(rate=8) + 'c = call(through="mute", stop="4 s")')
    (run,) = lab.make([plan], tmp_path / "out")
    with pytest.raises(AssertionError, match=r"c-sfu.*(ended|exited)"):
        run.ok()


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ('["python3", "@here/end.py", "@role", "@at"]', "never connected: ICE at the client: checking"),
        ('["sh", "-c", "exit 4"]', r"exited with 4"),
    ],
)
def test_ends_that_crash_or_never_connect_are_named(tmp_path: Path, argv: str, says: str) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "end.py").write_text(END)
    (folder / "program.toml").write_text(
        f'program = "mine"\nkind = "ends"\nfiles = ["end.py"]\nneeds = ["sh"]\nargv = {argv}\n'
    )
    plan = lab.plan(tmp_path, LINK.format(rate=8) + 'c = call(program="mine", stop="3 s")')
    (run,) = lab.make([plan], tmp_path / "out")
    with pytest.raises(AssertionError, match=says):
        run.ok()
