"""The shaper in an experiment, oracles, and what tune would type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lab
from narrows.errors import SpecError, StoreError
from narrows.line.tune import setting
from narrows.line.tune.measure import Echoes, server
from narrows.line.tune.setting import Setting
from narrows.line.tune.tuning import quantile
from narrows.spec import follow, square
from narrows.tools.shape.parse import parse

HOME = 'link = Home(rate="20 Mbit/s", base_rtt="20 ms", queue=bfifo(limit="100 KB"), router={router})\n'
LOAD = 'load = bulk(duration="1 s")\n'
WISH = Setting("eth0", "ifb4eth0", 95, "ethernet", "diffserv3", True)


def test_shape_is_a_program_of_the_home_router_up_before_the_traffic(tmp_path: Path) -> None:
    router = "home_router(egress=cake(), ingress=cake(ingress=True))"
    plan = lab.plan(tmp_path, HOME.format(router=router) + 'ours = shape(share="90 %")\n' + LOAD)
    (item,) = [item for item in plan.traffic if item.id == "ours"]
    assert (item.node, item.background) == ("home", True)
    words = " ".join(item.argv)
    assert words == "@agent shape run --wan eth1 --share 90 --ifb ifb4eth1 --every-ms 50"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (HOME.format(router="home_router(ingress=cake())") + "ours = shape()\n", "egress queue is none"),
        (HOME.format(router="home_router(ingress=pfifo())") + 'ours = shape(ways="down")\n', "is pfifo"),
        ('link = Link(rate="10 Mbit/s")\nours = shape()\n', "only a Home has a home router"),
        (HOME.format(router="home_router()") + 'ours = shape(probe="example.org")\n', "no place to probe"),
        (HOME.format(router="home_router()") + 'ours = shape(share="20 %")\n', "from 50 % to 100 %"),
        (HOME.format(router='home_router(ingress=pie(), ingress_rate=sine("4 Mbit/s", "1 Mbit/s"), '
                            'ingress_shaper=tbf(burst="15 KB"))'), "moves, which only CAKE"),
    ],
)  # fmt: skip
def test_what_cannot_be_shaped_is_refused_with_its_place(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(SpecError, match=r"tiny\.py") as error:
        lab.plan(tmp_path, text + LOAD)
    assert part in str(error.value)


def test_an_oracle_follows_a_share_of_the_rate_and_later_by_its_delay() -> None:
    rate = square("10 Mbit/s", "80 Mbit/s", "20 s")
    assert follow(rate).steps == ((0, 76_000_000), (10_000_000_000, 9_500_000))
    later = follow(rate, share="100 %", delay="1 s")
    assert later.steps == ((0, 10_000_000), (1_000_000_000, 80_000_000), (11_000_000_000, 10_000_000))
    with pytest.raises(SpecError, match="does not move"):
        follow("10 Mbit/s")  # type: ignore[arg-type]


def test_an_oracle_sets_the_home_routers_queue(tmp_path: Path) -> None:
    text = """
    rate = square("10 Mbit/s", "80 Mbit/s", "4 s")
    link = Home(rate=rate, base_rtt="20 ms", queue=bfifo(limit="100 KB"),
                router=home_router(ingress=cake(ingress=True), ingress_rate=follow(rate)))
    load = bulk(duration="1 s")
    """
    plan = lab.plan(tmp_path, text)
    assert plan.moving is not None
    shapers = {(each.node, each.iface): each for each in plan.moving.shapers}
    home = shapers["home", "ifb4eth1"]
    assert (home.shaper, home.steps[0].rate_bps) == ("cake", 76_000_000)


def test_the_shapers_lines_become_series_each_way_and_what_nobody_said_is_null() -> None:
    way = {"rate_bps": 10**7, "capacity_bps": None, "queue_beyond_ms": 1.5}
    lines = [{"event": "start"}, {"event": "state", "monotonic_ns": 1_100, "down": way}, {"event": "stop"}]
    parsed = parse("\n".join(map(json.dumps, lines)), epoch_ns=100)
    values = {frame["quantity"][0]: (frame["t_ns"][0], frame["value"][0]) for frame in parsed.samples}
    assert values == {
        "shaper_rate": (1000, 1e7),
        "shaper_capacity": (1000, None),
        "shaper_queue_beyond": (1000, 1.5),
    }
    with pytest.raises(StoreError, match="said nothing"):
        parse('{"event": "start"}', epoch_ns=0)


def test_tune_types_what_a_person_would() -> None:
    # 30 Mbit/s of packets of 1500 bytes are 30.76 Mbit/s with 38 bytes more, and 95 % of that 29.222.
    assert WISH.bandwidth_bps(30e6, 1500) == 29_222_000
    down, up = WISH.bandwidth_bps(30e6, 1500), WISH.bandwidth_bps(10e6, 1500)
    lines = [" ".join(words) for words in WISH.lines(down, up)]
    assert lines[2] == (
        "tc qdisc replace dev ifb4eth0 root handle 4e00: cake bandwidth 29222kbit diffserv3 nat "
        "overhead 38 mpu 84 ingress"
    )
    assert lines[-1].startswith("tc qdisc replace dev eth0 root handle 4e00: cake bandwidth 9740kbit")
    assert not lines[-1].endswith("ingress")


def test_a_qdisc_that_somebody_set_is_known_by_its_handle_and_can_be_made_again() -> None:
    own = "qdisc fq_codel 0: root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms \n"
    assert setting.set_by_somebody(own) is None
    assert setting.set_by_somebody("qdisc cake 4e00: root refcnt 2 bandwidth 1Mbit \n") is None
    theirs = own.replace("0: root", "8001: root")
    line = setting.set_by_somebody(theirs)
    assert line is not None
    words = "handle 8001: fq_codel limit 10240 flows 1024 quantum 1514 target 5ms"
    assert " ".join(setting.words_again(line)) == words


def test_a_server_is_iperf3_or_udp_capacity_with_its_port() -> None:
    assert (server("127.0.0.1").tool, server("127.0.0.1").port) == ("udp", 24601)
    assert server("127.0.0.1:99").port == 99
    assert server("127.0.0.1").packet_bytes == 1250


def test_no_echoes_have_no_quantile() -> None:
    assert quantile(Echoes(), 0.5) is None
    assert quantile(Echoes([3.0, 1.0, 2.0]), 0.5) == 2.0
