"""A page of the Internet, played by this host, through a bottleneck in namespaces: it is used, it shares, and
the host is left as it was.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import polars as pl
import pytest

import lab
from narrows.engine.netns import NetnsEngine, lacking_qdiscs
from narrows.plan.uplink import HOST_ADDRESS

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.realtime,
    pytest.mark.needs("chromium", "node", "nft"),
]
PAGE = b'<h1>A page</h1><button id="go" onclick="fetch(\'/big\').then((r) => r.arrayBuffer())">go</button>'
BIG = 100 << 20


class Page(BaseHTTPRequestHandler):
    """A page with a button that fetches much."""

    def do_GET(self) -> None:
        size = BIG if self.path == "/big" else len(PAGE)
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(size))
        self.end_headers()
        try:
            if size == BIG:
                for _ in range(BIG >> 16):
                    self.wfile.write(bytes(1 << 16))
            else:
                self.wfile.write(PAGE)
        except OSError:
            pass  # the browser was ended

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def internet() -> Iterator[int]:
    server = ThreadingHTTPServer(("0.0.0.0", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


def host_state() -> tuple[str, ...]:
    commands = (["ip", "-br", "link"], ["ip", "route"], ["nft", "list", "ruleset"])
    said = [subprocess.run(words, capture_output=True, text=True, check=True).stdout for words in commands]
    return (*said, Path("/proc/sys/net/ipv4/ip_forward").read_text())


def test_a_live_page_is_used_through_the_bottleneck_and_the_host_is_left_as_it_was(
    tmp_path: Path, internet: int, compare: Callable[[Callable[[int], list[str]]], None]
) -> None:
    text = (
        'link = Link(rate="20 Mbit/s", base_rtt=None, queue=pfifo(limit=100), services=2,'
        ' sysctls={"all": {"net.ipv4.tcp_congestion_control": "reno"}})\n'
        f'page = live("http://site.example:{internet}/", recipe=["wait #go", "click #go"], stop="20 s",'
        f' addresses={{"site.example": "{HOST_ADDRESS}"}})\n'
        'rival = bulk(cca="reno", stop="20 s", host=2)\n'
    )
    plan = lab.plan(tmp_path, text)
    if lacking := lacking_qdiscs(set(plan.needs.qdiscs), NetnsEngine()._path):
        pytest.skip(f"this host's kernel lacks {lacking}")
    before = host_state()

    def once(attempt: int) -> list[str]:
        (made,) = lab.make([plan], tmp_path / f"out-{attempt}", engine=NetnsEngine())
        assert host_state() == before
        error = made.manifest["error"]
        if error is not None and error["stage"] == "calibration":
            raise lab.Refused(error["line"])
        if error is not None and "never loaded" in error["message"]:
            return [error["line"]]  # a browser that is slower to start on a busy machine than it is used
        metrics = pl.read_parquet(made.ok().directory / "metrics.parquet")
        figures = dict(zip(metrics["quantity"].cast(pl.String), metrics["value"], strict=True))
        assert figures["live_http3_share"] == 0
        assert figures["browser_processes_gone"] == 0
        assert figures["live_bytes"] < 20e6 / 8 * 20
        # of a browser that took long to start on a busy machine there is little
        return [] if figures["live_bytes"] > 1e6 else [f"only {figures['live_bytes']:.0f} B"]

    compare(once)
