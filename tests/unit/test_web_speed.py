"""Web speed tests: their items in the plan, and how what their clients write is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from narrows.errors import SpecError, StoreError
from narrows.plan.build import plan_file
from narrows.plan.items import Command
from narrows.store.parsers.common import Parsed
from narrows.tools.cloudflare import parse as cloudflare
from narrows.tools.web_speed import parse as web_speed

S = 1_000_000_000


def commands(directory: Path, line: str) -> list[Command]:
    path = directory / "experiment.py"
    link = 'link = Link(rate="20 Mbit/s", base_rtt="20 ms")'
    path.write_text("\n".join(('"""How fast?"""', "from narrows.spec import *", link, line)))
    (plan,) = plan_file(path).plans
    return [item for item in plan.traffic if isinstance(item, Command)]


def figures(parsed: Parsed) -> dict[tuple[str, str | None], float]:
    return {(m.name, m.direction): m.value for m in parsed.metrics}


def series(parsed: Parsed, name: str) -> list[tuple[int, float]]:
    rows = pl.concat(parsed.samples).filter(pl.col("quantity") == name)
    return [(t, v) for t, v in rows.select("t_ns", "value").rows()]


def test_cloudflare_is_its_own_client_against_our_server(tmp_path: Path) -> None:
    server, client = commands(tmp_path, 'test = cloudflare(cca="bbr")')
    assert server.argv == ("@agent", "web-speed-server", "--listen", "10.0.2.1:80", "--cca", "bbr")
    assert server.background
    assert client.argv[1].endswith("cloudflare/client/run.mjs")
    assert client.argv[2:] == ("--server", "http://10.0.2.1:80")


def test_over_tls_the_clients_trust_the_certificate_that_the_server_leaves(tmp_path: Path) -> None:
    server, client = commands(tmp_path, "test = cloudflare(tls=True)")
    assert server.argv[3:] == ("10.0.2.1:443", "--tls", "--write-cert", "@out/test-server.pem")
    assert client.argv[-1] == "https://10.0.2.1:443"
    assert client.env == {"NODE_EXTRA_CA_CERTS": "@out/test-server.pem"}
    server, client = commands(tmp_path, 'test = web_speed(model="librespeed", tls=True)')
    assert server.argv[4:] == ("--tls", "--write-cert", "@out/test-server.pem")
    assert client.argv[-2:] == ("--ca", "@out/test-server.pem")


def test_a_browser_is_named_and_has_memory_and_is_asked_for_before_anything_starts(tmp_path: Path) -> None:
    _, client = commands(tmp_path, 'test = cloudflare(client="chromium")')
    assert client.argv[-4:] == ("--browser", "chromium", "--profile", "/tmp/test-profile")
    assert client.programs == ("node", "chromium")
    (plan,) = plan_file(tmp_path / "experiment.py").plans
    assert plan.machine.memory_bytes == 2 << 30
    (tmp_path / "experiment.py").write_text(
        (tmp_path / "experiment.py").read_text() + '\nmachine(memory="1 GiB")\n'
    )
    (plan,) = plan_file(tmp_path / "experiment.py").plans
    assert plan.machine.memory_bytes == 1 << 30


def test_a_model_is_named_and_its_length_can_be_set(tmp_path: Path) -> None:
    _, client = commands(tmp_path, 'test = web_speed(model="ookla", tests="download", test_length="5 s")')
    assert client.argv[1:] == (
        "web-speed-client", "--server", "10.0.2.1:80", "--model", "ookla", "--tests", "download",
        "--duration-ms", "5000",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("test = web_speed()", "model is missing"),
        ('test = web_speed(model="fast.com")', "model"),
        ('test = web_speed(model="ookla", test_length="1 ms")', "test_length"),
    ],
)
def test_what_cannot_be_is_one_clear_error(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        commands(tmp_path, line)


MODEL: dict[str, Any] = {
    "tool": "web-speed",
    "model": "ookla",
    "idle": {"latency_ms": 20.0, "jitter_ms": 0.5, "pings": [[3 * S, 20.0], [3 * S + 5, 20.5]]},
    "download": {
        "result_bps": 9e6,
        "bytes": 1_000_000,
        "began_ns": 4 * S,
        "samples": [[4 * S, 0], [4 * S + S // 2, 500_000], [5 * S, 1_000_000]],
        "connections": [[4 * S, 4], [5 * S, 6]],
        "loaded_latency_ms": 33.0,
        "pings": [[4 * S, 33.0]],
    },
}


def test_a_models_reading_has_its_name_and_its_counts_become_rates() -> None:
    parsed = web_speed.parse(json.dumps(MODEL), epoch_ns=3 * S)
    found = figures(parsed)
    assert found["ookla_model_throughput_bps", "down"] == 9e6
    assert found["ookla_model_latency_ms", None] == 20
    assert found["ookla_model_loaded_latency_ms", "down"] == 33
    assert found["ookla_model_connections", "down"] == 6
    # 500 000 bytes in each half second are 8 Mbit/s, at the end of it, from t = 0 at 3 s
    assert series(parsed, "throughput") == [(1_500_000_000, 8e6), (2 * S, 8e6)]
    assert series(parsed, "loaded_ping") == [(S, 33.0)]


WALL_NS = 1_767_225_600 * S
CLOUDFLARE: dict[str, Any] = {
    "client": "@cloudflare/speedtest 1.14.1, node v20",
    "summary": {
        "download": 9.5e6, "upload": 0, "latency": 20.1, "jitter": 0.1, "downLoadedLatency": 45.0,
        "downLoadedJitter": 2.0, "totalDurationMs": 9000,
    },
    "scores": {"gaming": {"points": 25, "classificationName": "good"}},
    "download": [
        {"bytes": 100000, "bps": 9.4e6, "duration_ms": 85.0, "ping_ms": 20.0, "at_ms": WALL_NS // 10**6 + 500}
    ],
    "upload": [],
    "pings": {"idle": [[WALL_NS // 10**6 + 100, 20.1]], "down": [[WALL_NS // 10**6 + 450, 45.0]], "up": []},
}  # fmt: skip


def test_cloudflares_figures_are_its_own_and_a_rate_of_zero_is_none() -> None:
    parsed = cloudflare.parse(json.dumps(CLOUDFLARE), wall_epoch_ns=WALL_NS)
    found = figures(parsed)
    assert found["cloudflare_bandwidth_bps", "down"] == 9.5e6
    assert ("cloudflare_bandwidth_bps", "up") not in found
    assert found["cloudflare_loaded_latency_ms", "down"] == 45
    assert ("cloudflare_loaded_latency_ms", "up") not in found
    assert found["cloudflare_gaming_points", None] == 25
    assert series(parsed, "request_rate") == [(S // 2, 9.4e6)]
    assert series(parsed, "loaded_ping") == [(450_000_000, 45.0)]


@pytest.mark.parametrize("text", ["", "[]", "node: not found", "{}", '{"summary": {}}', '{"model": "fast"}'])
def test_garbage_is_one_clear_error(text: str) -> None:
    for read in (lambda: cloudflare.parse(text, wall_epoch_ns=0), lambda: web_speed.parse(text, epoch_ns=0)):
        with pytest.raises(StoreError):
            read()


def test_a_report_that_was_cut_short_is_one_clear_error() -> None:
    with pytest.raises(StoreError, match="did not write JSON"):
        web_speed.parse(json.dumps(MODEL)[:200], epoch_ns=0)
    with pytest.raises(StoreError, match="not what web-speed-client writes"):
        web_speed.parse(json.dumps(MODEL | {"download": {"result_bps": 1}}), epoch_ns=0)
