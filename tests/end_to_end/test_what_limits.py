"""What `narrows paths` says limited a connection is what the run was made for and what its kernel says."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import lab
from narrows.paths import tables
from narrows.runs.load import load
from narrows.store import parquet

pytestmark = pytest.mark.kernel

PROGRAMS = Path(__file__).parent / "what_limits"
TEXT = """
usual = {{"rate": "20 Mbit/s", "base_rtt": "40 ms", "queue": bfifo(limit="150 KB")}}
made = {{
    "queue": ({{}}, "0 131072 0", 0),
    "application": ({{}}, "0 10000 0.02", 0),
    "receiver": ({{}}, "0 131072 0", 32768),
    "buffer": ({{"rate": "100 Mbit/s"}}, "20000 131072 0", 0),
    "loss": ({{"loss": "2 %", "loss_up": "0 %"}}, "0 131072 0", 0),
    "policer": ({{"shaper": policer(burst="60 KB"), "shaper_up": htb()}}, "0 131072 0", 0),
}}
link = axis("by", {{by: Link(**(usual | options)) for by, (options, _, _) in made.items()}})
server = axis("by", {{
    by: command(
        f"python3 {folder}/sender.py @server:5000 {{sender}}",
        node="server",
        background=True,
        ready="@server:5000",
    )
    for by, (_, sender, _) in made.items()
}})
get = axis("by", {{
    by: command(f"python3 {folder}/receiver.py @server:5000 {{rmem}}", start="100 ms", time_limit="30 s")
    for by, (_, _, rmem) in made.items()
}})
capture("server")
sample(tcp_info="100 ms", qdisc=None, link=None)
"""


def test_the_cause_is_the_one_that_the_run_was_made_for(tmp_path: Path) -> None:
    lab.experiment(tmp_path, TEXT.format(folder=PROGRAMS))
    lab.narrows("run", "tiny.py", cwd=tmp_path).ok()
    runs = {str(run.folder): run for run in load(tmp_path / "results/tiny")}
    captures = sorted((tmp_path / "results/tiny").glob("*/raw/*.pcapng"))
    assert len(captures) == len(runs) == 6
    said = lab.narrows("paths", *captures, "--out", "paths", cwd=tmp_path).ok()
    assert "limited: " in said.err
    largest = {
        row["log"]: row
        for row in tables.load(tmp_path / "paths", "connections").sort("payload_bytes").to_dicts()
    }
    for capture in captures:
        run = runs[str(capture.parent.parent)]
        row = largest[str(capture)]
        assert row["limited_by"] == run.key["by"], row
        # The kernel's own counters, of the busiest socket.
        samples = parquet.read(capture.parent.parent / "samples.parquet")
        rwnd, busy = (
            samples.filter(pl.col("quantity").cast(pl.String) == f"tcp_info.{name}")["value"].max() or 0.0
            for name in ("rwnd_limited", "busy_time")
        )
        assert row["receiver_limited_share"] == pytest.approx(rwnd / busy, abs=0.1)
