"""`narrows calibrate` on a link that changes: the truth is what there was while the tool loaded."""

from __future__ import annotations

import subprocess
from pathlib import Path

import polars as pl
import pytest

import lab

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

SCENARIO = '''"""Does the truth follow the link?"""
from narrows.spec import *

link = Link({link})
{changes}
test = under_test()
probe = udp_probe(interval="10 ms", stop=with_(test))
'''


def summary(
    directory: Path, link: str, changes: str = "", *, tools: str = "bulk,ndt7", seeds: str = "1"
) -> pl.DataFrame:
    scenario, out = directory / "scenario.py", directory / "out"
    scenario.write_text(SCENARIO.format(link=link, changes=changes))
    call = [lab.NARROWS, "calibrate", scenario, "--tools", tools, "--seeds", seeds, "--out", out]
    done = subprocess.run(call, capture_output=True, text=True, cwd=directory)
    assert done.returncode == 0, done.stderr
    if changes:
        assert "changes at " in done.stdout
    return pl.read_parquet(out / "calibration" / "summary.parquet")


def bulk_error(found: pl.DataFrame) -> float:
    return float(
        found.filter(tool="bulk", quantity="throughput", origin="the tool's answer")["relative_bias"][0]
    )


def test_a_lower_rate_from_the_middle_on_is_no_error_of_the_tools(tmp_path: Path) -> None:
    found = summary(
        tmp_path,
        'rate="50 Mbit/s", base_rtt="20 ms", queue=pfifo(limit=100)',
        'link.at("6 s", rate="10 Mbit/s")',
    )
    assert abs(bulk_error(found)) < 0.04


def test_a_longer_base_rtt_is_no_queue(tmp_path: Path) -> None:
    found = summary(
        tmp_path,
        'rate="50 Mbit/s", base_rtt="20 ms", queue=fq_codel()',
        'link.at("500 ms", base_rtt="120 ms")',
        tools="ndt7",
        seeds="8",  # in three of them its BBR queues 4 to 13 ms itself, in the others 0.2
    )
    shown = found.filter(pl.col("metric") == "NDT7 latency (MinRTT)")
    assert shown.height == 4  # down and up, against its own packets' delay and a third party's
    assert shown["bias"].abs().max() < 1.0  # of 100 ms more
    # Nothing makes longer what a third party met; BBR, which takes 20 ms for the path's, may queue its own.
    assert shown.filter(pl.col("whose") != "own")["worst"].abs().max() < 1.0


@pytest.mark.parametrize(
    "link",
    [
        'rate="8 Mbit/s", base_rtt="20 ms", queue=cake(atm="atm", overhead=44)',
        'rate="15 Mbit/s", base_rtt="20 ms", queue=pfifo(limit=100), shaper=tbf(burst="32 MB")',
    ],
)
def test_what_a_shaper_counts_and_what_its_bucket_holds_is_no_error_of_the_tools(
    tmp_path: Path, link: str
) -> None:
    assert abs(bulk_error(summary(tmp_path, link))) < 0.04


def test_a_new_rate_of_a_tbf_leaves_the_fifo_inside_its_limit(tmp_path: Path) -> None:
    text = """
    link = Link(rate="20 Mbit/s", base_rtt="20 ms", queue=pfifo(limit=100), shaper=tbf(burst="15 KB"))
    link.at("50 ms", rate="5 Mbit/s")
    probe = udp_probe(interval="20 ms", duration="100 ms")
    """
    (made,) = lab.make([lab.plan(tmp_path, text)], tmp_path / "out")
    for interface in made.ok().manifest["tc_after"]["router"].values():
        options = {qdisc["kind"]: qdisc["options"] for qdisc in interface["qdisc"]}
        assert options["tbf"]["rate"] == 5_000_000 // 8
        assert options["pfifo"]["limit"] == 100
