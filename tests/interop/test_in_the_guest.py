"""Speed tests of others against ours, inside the kernel under test, in virtual time, over a shaped link."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

import lab

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

RATE_BPS = 20e6
LINK = 'link = Link(rate="20 Mbit/s", base_rtt="10 ms", queue=fq_codel())\n'
CLIENT = lab.CHECKOUT / "tests/interop/ndt7-js"
JS = pytest.mark.skipif(
    shutil.which("node") is None or shutil.which("npm") is None, reason="node and npm are not installed"
)


@pytest.fixture(scope="module")
def packages() -> None:
    """The official JavaScript client, as the lock file says."""
    with (CLIENT / "package-lock.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the tests may run in several processes
        if not (CLIENT / "node_modules/.package-lock.json").exists():
            subprocess.run(["npm", "ci", "--silent"], cwd=CLIENT, check=True)


def metrics(made: lab.Made, source: str) -> dict[tuple[str | None, str], float]:
    """(direction, name) → value, of one tool."""
    table = pl.read_parquet(made.directory / "metrics.parquet").filter(
        pl.col("source").cast(pl.String) == source
    )
    assert table.height, f"no metric of {source}"
    return {(d, n): v for d, n, v in table.select("direction", "name", "value").iter_rows()}


def check_ndt7(made: lab.Made) -> None:
    """Both directions near the IP rate less headers (1448 of 1514 bytes, less NDT7's own), never above it."""
    found = metrics(made.ok(), "test")
    for direction in ("down", "up"):
        share = found[direction, "ndt7_throughput_bps"] / (RATE_BPS * 1448 / 1514)
        assert 0.9 < share <= 1.001, (direction, share)
        assert 9.5 < found[direction, "ndt7_elapsed_s"] < 13.5
        assert 10 <= found[direction, "ndt7_min_rtt_ms"] < 14 or direction == "up", found


@pytest.mark.parametrize("tls", [False, True], ids=["ws", "wss"])
def test_our_client_and_our_server(tmp_path: Path, tls: bool) -> None:
    (made,) = lab.make(lab.plans(tmp_path, LINK + f"test = ndt7(tls={tls})\n"), tmp_path / "out")
    check_ndt7(made)


@JS
@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("tls", [False, True], ids=["ws", "wss"])
def test_the_official_javascript_client_and_our_server(tmp_path: Path, tls: bool) -> None:
    text = LINK + f'test = ndt7(client="js", tls={tls}, time_limit="120 s")\n'
    (made,) = lab.make(lab.plans(tmp_path, text), tmp_path / "out")
    check_ndt7(made)


@pytest.mark.skipif(shutil.which("ndt7-client") is None, reason="no ndt7-client (Go) on PATH")
def test_the_official_go_client_and_our_server(tmp_path: Path) -> None:
    text = LINK + 'test = ndt7(client="ndt7-client", time_limit="120 s")\n'
    (made,) = lab.make(lab.plans(tmp_path, text), tmp_path / "out")
    check_ndt7(made)


@pytest.mark.skipif(shutil.which("ndt-server") is None, reason="no ndt-server (Go) on PATH")
def test_our_client_and_the_official_server(tmp_path: Path) -> None:
    text = LINK + 'test = ndt7(server="ndt-server", time_limit="120 s")\n'
    (made,) = lab.make(lab.plans(tmp_path, text), tmp_path / "out")
    check_ndt7(made)


@pytest.mark.parametrize(("direction", "flows"), [("down", 1), ("up", 1), ("up", 4), ("both", 1)])
def test_iperf3_measures_the_rate_of_the_link(tmp_path: Path, direction: str, flows: int) -> None:
    text = LINK + f'test = iperf3(duration="3 s", direction="{direction}", flows={flows})\n'
    (made,) = lab.make(lab.plans(tmp_path, text), tmp_path / "out")
    raw = json.loads((made.ok().directory / "raw/test.stdout").read_text())
    assert "error" not in raw
    ends = [raw["end"]["sum_received"]]
    if direction == "both":
        ends.append(raw["end"]["sum_received_bidir_reverse"])
    for end in ends:
        share = end["bits_per_second"] / (RATE_BPS * 1448 / 1514)
        assert 0.85 < share < 1.02, share
    assert metrics(made, "test")


def test_iperf3_over_udp_loses_what_does_not_fit(tmp_path: Path) -> None:
    text = LINK.replace("fq_codel()", "pfifo(limit=50)")
    text += 'test = iperf3(duration="2 s", direction="down", udp_rate="40 Mbit/s")\n'
    (made,) = lab.make(lab.plans(tmp_path, text), tmp_path / "out")
    end = json.loads((made.ok().directory / "raw/test.stdout").read_text())["end"]["sum"]
    assert 40 < end["lost_percent"] < 60
