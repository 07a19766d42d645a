"""A run over time: panels of made-up series, and what a page carries of them."""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib
from pathlib import Path
from typing import Any

import made_up_runs
import numpy as np
import polars as pl
import pytest

import labels
from narrows.figures.over_time import OverTime, Panel, over_time
from narrows.report import over_time as pages
from narrows.runs.observed import Observed
from narrows.store import schema

MS, S = 10**6, 10**9


def sample(
    source: str, way: str | None, name: str, unit: str, t: int, value: float, flow: str | None = None
) -> dict[str, Any]:
    row = {
        **labels.whose(source)._asdict(),
        "direction": way,
        "quantity": name,
        "unit": unit,
        "t_ns": t,
        "value": value,
    }
    return row | {"run_id": "a", "flow": flow} | ({"item": "ndt"} if flow else {})


@pytest.fixture
def run(tmp_path: Path) -> Observed:
    flow = "tcp 10.0.2.1:80>10.0.0.1:40000"
    rows = []
    for k in range(1000):
        t = k * 10 * MS
        rows.append(sample("bottleneck/ndt", "down", "throughput_10ms", "bit/s", t, 5e6))
        rows.append(sample("bottleneck", "down", "throughput_10ms", "bit/s", t, 5e6))
        rows.append(
            sample("bottleneck", "down", "sojourn_p50_10ms", "ns", t, 3 * MS if k != 500 else 80 * MS)
        )
        rows.append(sample("bottleneck", "down", "drops_10ms", "packets", t, float(k == 700)))
        rows.append(sample("tcp", None, "tcp_info.snd_cwnd", "packets", t, 10.0, flow))
        rows.append(sample("tcp", None, "tcp_info.snd_ssthresh", "packets", t, 7.0, flow))
    rows += [sample("ndt", "down", "video_height", "1", k * S, 360.0 + k) for k in range(9)]
    rows += [sample("ndt", "down", "call_bytes", "bytes", k * S, 125_000.0 * k) for k in range(9)]
    schema.write(schema.conform(pl.DataFrame(rows), "samples"), tmp_path / "samples.parquet")
    return dataclasses.replace(made_up_runs.run({"seed": "0"}), folder=tmp_path)


def by_key(known: OverTime | None) -> dict[str, Panel]:
    assert known is not None
    return {panel.key: panel for panel in known.panels}


def test_panels_follow_from_the_series_that_are_there(run: Observed) -> None:
    panels = by_key(over_time(run, stretches=50))
    assert {
        "rate_down",
        "delay_down",
        "counts_down",
        "tcp_cwnd",
        "own_height_of_the_picture",
        "own_bitrate",
    } == set(panels)
    (rate,) = panels["rate_down"].lines
    assert (rate.data.value == 5.0).all()
    (delay,) = panels["delay_down"].lines
    assert delay.data.high is not None
    assert delay.data.high.max() == 80.0
    assert sum(panels["counts_down"].lines[0].data.value) == 1
    assert panels["own_height_of_the_picture"].unit == "lines"
    assert panels["own_bitrate"].lines[0].data.value.tolist() == [1.0] * 8


def test_a_window_is_read_more_finely_than_the_whole(run: Observed) -> None:
    known = over_time(run, (4 * S, 4 * S + 200 * MS), stretches=50)
    assert known is not None
    assert known.span_ns == (4 * S, 4 * S + 200 * MS)
    (rate,) = next(panel for panel in known.panels if panel.key == "rate_down").lines
    assert rate.data.t.size == 20
    assert rate.data.low is None


def test_a_page_carries_runs_until_they_fit_and_script_and_page_read_the_same(
    run: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = pages.carried([run])
    plain = json.loads(zlib.decompress(base64.b64decode(one.data)))
    assert plain["run"] == run.run_id
    rate = next(panel for panel in plain["panels"] if panel["key"] == "rate_down")["lines"][0]
    assert set(rate["v"]) == {5.0}
    assert len(rate["t"]) == len(rate["v"]) == len(rate["lo"])
    monkeypatch.setattr(pages, "CARRIED_BYTES", len(one.data) // 2)
    (thinner,) = pages.carried([run])
    assert len(thinner.data) < 0.7 * len(one.data)


def test_values_have_four_digits_and_what_is_not_known_is_null() -> None:
    values = pages._short(np.array([1234567.0, 0.000123456, float("nan"), 0.0, -5.5]))
    assert values == [1235000.0, 0.0001235, None, 0.0, -5.5]


def test_a_run_of_a_shard_has_no_series(run: Observed) -> None:
    assert over_time(dataclasses.replace(run, folder=None)) is None
