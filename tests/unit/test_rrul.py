"""RRUL: its items in the plan, as Flent 2.3 defines the test, and its own reading."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from narrows.errors import SpecError
from narrows.plan.build import plan_file
from narrows.plan.items import AtTime, IcmpEcho, TcpBulk, UdpProbe
from narrows.plan.model import Plan
from narrows.store.parsers.common import Parsed
from narrows.store.whose import Whose
from narrows.tools.rrul import parse as rrul

S = 1_000_000_000
CS1, CS5, EF = 8, 40, 46


def planned(directory: Path, *lines: str) -> Plan:
    path = directory / "experiment.py"
    link = 'link = Link(rate="20 Mbit/s", base_rtt="20 ms")'
    path.write_text("\n".join(('"""Who waits?"""', "from narrows.spec import *", link, *lines)))
    (plan,) = plan_file(path).plans
    return plan


def test_rrul_has_four_flows_each_way_in_four_classes_three_udp_probes_and_icmp(tmp_path: Path) -> None:
    plan = planned(tmp_path, 'load = rrul(start_jitter="0 s")')
    bulk = [item for item in plan.traffic if isinstance(item, TcpBulk)]
    assert [(b.id, b.flows, b.dscp) for b in bulk] == [
        ("load.down-BE", 1, 0), ("load.down-BK", 1, CS1), ("load.down-CS5", 1, CS5), ("load.down-EF", 1, EF),
        ("load.up-BE", 1, 0), ("load.up-BK", 1, CS1), ("load.up-CS5", 1, CS5), ("load.up-EF", 1, EF),
    ]  # fmt: skip
    # 5 s of probes alone, 60 s of load, 5 s alone
    assert {(b.start, b.stop) for b in bulk} == {(AtTime(at_ns=5 * S), AtTime(at_ns=65 * S))}
    udp = [item for item in plan.traffic if isinstance(item, UdpProbe)]
    assert [(u.id, u.dscp) for u in udp] == [("load.udp-EF", EF), ("load.udp-BK", CS1), ("load.udp-BE", 0)]
    probes: list[UdpProbe | IcmpEcho] = [*udp, *(item for item in plan.traffic if isinstance(item, IcmpEcho))]
    assert len(probes) == 4
    assert {(p.start, p.stop, p.interval_ns) for p in probes} == {
        (AtTime(at_ns=0), AtTime(at_ns=70 * S), S // 5)
    }
    assert len({b.port for b in bulk[:4]}) == len({u.port for u in udp} | {0}) == 4


def test_rrul_be_is_best_effort_with_three_udp_probes_and_with_more_flows_one(tmp_path: Path) -> None:
    for flows, probes in ((4, 3), (64, 1)):
        plan = planned(tmp_path, f"load = rrul_be(flows={flows})")
        bulk = [item for item in plan.traffic if isinstance(item, TcpBulk)]
        assert [(b.id, b.flows, b.dscp) for b in bulk] == [
            ("load.down-BE", flows, 0),
            ("load.up-BE", flows, 0),
        ]
        assert sum(isinstance(item, UdpProbe) for item in plan.traffic) == probes


def test_ecn_of_its_flows_is_set_at_both_ends(tmp_path: Path) -> None:
    plan = planned(tmp_path, "load = rrul(ecn=True)")
    asked = {step.node for step in plan.setup if step.args == ("-w", "net.ipv4.tcp_ecn=1")}
    assert asked == {"client", "server"}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["load = rrul(flows=6)"], "do not spread evenly"),
        (["load = rrul_be(flows=65)"], "flows"),
        (["load = rrul_be(delay='0 s')"], "delay"),
        (["a = rrul_be()", "b = rrul_be(start=after(a))"], "needs a start that is a time"),
    ],
)
def test_what_cannot_be_is_one_clear_error(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        planned(tmp_path, *lines)


def probe(name: str, *points: tuple[float, float | None]) -> Parsed:
    parsed = Parsed()
    times = [round(t * S) for t, _ in points]
    parsed.add("rtt", "ns", times, [None if ms is None else ms * 1e6 for _, ms in points])
    return parsed.of(Whose("r", name))


def bulk_of(name: str, direction: str, *rates_bps: float) -> Parsed:
    parsed = Parsed()
    parsed.figure("bulk_goodput_bps", sum(rates_bps), "bit/s", direction)
    for number, rate in enumerate(rates_bps):
        parsed.figure("bulk_goodput_bps", rate, "bit/s", direction, flow=str(number))
    return parsed.of(Whose("r", name))


def figures(parsed: Parsed) -> dict[tuple[str | None, str, str | None], float]:
    return {(m.part, m.name, m.direction): m.value for m in parsed.metrics}


def test_sums_are_of_the_flows_and_pings_of_the_load_with_the_idle_ones_apart() -> None:
    parts = {
        "r.down-BE": bulk_of("r.down-BE", "down", 3e6, 5e6),
        "r.up-BE": bulk_of("r.up-BE", "up", 1e6, 1e6),
        # idle: before 5 s; load: 5 s up to, not including, 15 s; what follows counts nowhere
        "r.udp-BE": probe("r.udp-BE", (0, 20), (4.9, 22), (5, 100), (14.9, 200), (15, 900)),
        "r.icmp": probe("r.icmp", (1, 25), (6, 50), (7, None)),
    }
    found = figures(rrul.parse("r", parts, load_from_ns=5 * S, load_to_ns=15 * S, flows=2))
    assert found[None, "rrul_tcp_sum_bps", "down"] == 8e6
    assert found[None, "rrul_tcp_avg_bps", "down"] == 4e6
    assert found[None, "rrul_tcp_totals_bps", None] == 10e6
    assert found["r.udp-BE", "rrul_ping_idle_ms", None] == 21
    assert found["r.udp-BE", "rrul_ping_loaded_ms", None] == 150
    assert found["r.icmp", "rrul_ping_loaded_ms", None] == 50  # the lost one counts nowhere
    assert found[None, "rrul_ping_loaded_avg_ms", None] == 100  # (150 + 50) / 2
    assert found[None, "rrul_ping_idle_avg_ms", None] == 23


def test_without_one_flow_or_one_probe_there_is_no_sum_and_no_average() -> None:
    parts = {
        "r.down-BE": bulk_of("r.down-BE", "down", 3e6),
        "r.up-BE": bulk_of("r.up-BE", "up", 1e6, 1e6),
        "r.udp-BE": probe("r.udp-BE", (0, 20), (6, 100)),
        "r.icmp": probe("r.icmp", (1, 25), (6, None)),
    }
    parsed = rrul.parse("r", parts, load_from_ns=5 * S, load_to_ns=15 * S, flows=2)
    found = figures(parsed)
    assert (None, "rrul_tcp_sum_bps", "down") not in found
    assert (None, "rrul_tcp_totals_bps", None) not in found
    assert (None, "rrul_ping_loaded_avg_ms", None) not in found
    assert found[None, "rrul_tcp_sum_bps", "up"] == 2e6
    assert len(parsed.warnings) == 2


def test_the_goodput_of_a_flow_over_time_is_what_was_acknowledged_between_two_samples() -> None:
    part = bulk_of("r.down-BE", "down", 1e6)
    part.add(
        "tcp_info.bytes_acked", "bytes", [0, S // 5, S // 2], [0, 25_000, 25_000],
        direction="down", flow="tcp a:1>b:2",
    )  # fmt: skip
    samples = rrul.parse("r", {"r.down-BE": part}, load_from_ns=0, load_to_ns=S, flows=1).samples
    rows = pl.concat(samples).filter(pl.col("quantity") == "throughput")
    # 25 000 bytes in 0.2 s are 1 Mbit/s; nothing in the next 0.3 s is 0
    assert rows.select("t_ns", "value").rows() == [(S // 5, 1e6), (S // 2, 0.0)]
