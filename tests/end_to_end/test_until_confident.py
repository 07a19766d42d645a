"""Repetitions until an interval is narrow enough, with guests: what `narrows run` does and stores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lab

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

TEXT = """
link = Link(rate="5 Mbit/s", base_rtt="20 ms", queue=pfifo(limit=40), loss="3 %")
flow = bulk(cca="cubic", duration="2 s")
narrow = ci("bulk_goodput_bps_down", within="{within}", confidence="70 %")
repeat(at_least={least}, at_most={most}, until=narrow)
"""
"""Which packets are lost is the seed's: three seeds, three goodputs, some per cent apart."""


def run(cwd: Path, *, least: int, most: int, within: str) -> tuple[str, dict[str, Any]]:
    """What the command said and stored, for such a rule."""
    lab.experiment(cwd, TEXT.format(least=least, most=most, within=within))
    said = lab.narrows("run", "tiny.py", "--out", "out", cwd=cwd).ok().out
    return said, json.loads((cwd / "out/stopping.json").read_text())


def goodputs(cwd: Path) -> list[float]:
    """Of the runs that lie there, the least first."""
    sql = (
        "select value from metrics where quantity = 'bulk_goodput_bps' and item = 'flow' and flow is null "
        "order by value"
    )
    rows = json.loads(lab.narrows("query", "out", sql, "--format", "json", cwd=cwd).ok().out)
    return [float(row["value"]) for row in rows]


def test_a_bound_out_of_reach_ends_as_not_resolved_and_a_wide_one_after_the_least_n(tmp_path: Path) -> None:
    said, stored = run(tmp_path, least=2, most=3, within="0.001 %")
    assert "not resolved" in said
    assert "3 made, 0 failed" in said
    rule = stored["rule"]
    assert (rule["figure"], rule["quantile"]) == ("bulk_goodput_bps_down", 0.5)
    assert (rule["within"], rule["confidence"]) == ("1e-05", 0.7)
    assert (rule["at_least"], rule["at_most"], stored["rounds"]) == (2, 3, 2)
    (found,) = stored["conditions"]
    assert (found["state"], found["n"], found["seeds"]) == ("not resolved", 3, ["0", "1", "2"])
    # The median of three, at 70 %: from the least to the greatest, which holds it in 1 - 2 / 2³ of all cases.
    values = goodputs(tmp_path)
    assert len(set(values)) == 3, "the seeds made no difference"
    assert [found["low"], found["estimate"], found["high"]] == pytest.approx(values)
    assert found["unit"] == "bit/s"
    assert found["bound"] == pytest.approx(values[1] * 1e-5)
    assert found["reach"] == pytest.approx(max(values[1] - values[0], values[2] - values[1]))
    assert found["reach"] > found["bound"]
    assert "the bound is" in found["reason"]

    # The same runs, which are not made again, and a rule that they keep: nobody asks for a fourth or fifth.
    said, stored = run(tmp_path, least=3, most=5, within="50 %")
    assert "not resolved" not in said
    assert len(lab.run_dirs(tmp_path / "out")) == 3
    (found,) = stored["conditions"]
    assert (found["state"], found["n"], found["seeds"]) == ("resolved", 3, ["0", "1", "2"])
    assert (stored["rounds"], stored["rule"]["within"]) == (1, "0.5")
    assert found["reach"] <= found["bound"] == pytest.approx(values[1] * 0.5)
