"""Cloudflare's own client from npm, in a guest, against our server of its endpoints.

Needs node and npm; the package is installed from the lock file if it is not there yet.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

import lab

CLIENT = Path(__file__).parent / "cloudflare-js"

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        shutil.which("node") is None or shutil.which("npm") is None, reason="node and npm are not installed"
    ),
]


def test_cloudflares_own_client_reads_the_link(tmp_path: Path) -> None:
    if not (CLIENT / "node_modules").exists():
        subprocess.run(["npm", "ci", "--silent"], cwd=CLIENT, check=True)
    text = """
    link = Link(rate="10 Mbit/s", rate_up="5 Mbit/s", base_rtt="20 ms", queue=fq_codel())
    test = cloudflare()
    sample(qdisc=None, link=None, tcp_info=None)
    """
    (made,) = lab.make([lab.plan(tmp_path, text)], tmp_path / "out")
    metrics = pl.read_parquet(made.ok().directory / "metrics.parquet").filter(
        pl.col("source").cast(pl.String) == "test"
    )

    def figure(name: str, way: str | None) -> float:
        rows = metrics.filter(
            pl.col("name").cast(pl.String) == name,
            pl.col("direction").cast(pl.String).eq_missing(pl.lit(way)),
        )
        assert rows.height == 1, f"{name} {way}"
        return float(rows["value"][0])

    assert 0.8 * 10e6 < figure("cloudflare_bandwidth_bps", "down") < 10e6
    assert 0.8 * 5e6 < figure("cloudflare_bandwidth_bps", "up") < 1.05 * 5e6
    assert figure("cloudflare_latency_ms", None) == pytest.approx(20, abs=0.7)
