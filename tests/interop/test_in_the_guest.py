"""Speed tests of others against ours, inside the kernel under test, in virtual time, over a shaped link."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from pathlib import Path

import go_programs
import polars as pl
import pytest

import lab
import narrows
from narrows.store.whose import with_labels

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

RATE_BPS = 20e6
LINK = 'link = Link(rate="20 Mbit/s", base_rtt="10 ms", queue=fq_codel())\n'
CLIENT = Path(narrows.__file__).parent / "tools/ndt7/client"
PAIRS = [("ndt7-client", "narrows"), ("narrows", "ndt-server"), ("ndt7-client", "ndt-server")]
JS = pytest.mark.needs("node", "npm")


@pytest.fixture(scope="module")
def packages() -> None:
    """The official JavaScript client, as the lock file says."""
    with (CLIENT / "package-lock.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the tests may run in several processes
        if not (CLIENT / "node_modules/.package-lock.json").exists():
            subprocess.run(["npm", "ci", "--silent"], cwd=CLIENT, check=True)


def metrics(made: lab.Made, source: str) -> dict[tuple[str | None, str], float]:
    """(direction, name) → value, of one tool."""
    table = with_labels(pl.read_parquet(made.directory / "metrics.parquet")).filter(whose=source)
    assert table.height, f"no metric of {source}"
    return {(d, n): v for d, n, v in table.select("direction", "quantity", "value").iter_rows()}


def check_ndt7(made: lab.Made, *, least_up_s: float = 9.5) -> None:
    """Both directions near the IP rate less headers (1448 of 1514 bytes, less NDT7's own), never above it."""
    found = metrics(made.ok(), "test")
    for direction in ("down", "up"):
        share = found[direction, "ndt7_throughput_bps"] / (RATE_BPS * 1448 / 1514)
        assert 0.9 < share <= 1.001, (direction, share)
        least_s = least_up_s if direction == "up" else 9.5
        assert least_s < found[direction, "ndt7_elapsed_s"] < 13.5
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


@pytest.fixture
def on_path(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Puts the Go programs of this test's pair on PATH."""
    pair = (request.getfixturevalue("client"), request.getfixturevalue("server"))
    places = [str(go_programs.place(name)) for name in pair if name != "narrows"]
    monkeypatch.setenv("PATH", os.pathsep.join([*dict.fromkeys(places), os.environ["PATH"]]))


@pytest.mark.usefixtures("on_path")
@pytest.mark.parametrize("tls", [False, True], ids=["ws", "wss"])
@pytest.mark.parametrize(("client", "server"), PAIRS)
def test_go_programs_and_ours_measure_the_link(tmp_path: Path, client: str, server: str, tls: bool) -> None:
    text = LINK + f'test = ndt7(client="{client}", server="{server}", tls={tls}, time_limit="60 s")\n'
    (made,) = lab.make(lab.plans(tmp_path, text), tmp_path / "out")
    # The Go client answers the ping behind each measurement before it reads on, and that waits for its bulk
    # message: 0.42 s for 1 MiB, while one comes every 0.23 s. At 10 s it has come to those of about 7 s.
    check_ndt7(made, least_up_s=9.5 if client == "narrows" else 5)
    found = metrics(made, "test")
    # 20 Mbit/s: BBR's own queue in its flow's share of FQ-CoDel; the server tells of both tests.
    for direction in ("down", "up"):
        assert 10 <= found[direction, "ndt7_min_rtt_ms"] < 20
        assert 10 < found[direction, "ndt7_rtt_mean_ms"] < 40
    series = pl.read_parquet(made.directory / "samples.parquet")["quantity"].cast(pl.String).unique()
    assert {"throughput", "tcp_info.rtt", "bbr_info.bw"} <= set(series)
    if server == "ndt-server":
        # Its own archive. That of the upload is not written yet when the Go client ends, and with it the run.
        (kept,) = (made.directory / "raw/test-server/ndt7").rglob("ndt7-download-*.json")
        assert len(json.loads(kept.read_text())["Download"]["ServerMeasurements"]) > 10


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
