"""A thousand flows: the same seed gives the same bytes, and no packet is lost from sight."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import lab

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

MANY = """
link = Dumbbell(
    rate="1 Gbit/s",
    queue=bfifo(limit="5 MB"),
    pairs=[pair("20 ms", senders=2), pair("100 ms", senders=2)],
    receivers=3,
)
reno = bulk(cca="reno", flows=500, start_spread="500 ms", duration="2 s")
bbr = bulk(cca="bbr", flows=500, start_spread="500 ms", duration="2 s")
tap("drops", interval="10 ms")
flow_tap(warm_up="1 s", interval="100 ms")
sample(tcp_info=None, qdisc=None, link=None)
"""


def test_a_thousand_flows_twice_give_the_same_bytes(tmp_path: Path) -> None:
    plan = lab.plan(tmp_path, MANY)
    first, second = (lab.carry(plan, tmp_path / name).ok() for name in ("first", "second"))
    for name in ("tap.bin", "flow_tap.bin", *(f"{item.id}.flows.csv" for item in plan.traffic)):
        assert first.bytes_of(name) == second.bytes_of(name), name


def test_a_thousand_flows_lose_no_packet_from_sight(tmp_path: Path) -> None:
    (made,) = lab.make([lab.plan(tmp_path, MANY)], tmp_path / "results")
    made.ok()
    checks = [check for hop in made.manifest["conservation"] for check in hop["checks"]]
    assert checks
    assert not [check for check in checks if check["verdict"] == "failed"]
    flows = pl.read_parquet(made.directory / "tcp_flows.parquet")
    assert flows.height == 1000
    assert flows["bytes_acked"].min() is not None
    # All that was acknowledged in a second cannot be more than the bottleneck can carry, with its queue.
    assert int(flows["bytes_acked"].sum()) <= (1e9 / 8) * 1.01 + 5e6


# No BBR: it draws random numbers, and another number of nodes is another draw.
RECEIVERS = """
link = Dumbbell(
    rate="100 Mbit/s", queue=bfifo(limit="1 MB"), pairs=[pair("20 ms", senders=3), pair("50 ms", senders=2)],
    receivers=axis("receivers", [1, 4]),
)
flow = bulk(cca=axis("cca", ["reno", "cubic"]), flows=10, start_spread="1 s", duration="10 s")
tap("drops", interval="100 ms")
flow_tap(warm_up="2 s", interval="1 s")
sample(tcp_info=None, qdisc=None, link=None)
"""
NAMES = ("run_id", "label", "src", "dst", "sport", "dport")


def test_how_many_nodes_receive_changes_nothing_that_a_sender_sees(tmp_path: Path) -> None:
    made = lab.make(list(lab.plans(tmp_path, RECEIVERS)), tmp_path / "results")
    tables = {}
    for one in made:
        key = one.ok().manifest["key"]
        flows = pl.read_parquet(one.directory / "tcp_flows.parquet").sort("flow")
        assert flows.height == 10
        assert flows["dst"].n_unique() == int(key["receivers"])
        tables[key["cca"], key["receivers"]] = flows.drop(NAMES)
    for cca in ("reno", "cubic"):
        assert int(tables[cca, "1"]["lost_packets"].sum()) > 0
        assert tables[cca, "1"].equals(tables[cca, "4"]), cca
