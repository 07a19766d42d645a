"""Services in guests, with real players and pages: they share a link, each packet is accounted for, each CCA
is read back, and what is wrong is one line.

Needs Chromium, nginx, ffmpeg and Node.js. The video's ladder is made once, as in use.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

import lab
import narrows
from narrows.runs.load import load

PLAYERS = Path(narrows.__file__).parent / "tools/video/client"

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.slow,
    pytest.mark.needs("chromium", "nginx", "ffmpeg", "node", "npm"),
]
LINK = 'link = Link(rate="8 Mbit/s", base_rtt="50 ms", queue=pfifo(limit=128), services=2)\n'
FIGURES = (
    ("v", "video_frames"), ("v", "video_top_rung_playable"), ("v", "browser_processes_gone"),
    ("d", "download_batches"), ("p", "page_first_paint_ms"), ("p", "page_last_byte_ms"),
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _players() -> None:
    if not (PLAYERS / "node_modules").exists():
        subprocess.run(["npm", "ci", "--silent"], cwd=PLAYERS, check=True)


def test_three_services_share_a_link_and_no_packet_is_lost_from_sight(tmp_path: Path) -> None:
    text = LINK.replace("services=2", "services=3") + (
        'v = video(top="1 Mbit/s", cca="bbr", stop="6 s")\n'
        # the page of the video is there first: beside five flows it may take all the time
        'd = download(cca="reno", connections=5, chunk="20 KB", batches=True,'
        ' start="3 s", stop="6 s", host=2)\n'
        'p = page(kind="text", loads=1, every="6 s", cca="cubic", host=3)\n'
        'tap("summary")\nsample(tcp_info="500 ms", qdisc=None, link=None)'
    )
    (made,) = lab.make([lab.plan(tmp_path, text)], tmp_path / "out")
    stored = made.ok()
    # a browser's multicast reaches the router, which does not forward it
    assert all(hop["ok"] for hop in stored.manifest["conservation"])
    ccas = {}
    for server in ("server1", "server2", "server3"):
        lines = (stored.directory / f"raw/tcp-{server}.csv").read_text().splitlines()[1:]
        ccas[server] = {line.split(",")[5] for line in lines}
    assert ccas == {"server1": {"bbr"}, "server2": {"reno"}, "server3": {"cubic"}}
    contents = [json.loads(file.read_text()) for file in stored.directory.glob("raw/content-*.json")]
    assert {each["about"].split(" of")[0] for each in contents} == {"a video", "a sparse file", "the page"}
    (run,) = load(tmp_path / "out")
    figures = {name: run.figure(name, None, run.whose(item)) or 0.0 for item, name in FIGURES}
    assert figures["video_frames"] > 60
    assert figures["video_top_rung_playable"] == 1
    assert figures["browser_processes_gone"] == 0
    assert figures["download_batches"] > 2
    # 12 requests of about 500 KB over some 8 Mbit/s and 50 ms: not before two round trips
    assert figures["page_first_paint_ms"] > 100
    assert figures["page_last_byte_ms"] > 100


def test_a_download_over_quic_is_its_flow_with_the_cca_that_was_asked_for(tmp_path: Path) -> None:
    text = (
        'link = Link(rate="8 Mbit/s", base_rtt="50 ms", queue=pfifo(limit=64))\n'
        'd = download(http="3", client="browser", cca="reno", stop="5 s")\ntap("summary")'
    )
    (made,) = lab.make([lab.plan(tmp_path, text)], tmp_path / "out")
    stored = made.ok()
    assert all(hop["ok"] for hop in stored.manifest["conservation"])
    told = [json.loads(line) for line in (stored.directory / "raw/d-server.stdout").read_text().splitlines()]
    assert {line["cca"] for line in told if line["kind"] == "path"} == {"reno"}
    (run,) = load(tmp_path / "out")
    goodput = run.figure("download_goodput_bps", "down", run.whose("d"))
    assert goodput is not None
    assert 4e6 < goodput < 8e6


def test_a_call_connects(tmp_path: Path) -> None:
    text = (
        LINK
        + 'c = call(height=180, stop="5 s")\ntap("summary")\nsample(tcp_info=None, qdisc=None, link=None)'
    )
    (made,) = lab.make([lab.plan(tmp_path, text)], tmp_path / "out")
    made.ok()
    (run,) = load(tmp_path / "out")
    assert (run.figure("call_frame_rate", "down", run.whose("c")) or 0) > 5
    assert (run.figure("tap_departed", whose=run.whose("c", "bottleneck")) or 0) > 100


def test_a_service_of_ones_own_is_checked_by_a_command(tmp_path: Path) -> None:
    folder = lab.CHECKOUT / "experiments" / "my_feed"
    call = [lab.NARROWS, "service", "check", folder, "--seconds", "5", "--results", tmp_path / "out"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "my_feed_post_ms" in done.stdout
    said = r"first-server sent \d+ bytes over \d+ connections: cubic, no ECN, MSS 1448 bytes"
    assert re.search(said, done.stdout), done.stdout
