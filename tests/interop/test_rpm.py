"""Our responsiveness server and client against other people's HTTP/2, and the client against our own metrics.

Loopback: nothing here looks at how fast anything was.
"""

import dataclasses
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import lab
from narrows.metrics.latency.responsiveness import DRAFT_08
from narrows.metrics.latency.responsiveness_stability import assess
from narrows.metrics.latency.rpm_variants import probe_table
from narrows.store.whose import Whose
from narrows.tools.rpm import parse as rpm

HERE = Path(__file__).parent
NODE = pytest.mark.needs("node")


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """Our server on a free port; gives its address. It must end well."""
    command = [str(lab.agent_path()), "rpm-server", "--listen", "127.0.0.1:0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            line = json.loads(server.stdout.readline())
            assert line["Key"] == "listening"
            yield line["Value"]["address"]
        finally:
            server.terminate()
        assert server.wait(60) == 0


def client(*options: str, interval_ms: int = 100) -> subprocess.CompletedProcess[str]:
    """Our client, with intervals as short as a live test can have them."""
    pace = ["--interval-ms", str(interval_ms)]
    command = [str(lab.agent_path()), "rpm-client", "--insecure", *pace, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@NODE
def test_nodes_http2_client_gets_all_that_the_draft_asks_for_from_our_server() -> None:
    with serving() as address:
        done = subprocess.run(
            ["node", str(HERE / "rpm_node_client.mjs"), f"https://{address}"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    config = json.loads(found["config"]["text"])
    assert config["version"] == 1
    assert found["config"]["type"] == "application/json"
    assert config["urls"]["small_download_url"] == f"https://{address}/small"
    assert config["test_endpoint"] == "127.0.0.1"
    assert (found["small"]["status"], found["small"]["bytes"]) == (200, 1)
    assert found["large"]["bytes"] >= 5_000_000
    assert int(found["large"]["length"]) >= 8_000_000_000  # the draft's least size
    assert found["upload"]["status"] == 200
    assert (found["unknown"]["status"], found["wrong"]["status"]) == (404, 405)


@pytest.mark.needs("curl")
@pytest.mark.parametrize(("option", "version"), [("--http2", "2"), ("--http1.1", "1.1")])
def test_curl_gets_the_small_object_over_either_http(option: str, version: str) -> None:
    """Cloudflare's mach times the idle path with HTTP/1.1, and loads it with HTTP/2."""
    curl = ["curl", "-sk", option, "-o", "/dev/null", "-w", "%{http_version} %{size_download}"]
    with serving() as address:
        done = subprocess.run(
            [*curl, f"https://{address}/small"], capture_output=True, text=True, timeout=60, check=False
        )
    assert done.stdout == f"{version} 1"


@pytest.mark.slow
@NODE
@pytest.mark.needs("openssl")
def test_our_client_tests_nodes_http2_server_both_ways(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    subprocess.run(
        [*request, "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(cert), "-days", "2"],
        check=True,
        capture_output=True,
    )
    command = ["node", str(HERE / "rpm_node_server.mjs"), str(cert), str(key)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        url = f"https://127.0.0.1:{server.stdout.readline().strip()}"
        # Node has one thread, which the load keeps busy: on a busy machine a probe's handshake takes seconds.
        for intervals in (8, 40, 200):
            done = client("--server", url, "--variant", "go", "--stage-intervals", str(intervals))
            assert done.returncode == 0, done.stderr
            tests = json.loads(done.stdout.splitlines()[-1])["Value"]["tests"]
            if all(tests[name]["foreign_probes"]["completed"] for name in ("download", "upload")):
                break
        server.stdin.close()
        server.wait(60)
    for name in ("download", "upload"):
        assert tests[name]["error"] is None
        assert tests[name]["goodput_bps"] > 0
        assert tests[name]["foreign_probes"]["completed"] > 0
        assert tests[name]["foreign_probes"]["failed"] == 0


@pytest.mark.realtime
def test_our_client_and_our_metrics_agree_on_the_result_and_on_when_it_was_stable() -> None:
    # They must agree each time, also on "too few probes". A machine so busy that the last four intervals hold
    # too few is asked again with longer ones: there must be figures to agree on.
    with serving() as address:
        for interval_ms in (100, 400, 1600):
            if figures_agree(address, interval_ms):
                return
    pytest.fail(f"too few probes in four intervals of {interval_ms} ms")


def figures_agree(address: str, interval_ms: int) -> bool:
    """Hold the client's summary against our assessment of its lines; whether all figures are there."""
    limit = 10
    done = client(
        *("--server", f"https://{address}", "--variant", "draft-08", "--stage-intervals", str(limit)),
        interval_ms=interval_ms,
    )
    assert done.returncode == 0, done.stderr
    lines = rpm.lines(done.stdout, where="stdout")
    parsed = rpm.parse(done.stdout, epoch_ns=0).of(Whose("test"))
    samples = pl.concat(parsed.samples)
    parameters = dataclasses.replace(DRAFT_08, interval_s=interval_ms / 1000)
    summary = lines[-1]["Value"]["tests"]
    complete = True
    for name, direction in (("download", "down"), ("upload", "up")):
        intervals = [i["Value"] for i in lines if i["Key"] == "interval" and i["Value"]["test"] == name]
        found = assess(
            [i[f"{name}_bytes"] for i in intervals],
            probe_table(samples, "test", direction),
            parameters,
            start_ns=intervals[0]["start_ns"],
            goodput_limit=limit,
        )
        theirs = summary[name]
        assert found.goodput_stable_at == theirs["goodput_stable_at"]
        assert found.responsiveness_stable_at == theirs["responsiveness_stable_at"]
        assert found.goodput_confidence.value == theirs["goodput_confidence"]
        assert found.responsiveness_confidence.value == theirs["responsiveness_confidence"]
        for ours, name_of_theirs in (
            (found.result.rpm, "rpm"),
            (found.result.foreign_rpm, "foreign_rpm"),
            (found.result.loaded_rpm, "loaded_rpm"),
        ):
            if theirs[name_of_theirs] is None:
                assert ours is None
                complete = False
            else:
                assert ours == pytest.approx(theirs[name_of_theirs], rel=1e-9)
    return complete


def test_a_client_that_cannot_reach_its_server_says_so_in_one_line() -> None:
    done = client("--server", "https://127.0.0.1:1")
    assert done.returncode == 1
    assert "127.0.0.1:1" in done.stderr
    assert done.stderr.count("\n") == 1
