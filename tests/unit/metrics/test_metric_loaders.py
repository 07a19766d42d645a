"""What loaded the link where no NDT7 test did: its own rate, and when, in each direction."""

from __future__ import annotations

from typing import Any

import polars as pl

from made_up_plans import whole
from narrows.plan.model import Plan
from narrows.runs.loaders import loaders

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
    return whole({"traffic": list(traffic), "composites": composites, "link": {"pairs": pairs}})


def spans(**of: tuple[int, int]) -> dict[str, Any]:
    return {
        "items": {
            name.replace("__", "."): {"start_ns": start * S, "end_ns": end * S}
            for name, (start, end) in of.items()
        }
    }


def metrics(*rows: tuple[str, str | None, str, float | None]) -> pl.DataFrame:
    schema = {"source": pl.String, "direction": pl.String, "name": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def samples(*rows: tuple[str, str, str, int]) -> pl.DataFrame:
    schema = {"source": pl.String, "direction": pl.String, "series": pl.String, "t_ns": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_a_flow_loads_its_direction_from_its_start_to_its_end() -> None:
    found = loaders(
        plan(item("probe", "udp_probe"), item("flow"), item("later"), item("back")),
        spans(probe=(0, 9), flow=(1, 5), later=(2, 9), back=(3, 8)),
        metrics(
            ("flow", "down", "bulk_goodput_bps", 9e6),
            ("later", "down", "bulk_goodput_bps", 1e6),
            ("back", "up", "bulk_goodput_bps", 2e6),
            ("flow", "down", "bulk_bytes_received", 1.0),
        ),
        samples(),
    )
    told = {way: (test.source, test.rate_bps, test.window) for way, test in found.items()}
    # The first item of the experiment in each direction.
    assert told == {"down": ("flow", 9e6, (S, 5 * S)), "up": ("back", 2e6, (3 * S, 8 * S))}


def test_a_tool_of_several_items_has_its_own_rate_and_its_parts_times() -> None:
    found = loaders(
        plan(
            item("test.down-server", "command", "iperf3-server", background=True),
            item("test.down", "command", "capacity_test"),
            item("test.up", "command", "capacity_test"),
            parts={"test": ["test.down", "test.up"]},
        ),
        spans(test__down=(0, 13), test__up=(15, 28)),
        metrics(
            ("test", "down", "capacity_test_throughput_bps", 19e6),
            ("test", "up", "capacity_test_throughput_bps", 9e6),
        ),
        samples(),
    )
    assert {way: (t.source, t.window) for way, t in found.items()} == {
        "down": ("test", (0, 13 * S)),
        "up": ("test", (15 * S, 28 * S)),
    }


def test_where_a_program_loads_one_direction_after_the_other_its_series_say_when() -> None:
    found = loaders(
        plan(item("web", "command", "web_speed")),
        spans(web=(0, 30)),
        metrics(
            ("web", "down", "ookla_model_throughput_bps", 19e6),
            ("web", "up", "ookla_model_throughput_bps", None),  # not measured is no load
        ),
        samples(("web", "down", "throughput", 2 * S), ("web", "down", "throughput", 11 * S)),
    )
    assert {way: t.window for way, t in found.items()} == {"down": (2 * S, 11 * S + 1)}
    without = loaders(
        plan(item("rpm", "command", "rpm")),
        spans(rpm=(0, 30)),
        metrics(("rpm", "up", "rpm_goodput_bps", 1e6)),
        samples(),
    )
    assert without["up"].window is None


def test_many_flows_of_a_dumbbell_are_no_test() -> None:
    one = metrics(("flow", "down", "bulk_goodput_bps", 9e6))
    assert (
        loaders(
            plan(item("flow"), pairs=[{"name": "a", "senders": ["sender1"], "base_rtt_ns": 1}]),
            spans(flow=(0, 1)),
            one,
            samples(),
        )
        == {}
    )
