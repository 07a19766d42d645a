"""When tools say that they loaded each direction."""

from __future__ import annotations

from typing import Any

import polars as pl

import labels
from made_up_plans import whole
from narrows.plan.model import Plan
from narrows.runs.windows import windows

S = 10**9


def item(
    name: str, kind: str = "tcp_bulk", tool: str | None = None, background: bool = False
) -> dict[str, Any]:
    return {"id": name, "kind": kind, "tool": tool or "x", "background": background}


def plan(*traffic: dict[str, Any], parts: dict[str, list[str]] | None = None, pairs: Any = ()) -> Plan:
    composites = [
        {"id": name, "parts": of, "in_turn": {part.rpartition(".")[2]: part for part in of}}
        for name, of in (parts or {}).items()
    ]
    whole_of = {part: name for name, of in (parts or {}).items() for part in of}
    traffic = tuple(each | {"item": whole_of.get(each["id"], each["id"])} for each in traffic)
    return whole({"traffic": list(traffic), "composites": composites, "link": {"pairs": pairs}})


def spans(**of: tuple[int, int]) -> dict[str, Any]:
    return {
        "items": {
            name.replace("__", "."): {"start_ns": start * S, "end_ns": end * S}
            for name, (start, end) in of.items()
        }
    }


def samples(*rows: tuple[str, str, str, int]) -> pl.DataFrame:
    made = labels.rows("samples", rows, ("label", "direction", "quantity", "t_ns"))
    return made.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def test_a_tool_of_several_items_has_its_parts_times() -> None:
    found = windows(
        plan(
            item("test.down-server", "command", "iperf3-server", background=True),
            item("test.down", "command", "capacity_test"),
            item("test.up", "command", "capacity_test"),
            parts={"test": ["test.down", "test.up"]},
        ),
        spans(test__down=(0, 13), test__up=(15, 28)),
        {},
        samples(),
    )
    assert found == {("test", "down"): (0, 13 * S), ("test", "up"): (15 * S, 28 * S)}


def test_where_a_program_loads_one_direction_after_the_other_its_series_say_when() -> None:
    every = plan(item("probe", "udp_probe"), item("flow"), item("web", "command", "web_speed"))
    rows = samples(
        ("web", "down", "throughput", 2 * S),
        ("web", "down", "throughput", 11 * S),
        ("web", "down", "latency", 12 * S),
        ("flow", "down", "throughput", 4 * S),
        ("probe", "down", "throughput", 4 * S),
    )
    # A flow loads from its start to its end, which is known without its series; a probe loads nothing.
    assert windows(every, spans(web=(0, 30), flow=(1, 5)), {}, rows) == {("web", "down"): (2 * S, 11 * S + 1)}
    assert windows(every, spans(web=(0, 30)), {}, samples()) == {}


def test_a_speed_test_measured_for_as_long_as_it_says_until_its_ends_last_sample() -> None:
    every = plan(item("ndt", "command", "ndt7"))
    rows = samples(
        ("ndt/client", "down", "app_info.num_bytes", 12 * S),
        ("ndt/server", "down", "tcp_info.rtt", 17 * S),
        ("ndt/server", "up", "tcp_info.rtt", 30 * S),
    )
    elapsed = labels.said({("ndt", "down", "ndt7_elapsed_s"): 10.0})
    # 17 s - 10 s; of the upload it does not say how long it took.
    assert windows(every, spans(ndt=(5, 40)), elapsed, rows) == {("ndt", "down"): (7 * S, 17 * S + 1)}
