"""Cloudflare's own client from npm, in a guest, against our server of its endpoints: under Node, over TLS,
and in Chromium.

Needs node and npm; the package is installed from the lock file if it is not there yet.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import polars as pl
import pytest

import lab
import narrows

CLIENT = Path(narrows.__file__).parent / "tools/cloudflare/client"

pytestmark = [pytest.mark.kernel, pytest.mark.needs("node", "npm")]


def run(tmp_path: Path, options: str) -> tuple[pl.DataFrame, dict[str, object]]:
    """The tool's figures, and what its client wrote."""
    if not (CLIENT / "node_modules").exists():
        subprocess.run(["npm", "ci", "--silent"], cwd=CLIENT, check=True)
    text = f"""
    link = Link(rate="10 Mbit/s", rate_up="5 Mbit/s", base_rtt="20 ms", queue=fq_codel())
    test = cloudflare({options})
    sample(qdisc=None, link=None, tcp_info=None)
    """
    (made,) = lab.make([lab.plan(tmp_path, text)], tmp_path / "out")
    directory = made.ok().directory
    metrics = pl.read_parquet(directory / "metrics.parquet").filter(
        pl.col("item").cast(pl.String) == "test", pl.col("hop").is_null()
    )
    return metrics, json.loads((directory / "raw/test.stdout").read_text())


def figure(metrics: pl.DataFrame, name: str, way: str | None) -> float:
    rows = metrics.filter(
        pl.col("quantity").cast(pl.String) == name,
        pl.col("direction").cast(pl.String).eq_missing(pl.lit(way)),
    )
    assert rows.height == 1, f"{name} {way}"
    return float(rows["value"][0])


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_cloudflares_own_client_reads_the_link(tmp_path: Path, tls: bool) -> None:
    metrics, report = run(tmp_path, f"tls={tls}")
    assert 0.8 * 10e6 < figure(metrics, "cloudflare_bandwidth_bps", "down") < 10e6
    assert 0.8 * 5e6 < figure(metrics, "cloudflare_bandwidth_bps", "up") < 1.05 * 5e6
    assert figure(metrics, "cloudflare_latency_ms", None) == pytest.approx(20, abs=0.7)
    assert str(report["server"]).startswith("https" if tls else "http:")


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_chromium_reads_the_link_as_node_does(tmp_path: Path) -> None:
    metrics, report = run(tmp_path, 'client="chromium", time_limit="300 s"')
    assert "Chrome" in str(report["client"])
    assert 0.8 * 10e6 < figure(metrics, "cloudflare_bandwidth_bps", "down") < 10e6
    assert 0.8 * 5e6 < figure(metrics, "cloudflare_bandwidth_bps", "up") < 1.1 * 5e6
    # Resource timings of a browser are whole tenths of a millisecond.
    assert figure(metrics, "cloudflare_latency_ms", None) == pytest.approx(20, abs=1)
