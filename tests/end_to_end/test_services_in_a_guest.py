"""Services in guests, with real players and pages: they share a link, each packet is accounted for, each CCA
is read back, and what is wrong is one line.

Needs Chromium, nginx, ffmpeg and Node.js. The video's ladder is made once, as in use.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import lab
import narrows
from narrows.runs.load import load
from narrows.runs.pair_shares import summaries
from narrows.runs.trial import trials

PLAYERS = Path(narrows.__file__).parent / "tools/video/client"
NEEDED = ("chromium", "nginx", "ffmpeg", "node", "npm")

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.slow,
    pytest.mark.skipif(
        any(shutil.which(name) is None for name in NEEDED), reason=f"needs {', '.join(NEEDED)}"
    ),
]
LINK = 'link = Link(rate="8 Mbit/s", base_rtt="50 ms", queue=pfifo(limit=128), services=2)\n'


@pytest.fixture(scope="module", autouse=True)
def _players() -> None:
    if not (PLAYERS / "node_modules").exists():
        subprocess.run(["npm", "ci", "--silent"], cwd=PLAYERS, check=True)


def test_a_video_and_a_batched_download_share_a_link_and_no_packet_is_lost_from_sight(tmp_path: Path) -> None:
    text = LINK + (
        'v, d = pairs({"video": video(top="1 Mbit/s", cca="bbr", stop="8 s")}, {"batches": '
        'download(cca="reno", connections=5, chunk="100 KB", batches=True, stop="8 s")})\n'
        'tap("summary")\nsample(tcp_info="500 ms", qdisc=None, link=None)'
    )
    (plan,) = (one for one in lab.plans(tmp_path, text) if one.key["pair"] == "video+batches")
    (made,) = lab.make([plan], tmp_path / "out")
    run = made.ok()
    # a browser's multicast reaches the router, which does not forward it
    assert all(hop["ok"] for hop in run.manifest["conservation"])
    ccas = {}
    for server in ("server1", "server2"):
        lines = (run.directory / f"raw/tcp-{server}.csv").read_text().splitlines()[1:]
        ccas[server] = {line.split(",")[5] for line in lines}
    assert ccas == {"server1": {"bbr"}, "server2": {"reno"}}
    (content,) = [
        json.loads(file.read_text())
        for file in run.directory.glob("raw/content-*.json")
        if "video" in file.read_text()
    ]
    assert content["programs"]["ffmpeg"].startswith("ffmpeg version")
    (one,) = trials(load(tmp_path / "out"))
    assert one.faults() == ()
    (pair,) = summaries([one])
    assert [side.service for side in pair.sides] == ["video", "batches"]
    assert all((side.rate_mbps or 0) > 0.1 for side in pair.sides)
    assert one.run.figure("v", "video_frames", None) > 100  # type: ignore[operator]
    assert one.run.figure("d", "download_batches", None) > 2  # type: ignore[operator]


def test_a_call_connects_and_a_page_is_loaded(tmp_path: Path) -> None:
    text = LINK + (
        'c = call(most="1.5 Mbit/s", height=360, stop="7 s")\n'
        'p = page(kind="text", loads=1, every="8 s", cca="bbr", host=2)\n'
        'tap("summary")\nsample(tcp_info=None, qdisc=None, link=None)'
    )
    (made,) = lab.make([lab.plan(tmp_path, text)], tmp_path / "out")
    made.ok()
    (run,) = load(tmp_path / "out")
    assert run.figure("c", "call_frame_rate") > 5  # type: ignore[operator]
    assert run.figure("bottleneck/c", "tap_departed") > 100  # type: ignore[operator]
    first, last = (run.figure("p", f"page_{name}_ms", None) for name in ("first_paint", "last_byte"))
    # 12 requests of about 500 KB over 8 Mbit/s and 50 ms: not before two round trips, nor after some seconds
    assert 100 < first < 5_000  # type: ignore[operator]
    assert 100 < last < 5_000  # type: ignore[operator]


def test_a_service_of_ones_own_is_checked_by_a_command_and_a_page_that_never_loads_is_one_line(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "my_feed"
    shutil.copytree(lab.CHECKOUT / "experiments" / "my_feed", folder)
    call = [lab.NARROWS, "service", "check", folder, "--seconds", "5", "--results", tmp_path / "out"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "my_feed_post_ms" in done.stdout
    assert "congestion control of its server's connections: cubic" in done.stdout
    run = folder / "client" / "run.mjs"
    run.write_text(
        run.read_text().replace(
            "const at = new URL(asked.url);", "const at = new URL('http://10.0.4.1:81/');"
        )
    )
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "cannot be loaded: net::ERR_CONNECTION_REFUSED" in done.stdout
