"""The example of a person's own tool, in guests, from the experiment to the page of `narrows calibrate`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

import lab

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

EXAMPLE = lab.CHECKOUT / "experiments" / "my_http_test"
SCENARIO = '''"""How wrong is my own test?"""
from narrows.spec import *
link = Link(rate="5 Mbit/s", base_rtt="20 ms", queue=pfifo(limit=50))
test = axis("tool", {
    "mine": tool("my_http_test", duration="2 s"),
    "nothing": command("ls /", start="1 s"),
})
'''


def test_a_tool_of_ones_own_is_a_line_of_the_page_and_what_declares_nothing_is_named(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / EXAMPLE.name)
    scenario, out = tmp_path / "mine.py", tmp_path / "out"
    scenario.write_text(SCENARIO)
    call = [lab.NARROWS, "calibrate", scenario, "--out", out]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    answers = pl.read_csv(out / "calibration" / "readings.csv").filter(
        pl.col("origin") == "the tool's answer"
    )
    rates = answers.filter(pl.col("metric") == "my HTTP test, speed")
    assert rates["tool"].to_list() == ["mine"]
    assert 0 < rates["value"][0] < 5e6  # goodput is below the rate of the link
    assert set(answers["quantity"]) == {"throughput", "latency"}
    page = (out / "calibration" / "calibration.html").read_text()
    assert "my HTTP test, answer while loaded" in page
    assert "<b>nothing</b>: ran (1), and declares no answer" in page
    assert "nothing: ran (1), and declares no answer" in done.stdout
