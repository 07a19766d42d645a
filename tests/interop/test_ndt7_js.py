"""The official JavaScript NDT7 client, under Node, against our server: both tests, in the clear and over TLS.

Needs node and npm; the packages are installed from the lock file if they are not there yet.
"""

import fcntl
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import narrows

ROOT = Path(__file__).parents[2]
CLIENT = Path(narrows.__file__).parent / "tools/ndt7/client"
AGENT = ROOT / "crates/target/x86_64-unknown-linux-gnu/release/narrows-agent"


@pytest.fixture(scope="module")
def runner() -> Path:
    assert AGENT.exists(), f"{AGENT} is missing: run `make agent`"
    with (CLIENT / "package-lock.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the tests may run in several processes
        if not (CLIENT / "node_modules" / ".package-lock.json").exists():
            subprocess.run(["npm", "ci", "--silent"], cwd=CLIENT, check=True)
    return CLIENT / "run.mjs"


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """A server of one-second tests on a free port; gives its address."""
    command = [str(AGENT), "ndt7-server", "--listen", "127.0.0.1:0", "--duration-ms", "1000", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            line = json.loads(server.stdout.readline())
            assert line["Key"] == "listening"
            # Every measurement is a line of this pipe: it must be emptied while the test runs.
            drain = subprocess.Popen(["cat"], stdin=server.stdout, stdout=subprocess.DEVNULL)
            yield line["Value"]["address"]
        finally:
            server.terminate()
        assert server.wait(60) == 0
        drain.wait(60)


def run(runner: Path, *options: str) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    done = subprocess.run(["node", str(runner), *options], capture_output=True, text=True, timeout=120)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("tls", [False, True], ids=["ws", "wss"])
def test_the_official_javascript_client_downloads_from_and_uploads_to_our_server(
    runner: Path, tls: bool
) -> None:
    scheme, options = ("wss", ["--tls"]) if tls else ("ws", [])
    with serving(*options) as address:
        done, lines = run(runner, "--server", f"{scheme}://{address}", *(["--insecure"] if tls else []))
    assert done.returncode == 0, done.stderr
    tests = lines[-1]["Value"]["tests"]
    assert lines[-1]["Key"] == "summary"
    assert list(tests) == ["download", "upload"]
    for name, figures in tests.items():
        assert figures["error"] is None
        assert figures["rate_bps"] > 0
        assert figures["measurements_server"] > 0
        values = [line["Value"] for line in lines if line["Key"] == "measurement"]
        server = [v for v in values if v["Origin"] == "server" and v["Test"] == name]
        assert server
        assert all({"AppInfo", "ConnectionInfo", "TCPInfo"} <= set(v) for v in server)
    assert tests["download"]["min_rtt_us"] is not None
    assert tests["download"]["bytes_sent"] > 0


def test_a_self_signed_certificate_is_refused_without_insecure(runner: Path) -> None:
    with serving("--tls") as address:
        done, lines = run(runner, "--server", f"wss://{address}", "--tests", "download")
    assert done.returncode == 1
    assert "self-signed certificate" in done.stderr
    assert lines[-1]["Value"]["tests"]["download"]["rate_bps"] is None


def test_a_wrong_command_line_is_one_error_with_the_value(runner: Path) -> None:
    done, lines = run(runner, "--server", "http://x", "--tests", "download")
    assert (done.returncode, lines) == (2, [])
    assert "http://x" in done.stderr
    assert done.stderr.count("\n") == 1
