"""The UDP capacity test: its items in the plan, and its own reading."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from narrows.errors import SpecError, StoreError
from narrows.plan.build import plan_file
from narrows.plan.items import Command
from narrows.tools.udp_capacity import parse as udp_capacity

S = 1_000_000_000


def argv(directory: Path, options: str) -> tuple[str, ...]:
    path = directory / "experiment.py"
    link = 'link = Link(rate="20 Mbit/s", base_rtt="20 ms")'
    lines = ('"""How much?"""', "from narrows.spec import *", link, f"test = udp_capacity({options})")
    path.write_text("\n".join(lines))
    (plan,) = plan_file(path).plans
    server, client = (item for item in plan.traffic if isinstance(item, Command))
    assert server.argv[3:] == ("--listen", "10.0.2.1:24601")
    return client.argv


def test_its_options_become_arguments(tmp_path: Path) -> None:
    words = argv(tmp_path, 'tests="upload", test_length="5 s", tolerated=0, lower="2.5 ms"')
    assert words[3:] == (
        "--server", "10.0.2.1:24601", "--tests", "upload", "--duration-s", "5", "--tolerated", "0",
        "--lower-ms", "2.5", "--upper-ms", "90",
    )  # fmt: skip


@pytest.mark.parametrize(
    "options", ['test_length="1 s"', 'test_length="61 s"', 'lower="1 s"', "tolerated=-1"]
)
def test_what_cannot_be_is_one_clear_error(tmp_path: Path, options: str) -> None:
    with pytest.raises(SpecError):
        argv(tmp_path, options)


REPORT: dict[str, Any] = {
    "tool": "udp-capacity",
    "sub_interval_ns": S,
    "download": {
        "began_ns": 4 * S,
        # bytes, datagrams, lost, reordered, duplicated, delay mean, min, max in µs
        "sub_intervals": [
            [500_000, 400, 0, 0, 0, 100.0, 0.0, 900.0],
            [1_250_000, 1001, 250, 2, 1, 40_000.0, 10.0, 50_000.0],
            [0, 0, 0, 0, 0, None, None, None],
        ],
        "reports": [[4 * S + 50_000_000, 500_000, 0, None], [4 * S + 100_000_000, 10_000_000, 11, 2500.0]],
    },
}


def test_the_result_is_the_best_second_with_what_it_cost() -> None:
    parsed = udp_capacity.parse(json.dumps(REPORT), epoch_ns=3 * S)
    found = {(m.name, m.direction): m.value for m in parsed.metrics}
    assert found["udp_capacity_bps", "down"] == 10e6
    assert found["udp_capacity_mean_bps", "down"] == pytest.approx(14e6 / 3)
    # 250 lost, 1000 distinct ones received
    assert found["udp_capacity_loss_ratio", "down"] == 0.2
    assert found["udp_capacity_delay_variation_mean_ms", "down"] == 40
    assert found["udp_capacity_delay_variation_max_ms", "down"] == 50
    frame = pl.concat(parsed.samples)
    rows = {name: frame.filter(pl.col("quantity") == name).select("t_ns", "value").rows() for name in
            ("throughput", "sending_rate", "delay_variation")}  # fmt: skip
    assert rows["throughput"] == [(2 * S, 4e6), (3 * S, 10e6), (4 * S, 0.0)]
    assert rows["sending_rate"][1] == (1_100_000_000, 10e6)
    assert [value for _, value in rows["delay_variation"]] == [None, 2.5]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "udp-capacity client: the server does not answer",
        json.dumps(REPORT)[:150],
        "{}",
        '{"sub_interval_ns": 0, "download": {"sub_intervals": [[1,1,0,0,0,1,1,1]], "reports": []}}',
        '{"sub_interval_ns": 1, "download": {"began_ns": 1, "sub_intervals": [], "reports": []}}',
        '{"sub_interval_ns": 1, "download": {"began_ns": 1, "sub_intervals": [[1]], "reports": []}}',
    ],
)
def test_garbage_is_one_clear_error(text: str) -> None:
    with pytest.raises(StoreError):
        udp_capacity.parse(text, epoch_ns=0)
