"""Repetitions in which nothing depends on the seed are one: the run says so, and so does all that is made of
it."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

import lab

TEXT = """
link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=pfifo(limit=50))
ping = icmp_echo(interval="20 ms", stop="400 ms")
flow = bulk(duration="400 ms", start_jitter=axis("jitter", ["0 s", "10 ms"]))
repeat({})
"""
SAID = "repetitions are equal to the last digit"


@pytest.mark.kernel
@pytest.mark.slow
def test_run_show_and_report_say_which_repetitions_are_one(tmp_path: Path) -> None:
    lab.experiment(tmp_path, TEXT.format(2))
    ran = lab.narrows("run", "tiny.py", "--out", "r", cwd=tmp_path).ok()
    (said,) = [line for line in ran.text.splitlines() if line.startswith("warning: ")]
    assert "2 repetitions" in said
    assert "(jitter=0s)" in said
    directories = lab.run_dirs(tmp_path / "r")
    shown = [lab.narrows("show", path, cwd=tmp_path).ok().text for path in directories]
    assert sum(SAID in text.replace("\n", " ") for text in shown) == 2
    lab.narrows("report", "r", cwd=tmp_path).ok()
    page = (tmp_path / "r" / "report" / "report.html").read_text()
    assert re.search(rf"Warning: 2 {SAID} \(jitter=0s\)", page)
    with (tmp_path / "r" / "report" / "table.csv").open() as file:
        counts = {(row["jitter"], row["n"]) for row in csv.DictReader(file) if row["over"] == "runs"}
    assert counts == {("0s", "1"), ("10ms", "2")}


@pytest.mark.kernel
@pytest.mark.slow
def test_a_rule_that_waits_for_an_interval_does_not_take_equal_repetitions_for_one(tmp_path: Path) -> None:
    text = TEXT.replace('axis("jitter", ["0 s", "10 ms"])', '"0 s"').replace("repeat({})", "")
    until = 'ci("bulk_goodput_bps", source="flow", within="5 %", confidence="50 %")'
    rule = f"repeat(until={until}, at_least=2, at_most=4)\n"
    lab.experiment(tmp_path, text + rule)
    ran = lab.narrows("run", "tiny.py", "--out", "r", cwd=tmp_path).ok()
    assert "equal to the last digit and count as one" in " ".join(ran.text.split())
