"""How `l4s=True` is lowered: filters on both hosts for that item's port, and ECN where iperf3 connects."""

from __future__ import annotations

from pathlib import Path

import pytest

import lab
from narrows.errors import SpecError

LINK = 'link = Link(rate="20 Mbit/s", base_rtt="20 ms", queue=dualpi2())\n'


def commands(tmp_path: Path, text: str) -> list[str]:
    return [f"{s.node}: {s.command()}" for s in lab.plan(tmp_path, LINK + text).setup]


def test_only_the_items_own_port_becomes_ect1_in_both_directions(tmp_path: Path) -> None:
    text = 'a = bulk(cca="dctcp", l4s=True, port=7001, duration="1 s")\nb = bulk(port=7002, duration="1 s")\n'
    filters = [line for line in commands(tmp_path, text) if " filter " in line]
    # two hosts x two sides of the connection x (SYN, all others)
    assert len(filters) == 8
    assert all("7001" in line and "7002" not in line for line in filters)
    assert {line.split(":")[0] for line in filters} == {"client", "server"}
    assert sum("set 0x1 retain 0x3" in line for line in filters) == 4
    assert sum("tcp_flags 0x2/0x2" in line and "set 0x0 retain 0x3" in line for line in filters) == 4


def test_without_l4s_there_is_no_filter(tmp_path: Path) -> None:
    assert not [line for line in commands(tmp_path, 'a = bulk(duration="1 s")\n') if "clsact" in line]


@pytest.mark.parametrize(("dscp", "caller"), [("CS0", "client"), ("EF", "server")])
def test_iperf3_asks_for_ecn_at_the_host_that_connects(tmp_path: Path, dscp: str, caller: str) -> None:
    text = f'a = iperf3(cca="dctcp", l4s=True, dscp="{dscp}", duration="1 s")\n'
    ecn = [line for line in commands(tmp_path, text) if "net.ipv4.tcp_ecn=1" in line]
    assert [line.split(":")[0] for line in ecn] == [caller]


@pytest.mark.parametrize("item", ['bulk(l4s=True, duration="1 s")', 'iperf3(l4s=True, duration="1 s")'])
def test_a_classic_cca_may_not_have_ect1(tmp_path: Path, item: str) -> None:
    with pytest.raises(SpecError, match="may not"):
        lab.plan(tmp_path, f"{LINK}a = {item}\n")


def test_dualpi2_gets_a_filter_for_nqb_only_where_asked(tmp_path: Path) -> None:
    text = 'link = Link(rate="20 Mbit/s", queue=dualpi2(nqb=True), queue_up=dualpi2())\n'
    steps = lab.plan(tmp_path, f'{text}a = bulk(duration="1 s")\n').setup
    nqb = [s.command() for s in steps if "0xb4/0xfc" in s.command()]
    assert len(nqb) == 1
    assert "parent 110:" in nqb[0]
    assert nqb[0].endswith("classid 110:2")


def test_docsis_pie_is_linux_pie_with_other_settings(tmp_path: Path) -> None:
    text = 'link = Link(rate="20 Mbit/s", queue=docsis_pie())\na = bulk(duration="1 s")\n'
    plan = lab.plan(tmp_path, text)
    assert plan.link.queue == "docsis_pie"  # as the person called it; tc is told of pie
    assert any(" pie " in step.command() for step in plan.setup)
    assert plan.link.down.queue_options["target"] == "10ms"
    assert plan.link.down.queue_options["beta"] == "32"
