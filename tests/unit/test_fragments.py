"""Fragments of datagrams above the MTU are their item's, or of nobody with a warning, never of port 0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from store_fakes import EPOCH_NS, flow_record, packet_record, plan_dict

from narrows.plan.model import Plan
from narrows.store import fragments, tap, tap_tables
from narrows.store.items import Span

S = 1_000_000_000
UDP = 17
SPANS = {"probe": Span(0, 2 * S), "other": Span(3 * S, 5 * S), "small": Span(0, 5 * S)}


def probe(name: str, payload: int, port: int) -> dict[str, Any]:
    one = next(item for item in plan_dict()["traffic"] if item["kind"] == "udp_probe")
    return one | {"id": name, "item": name, "payload_bytes": payload, "port": port}


def planned(*probes: dict[str, Any], mtu: int = 576) -> Plan:
    changed = plan_dict() | {"traffic": list(probes)}
    changed["link"] = changed["link"] | {"mtu_bytes": mtu}
    return Plan.from_json(json.dumps(changed))


def written(tmp_path: Path, times_ns: list[int], hop: int = 1) -> tap.Tap:
    """Fragments from the client to the server, and between them one whole datagram of a port."""
    path = tmp_path / "tap.bin"
    path.write_bytes(
        b"".join(
            [
                flow_record(hop, 1, "10.0.0.1", 0, "10.0.2.1", 0, protocol=UDP),
                *(packet_record(hop, at, 0, flow=1, size=566) for at in times_ns),
                flow_record(hop, 2, "10.0.0.1", 40000, "10.0.2.1", 5303, protocol=UDP),
                packet_record(hop, S, 0, flow=2, size=106),
            ]
        )
    )
    return tap.read(path)


def items(data: tap.Tap, plan: Plan) -> pl.DataFrame:
    tables = tap_tables.derive("run", plan, data, EPOCH_NS, 6 * S, SPANS)
    chosen = tables.flows.filter(pl.col("label").str.contains("fragments"))
    return chosen.select("item", "arrived_packets", "sport", "dport", "label").sort("item", nulls_last=True)


def test_fragments_are_of_the_one_item_whose_datagrams_are_above_the_mtu(tmp_path: Path) -> None:
    plan = planned(probe("probe", 1472, 5301), probe("small", 64, 5303))
    data, warnings = fragments.assign(written(tmp_path, [S, S, S]), plan, SPANS, EPOCH_NS)
    assert items(data, plan).rows() == [("probe", 3, None, None, "udp 10.0.0.1>10.0.2.1 fragments of probe")]
    assert warnings == []


def test_fragments_that_waited_longer_than_any_item_ran_are_of_the_only_one(tmp_path: Path) -> None:
    plan = planned(probe("probe", 1472, 5301))
    data, warnings = fragments.assign(written(tmp_path, [S, 15 * S]), plan, SPANS, EPOCH_NS)
    assert items(data, plan)["arrived_packets"].to_list() == [2]
    assert warnings == []


def test_two_items_one_after_the_other_each_get_their_fragments(tmp_path: Path) -> None:
    plan = planned(probe("probe", 1472, 5301), probe("other", 1472, 5302))
    # probe ran from 0 to 2 s, other from 3 to 5 s: 0.1 s belongs to the one, 4 and 4.5 s to the other.
    data, warnings = fragments.assign(written(tmp_path, [S // 10, 4 * S, 9 * S // 2]), plan, SPANS, EPOCH_NS)
    assert items(data, plan).select("item", "arrived_packets").rows() == [("other", 2), ("probe", 1)]
    assert warnings == []
    assert np.unique(data.packets["flow"]).size == 3


def test_fragments_of_two_items_at_once_are_of_nobody_and_a_warning_says_how_many(tmp_path: Path) -> None:
    plan = planned(probe("probe", 1472, 5301), probe("other", 1472, 5302))
    both = SPANS | {"other": Span(S, 5 * S)}
    data, (warning,) = fragments.assign(
        written(tmp_path, [S // 2, 3 * S // 2, 7 * S // 4, 4 * S]), plan, both, EPOCH_NS
    )
    # 0.5 s: only probe; 1.5 and 1.75 s: both run; 4 s: probe ended more than a second ago.
    assert items(data, plan).select("item", "arrived_packets").rows() == [
        ("other", 1),
        ("probe", 1),
        (None, 2),
    ]
    assert "2 of 4 fragments" in warning
    assert "other and probe" in warning


def test_fragments_before_any_item_are_of_nobody_without_a_warning(tmp_path: Path) -> None:
    plan = planned(probe("probe", 1472, 5301))
    data, warnings = fragments.assign(written(tmp_path, [-S]), plan, SPANS, EPOCH_NS)
    assert items(data, plan)["item"].to_list() == [None]
    assert warnings == []
