"""What an experiment asks of the kernel: options that could never act are refused, new words are said to tc,
and none of it is a part of a run's id twice."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

import lab
from narrows.errors import SpecError
from narrows.line.tune.setting import Setting
from narrows.plan.identity import plan_hash, run_id
from narrows.plan.model import Asked
from narrows.store import kept
from narrows.store.agent_result import AgentResult

LINK = 'link = {}\nflow = bulk(duration="1 s")\n'
QUEUE = 'Link(rate="10 Mbit/s", base_rtt="20 ms", queue={})'
HOME = 'Home(rate="10 Mbit/s", base_rtt="20 ms", router=home_router({}))'


@pytest.mark.parametrize(
    ("link", "said"),
    [
        (QUEUE.format('fq_codel(ce_threshold_selector="0x01/0x03")'), "there is none.*ce_threshold="),
        (QUEUE.format('fq_pie(ecn_prob="50 %")'), "ecn_prob .* ecn is off.*ecn=True"),
        (QUEUE.format('red(limit="100 KB", harddrop=True)'), "harddrop .* never act.*ecn=True"),
        (QUEUE.format('red(limit="100 KB", nodrop=True)'), "nodrop .* never act.*ecn=True"),
        (QUEUE.format('sfq(redflowlimit="100 KB", harddrop=True)'), "harddrop .* never act"),
        (QUEUE.format("cake(fwmark=255)"), "fwmark: no packet here has a firewall's mark"),
        (QUEUE.format('cake(bandwidth="5 Mbit/s")'), "rate would never act.*rate=.5 Mbit/s"),
        (QUEUE.format('fq(maxrate="5 Mbit/s", pacing=False)'), "maxrate .* never act"),
        (QUEUE.format('pfifo(), shaper=tbf(burst="10 KB", latency="20 ms")'), "latency=20 ms would never"),
        (QUEUE.format('pfifo(), shaper=tbf(burst="10 KB", limit="50 KB")'), "limit=50 KB would never act"),
        (QUEUE.format('pfifo(), shaper=htb(mpu="2 KB")'), "mpu: every packet.*at most .1514 B"),
        (QUEUE.format("cake(autorate_ingress=True), shaper=htb()"), "autorate_ingress makes a shaper"),
        ('Link(rate="20 Mbit/s", line_rate="50 Mbit/s", shaper=no_shaper())', "never act.*leave rate out"),
        ('Link(base_rtt="20 ms")', "rate is missing"),
        ('Dumbbell(pairs=[pair("20 ms")])', "rate is missing"),
        (HOME.format('egress=cake(bandwidth="5 Mbit/s"), share="80 %"'), "share would never act"),
        (HOME.format('egress=pfifo(), egress_shaper=tbf(burst="5 KB", limit="9 KB")'), "limit=9 KB"),
        ('Link(rate="10 Mbit/s", loss_burst=4)', "there are none"),
        ('Link(rate="10 Mbit/s", offloads={"tso": True, "sg": False})', "tso needs sg, which is off"),
        ('Link(rate="10 Mbit/s", base_rtt=None, reorder="1 %")', "nothing to overtake"),
        # what the kernel keeps as another
        (QUEUE.format('red(limit="400 KB", probability="100 %")'), "probability: .* nearest is 99.99 %"),
        (QUEUE.format('choke(limit=1000, probability="100 %")'), "probability: .* nearest is 99.99 %"),
        (QUEUE.format('sfq(redflowlimit="90 KB", probability="100 %")'), "probability: .* 99.99 %"),
        (QUEUE.format('fq_codel(quantum="100 B")'), "quantum: .* nearest is 256 B"),
        (QUEUE.format('fq(quantum="2 MB")'), "quantum: .* nearest is 1 MiB"),
        (QUEUE.format('fq_codel(memory_limit="3 GB")'), "memory_limit: .* nearest is 2 GiB"),
        (QUEUE.format("sfq(limit=20000)"), "limit: the kernel keeps 16129 of 20000"),
        (QUEUE.format("sfq(limit=4000, flows=4096)"), "flows: the kernel keeps 1024 of 4096"),
        (QUEUE.format('codel(target="1 us")'), "target: .* nearest is 2 µs"),
        (QUEUE.format('pie(tupdate="1500 us")'), "tupdate: 1.5 ms is no multiple of 1 ms.*2 ms"),
        (QUEUE.format('fq(refill_delay="1500 us")'), "refill_delay: .*2 ms"),
        (QUEUE.format('hhf(evict_timeout="500 us")'), "evict_timeout: .* nearest is 1 ms"),
        (QUEUE.format('cake(memlimit="1 KB")'), "memlimit: 1 KB do not hold one packet"),
        (QUEUE.format('fq_codel(memory_limit="1 KB")'), "memory_limit: 1 KB do not hold one packet"),
        (QUEUE.format('sfq(limit="1 BDP")').replace("10 Mbit", "500 kbit").replace("20 ms", "1 ms"),
         "limit: tc takes no 1"),
        (QUEUE.format('red(limit="4 MB", min="150 KB", max="1500 KB", avpkt="1500 B", burst=500)'),
         "the kernel takes no filter of 11 halvings .*burst at most"),
    ],
)  # fmt: skip
def test_what_could_never_act_or_is_kept_as_another_is_refused(tmp_path: Path, link: str, said: str) -> None:
    with pytest.raises(SpecError, match=f"(?s){said}"):
        lab.plan(tmp_path, LINK.format(link))


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (QUEUE.format('cake(overhead="docsis")'), "noatm overhead 18 mpu 64"),
        (QUEUE.format('cake(overhead="pppoe-ptm", rtt="lan")'), "rtt 1ms ptm overhead 30"),
        (QUEUE.format('cake(rtt="internet")'), "rtt 100ms"),
        (
            'Link(rate="10 Mbit/s", base_rtt="20 ms", loss="2 %", loss_burst=4)',
            "gemodel 0.510204% 25% 100% 0%",
        ),
        ('Link(rate="10 Mbit/s", base_rtt="20 ms", duplicate="3 %")', "duplicate 3%"),
        ('Link(rate="10 Mbit/s", base_rtt="20 ms", reorder="2 %")', "reorder 2%"),
        ('Link(rate="10 Mbit/s", host_queue=fq())', "dev eth0 root handle 1: fq limit 10000"),
        (QUEUE.format("pfifo(), mtu=9000, shaper=policer()"), "rate 10Mbit burst 100000 mtu 9014"),
    ],
)
def test_new_words_are_said_to_tc(tmp_path: Path, link: str, words: str) -> None:
    plan = lab.plan(tmp_path, LINK.format(link))
    assert words in "\n".join(step.command() for step in plan.setup)


def test_the_options_of_iperf3_over_tcp(tmp_path: Path) -> None:
    text = 'link = Link(rate="10 Mbit/s")\nt = iperf3(duration="2 s", {})\n'
    given = 'rate="5 Mbit/s", mss="1200 B", length="16 KiB", window="100 KB"'
    (_, client) = lab.plan(tmp_path, text.format(given)).traffic
    said = " ".join(client.argv)  # type: ignore[union-attr]
    assert "-b 5000000 -M 1200 -l 16384 -w 100000" in said
    with pytest.raises(SpecError, match=r"mss: 1500 B would never act.*1460"):
        lab.plan(tmp_path, text.format('mss="1500 B"'))
    with pytest.raises(SpecError, match="rate is of TCP"):
        lab.plan(tmp_path, text.format('rate="1 Mbit/s", udp_rate="1 Mbit/s"'))


def test_what_is_asked_changes_no_id(tmp_path: Path) -> None:
    plan = lab.plan(tmp_path, lab.SMALL)
    other = plan.model_copy(update={"asked": ()})
    assert plan.asked
    assert plan_hash(plan) == plan_hash(other)
    assert run_id(plan, kernel="k", agent="a") == run_id(other, kernel="k", agent="a")


def option(number: int, value: int) -> bytes:
    return struct.pack("=HHI", 8, number, value)


def read_back(options: bytes, **asked: Any) -> list[str]:
    """What differs of an fq_codel that the kernel keeps so."""
    row = {"what": "qdisc", "kind": "fq_codel", "handle": "1:", "parent": "root", "options": options.hex()}
    wanted = Asked(node="router", iface="eth0", what="qdisc", at="1:", kind="fq_codel", options=asked)
    result = AgentResult.model_construct(kept={"router": {"eth0": {"mtu": 1500, "tc": [row]}}})
    _, others = kept._of_one(wanted, result.kept["router"]["eth0"]["tc"])
    return [each.line() for each in others]


def test_asked_and_kept_stand_side_by_side() -> None:
    # target 5 ms is 4882 ticks of 1.024 us, which are 4999 us
    options = option(1, 4999) + option(6, 256) + option(4, 1)
    assert read_back(options, target=5_000_000, quantum=256, ecn=1) == []
    where = "router eth0: qdisc 1: fq_codel"
    assert read_back(options, quantum=100) == [f"{where}: quantum: asked 100 B, the kernel kept 256 B"]
    assert read_back(options, target=4_000_000) == [f"{where}: target: asked 4 ms, the kernel kept 4.999 ms"]
    assert read_back(options, ce_threshold=10**6) == [
        f"{where}: ce_threshold: asked 1 ms, the kernel kept none"
    ]


def test_a_rate_that_32_bits_of_bytes_do_not_hold_is_read_where_the_kernel_keeps_it() -> None:
    rates = Asked(node="path", iface="eth0", what="qdisc", at="1:", kind="netem", options={"rate": 10**11})
    # 2^32 - 1 in struct tc_netem_rate, and 12.5e9 bytes a second in TCA_NETEM_RATE64.
    wide = struct.pack("=HHIiIi", 20, 6, 2**32 - 1, 0, 0, 0) + struct.pack("=HHQ", 12, 8, 12_500_000_000)
    row = {"what": "qdisc", "kind": "netem", "handle": "1:", "options": (bytes(24) + wide).hex()}
    assert kept._of_one(rates, [row]) == (2, [])
    narrow = struct.pack("=HHIiIi", 20, 6, 1_250_000, 0, 0, 0)
    row["options"] = (bytes(24) + narrow).hex()
    (other,) = kept._of_one(rates, [row])[1]
    assert other.line().endswith("rate: asked 100 Gbit/s, the kernel kept 10 Mbit/s")


@pytest.mark.parametrize(
    ("link", "words", "bps"),
    [
        ("docsis", "overhead 18 mpu 64", 10_120_000),
        # 1540 bytes fill 33 cells, and are 25 times 64
        ("atm", "atm overhead 40 mpu 0", 11_660_000),
        ("ptm", "ptm overhead 30 mpu 64", 10_360_000),
    ],
)
def test_tune_counts_the_cells_of_a_line(link: str, words: str, bps: int) -> None:
    setting = Setting("wan", "ifb", 100, link, "besteffort", nat=False)
    assert words in " ".join(setting.cake("wan", bps, ingress=False))
    assert setting.bandwidth_bps(10e6, 1500) == bps
