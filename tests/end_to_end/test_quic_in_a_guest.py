"""quinn in a guest: it fills the link, counts what the queue drops, writes qlog, twice the same."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import lab
from narrows.store import parquet
from narrows.store.whose import with_labels

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

TEXT = """link = Link(rate="10 Mbit/s", base_rtt="40 ms", queue=pfifo(limit=33))
mine = quic("quinn", cca="reno", duration="3 s", qlog=True, flows=2)
back = quic("quinn", direction="up", bytes="500 kB", streams=3, ecn=False)
tap("summary")
"""


def figures(run: Path) -> dict[tuple[str, str, str], float]:
    table = with_labels(parquet.read(run / "metrics.parquet"))
    return {(s, w, n): v for s, w, n, v in table.select("whose", "direction", "quantity", "value").rows()}


def test_two_transfers_over_quinn_twice(tmp_path: Path) -> None:
    lab.experiment(tmp_path, TEXT)
    for out in ("once", "again"):
        lab.narrows("run", "tiny.py", "--out", out, "--fresh", cwd=tmp_path).ok()
    (once,), (again,) = (lab.run_dirs(tmp_path / out) for out in ("once", "again"))
    assert (once / "queue.parquet").read_bytes() == (again / "queue.parquet").read_bytes()
    found = figures(once)
    assert 8e6 < found["mine", "down", "quic_goodput_bps"] < 10e6
    assert found["back", "up", "quic_bytes"] == 500_000
    assert found["mine", "down", "quic_lost_packets"] > 0
    assert found["mine", "down", "quic_spurious_packets"] == 0
    assert found["bottleneck/back", "up", "tap_arrived_ect0"] == 0, "ecn=False"
    assert found["bottleneck/mine", "down", "tap_arrived_ect0"] > 0
    samples = parquet.read(once / "samples.parquet").with_columns(pl.col(pl.Categorical).cast(pl.String))
    rtts = samples.filter(item="mine", part="server", quantity="tcp_info.rtt")
    assert rtts["flow"].n_unique() == 2
    assert 40_000 <= rtts["value"].median() < 90_000  # type: ignore[operator]
