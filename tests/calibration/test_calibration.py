"""The unloaded rig shows its base RTT and its rate, by its own calibration and by other tools; a wrong one
fails before any number counts.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

import lab
from narrows.units import NS_PER_MS

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

QUEUES = (
    "pfifo(limit=200)",
    'bfifo(limit="300 KB")',
    "pfifo_head_drop(limit=200)",
    "pfifo_fast()",
    "codel()",
    "fq_codel()",
    "fq()",
    "sfq()",
    "pie()",
    "fq_pie()",
    'red(limit="400 KB", min="60 KB", max="180 KB", avpkt="1000 B", burst=100)',
    "dualpi2()",
    "cake()",
    "docsis_pie()",
    "choke(limit=1000)",
    "hhf()",
    "sfb()",
)
SHAPERS = ("htb()", 'tbf(burst="15 KB")')
RIGS = [(queue, shaper) for queue in QUEUES for shaper in SHAPERS if queue != "cake()"]
RIGS += [("cake()", "own_shaper()"), ("cake()", "htb()")]
LADDER = [(rtt, rate) for rtt in (1, 20, 100) for rate in (10, 100, 1000)]

IDLE = """
probe = udp_probe(interval="20 ms", duration="400 ms")
echo = icmp_echo(interval="50 ms", duration="400 ms")
ping = command("ping -n -q -i 0.2 -c 3 @server")
"""


def rig(queue: str, shaper: str, rtt_ms: int, rate_mbit: int) -> str:
    link = f'rate="{rate_mbit} Mbit/s", base_rtt="{rtt_ms} ms", queue={queue}, shaper={shaper}'
    return f"link = Link({link})\n"


def round_trips_ns(path: Path) -> list[int]:
    """Of a probe's file; no probe may be lost on an idle rig."""
    rows = list(csv.DictReader(path.open()))
    assert len(rows) >= 8, f"{path.name}: {len(rows)} probes"
    assert all(row["received_ns"] for row in rows), f"{path.name}: probes lost on an idle rig"
    return [int(row["received_ns"]) - int(row["sent_ns"]) for row in rows]


def check_idle_rig(made: lab.Made, rtt_ms: int, rate_mbit: int) -> None:
    said = made.ok().manifest["calibration"]
    assert said["ok"] is True
    assert said["rtt_samples"] > 0
    # Propagation, and the serialisation of small packets: 2 × 200 B at 10 Mbit/s take 0.32 ms.
    most_ms = rtt_ms + 0.02 + 0.32 * 10 / rate_mbit
    for name in ("rtt_min_ns", "rtt_median_ns"):
        assert rtt_ms <= said[name] / NS_PER_MS <= most_ms, name
    for name in ("rate_down_bps", "rate_up_bps"):
        assert said[name] == pytest.approx(lab.rate_of_ip(rate_mbit * 1e6), rel=0.01), name
    # Other tools see the same path: our two probes, and the distribution's ping.
    for name in ("probe.csv", "echo.csv"):
        for round_trip in round_trips_ns(made.directory / "raw" / name):
            assert rtt_ms <= round_trip / NS_PER_MS <= most_ms, name
    told = (made.directory / "raw" / "ping.stdout").read_text()
    match = re.search(r"3 packets transmitted, 3 received.*min/avg/max/mdev = ([\d.]+)/([\d.]+)", told, re.S)
    assert match, told
    assert rtt_ms - 0.001 <= float(match[1]) <= most_ms, told
    assert rtt_ms - 0.001 <= float(match[2]) <= most_ms, told


@pytest.mark.parametrize(("queue", "shaper"), RIGS)
def test_every_qdisc_and_shaper_shows_its_base_rtt_and_rate(tmp_path: Path, queue: str, shaper: str) -> None:
    plans = lab.plans(tmp_path, rig(queue, shaper, 20, 100) + IDLE)
    (made,) = lab.make(plans, tmp_path / "out")
    check_idle_rig(made, 20, 100)


@pytest.mark.parametrize(("rtt_ms", "rate_mbit"), LADDER)
@pytest.mark.parametrize(
    ("queue", "shaper"),
    [("pfifo(limit=200)", "htb()"), ("fq_codel()", SHAPERS[1]), ("cake()", "own_shaper()")],
)
def test_base_rtt_and_rate_hold_from_slow_to_fast_and_near_to_far(
    tmp_path: Path, queue: str, shaper: str, rtt_ms: int, rate_mbit: int
) -> None:
    plans = lab.plans(tmp_path, rig(queue, shaper, rtt_ms, rate_mbit) + IDLE)
    (made,) = lab.make(plans, tmp_path / "out")
    check_idle_rig(made, rtt_ms, rate_mbit)


@pytest.mark.parametrize(
    ("queue", "rtt_ms", "rate_mbit"),
    [
        ("pfifo(limit=1)", 20, 10),
        ("pfifo(limit=1)", 1, 1000),
        ("pfifo_head_drop(limit=2)", 1, 1),
        ('bfifo(limit="1 BDP")', 1, 100),
        ("codel(limit=1)", 20, 100),
        ("sfq(limit=2)", 1, 10),
        ("choke(limit=100)", 1, 100),
        ("sfb()", 1, 1000),
    ],
)
def test_a_queue_of_a_packet_or_one_that_drops_what_a_flow_queues_shows_its_rate(
    tmp_path: Path, queue: str, rtt_ms: int, rate_mbit: int
) -> None:
    plans = lab.plans(tmp_path, rig(queue, "htb()", rtt_ms, rate_mbit) + IDLE)
    (made,) = lab.make(plans, tmp_path / "out")
    check_idle_rig(made, rtt_ms, rate_mbit)


@pytest.mark.parametrize(
    ("more", "echoes"),
    [
        ('jitter="1 ms", keep_order=True', 20),  # netem keeps the order at 100 Gbit/s
        ('line_rate="40 Gbit/s"', 20),
        ('loss="60 %", loss_up="0 %"', 90),
        ('loss="30 %", loss_burst=20', 925),  # 10 + 32 x 20 / 0.7
    ],
)
def test_a_rig_of_much_loss_or_of_rates_that_32_bits_do_not_hold_is_what_its_plan_says(
    tmp_path: Path, more: str, echoes: int
) -> None:
    text = f'link = Link(rate="50 Mbit/s", base_rtt="20 ms", queue=pfifo(limit=1000), {more})\n'
    plans = lab.plans(tmp_path, text + 'probe = udp_probe(interval="5 ms", duration="200 ms")\nrepeat(3)\n')
    assert {plan.calibration.echoes for plan in plans} == {echoes}
    for made in lab.make(plans, tmp_path / "out"):
        said = made.ok().manifest["calibration"]
        assert said["ok"] is True
        assert said["rtt_samples"] >= 10


@pytest.mark.parametrize("gbit", [40, 100])
def test_a_rate_beyond_32_bits_is_measured_both_ways_as_htb_serves_it(tmp_path: Path, gbit: int) -> None:
    text = f'link = Link(rate="{gbit} Gbit/s", base_rtt="2 ms", queue=pfifo(limit=10000))\n'
    (made,) = lab.make(lab.plans(tmp_path, text + IDLE), tmp_path / "out")
    said = made.ok().manifest["calibration"]
    # HTB's time is in whole nanoseconds: 1514 bytes take 302.8 ns at 40 Gbit/s, and it waits 302.
    served_bps = 1500 * 8e9 / (1514 * 8 // gbit)
    for name in ("rate_down_bps", "rate_up_bps"):
        assert said[name] == pytest.approx(served_bps, rel=1e-3), name


@pytest.mark.parametrize("queue", ["pfifo()", "pfifo(limit=1)"])
def test_a_link_so_slow_that_a_packet_takes_long_shows_its_rate(tmp_path: Path, queue: str) -> None:
    text = f'link = Link(rate="400 kbit/s", base_rtt="50 ms", queue={queue}, loss="3 %")\n'
    text += 'flow = bulk(cca="cubic", duration="1 s")\n'
    (made,) = lab.make(lab.plans(tmp_path, text), tmp_path / "out")
    said = made.ok().manifest["calibration"]
    # 3 % are lost beyond the bottleneck, of some tens of packets
    for name in ("rate_down_bps", "rate_up_bps"):
        assert 0.8 <= said[name] / lab.rate_of_ip(400e3) <= 1.02, name


@pytest.mark.parametrize("direction", ["down", "up"])
@pytest.mark.parametrize(
    ("shaper", "rate_mbit"),
    [("htb()", 10), ("htb()", 100), ("htb()", 1000), (SHAPERS[1], 100), ("own_shaper()", 100)],
)
def test_one_cubic_flow_fills_the_link(tmp_path: Path, direction: str, shaper: str, rate_mbit: int) -> None:
    queue = "cake()" if shaper == "own_shaper()" else 'bfifo(limit="1 BDP")'
    text = rig(queue, shaper, 20, rate_mbit)
    text += f'flow = bulk(cca="cubic", direction="{direction}", duration="3 s", start_jitter="0 s")\n'
    text += 'tap("off")\nsample(tcp_info=None, qdisc=None, link="500 ms")\n'
    raw = lab.carry(lab.plan(tmp_path, text), tmp_path / "run").ok()
    # By the counters of the receiver's interface, once slow start is over: frames, so the shaper's own rate.
    name = "link-client.csv" if direction == "down" else "link-server.csv"
    counted = {
        int(row["t_ns"]) // NS_PER_MS: int(row["rx_bytes"]) for row in csv.DictReader((raw.raw / name).open())
    }
    rate_bps = (counted[3000] - counted[1000]) * 8 / 2
    assert 0.95 * rate_mbit * 1e6 <= rate_bps <= 1.01 * rate_mbit * 1e6


@pytest.mark.parametrize(
    ("wrong", "numbers"),
    [
        ({"rtt_ns": 25_000_000}, ("20.0", "25.000")),
        ({"rate_down_bps": 12_000_000}, ("9.90", "12.000")),
        ({"rate_up_bps": 8_000_000}, ("9.90", "8.000")),
    ],
)
def test_a_rig_that_is_not_what_the_plan_says_fails_with_both_numbers(
    tmp_path: Path, wrong: dict[str, int], numbers: tuple[str, str]
) -> None:
    plan = lab.edited(lab.plan(tmp_path, lab.SMALL), calibration=wrong)
    (made,) = lab.make([plan], tmp_path / "out")
    assert made.manifest["status"] == "failed"
    assert made.manifest["error"]["stage"] == "calibration"
    for number in numbers:
        assert number in made.manifest["error"]["line"]
    assert not (made.directory / "metrics.parquet").exists(), "numbers of a rig that is not calibrated"
    assert lab.run_dirs(tmp_path / "out") == []


@pytest.mark.parametrize(("rate_bps", "found"), [(12_000_000, "9.9"), (8_000_000, "at least 8.4")])
def test_behind_a_queue_of_a_packet_a_wrong_rate_is_found_too(
    tmp_path: Path, rate_bps: int, found: str
) -> None:
    """A link faster than the plan passes a paced train as it was sent, a twentieth faster than the plan."""
    text = lab.SMALL.replace("fq_codel()", "pfifo(limit=1)")
    plan = lab.edited(lab.plan(tmp_path, text), calibration={"rate_down_bps": rate_bps})
    (made,) = lab.make([plan], tmp_path / "out")
    assert made.manifest["error"]["stage"] == "calibration"
    assert f"rate down is {found}" in made.manifest["error"]["line"]


def test_calibration_is_over_and_its_traces_gone_when_traffic_starts(tmp_path: Path) -> None:
    raw = lab.carry(lab.plan(tmp_path, lab.SMALL), tmp_path / "run").ok()
    before = raw.result["tc_before"]["router"]
    for interface in before.values():
        assert [q["qlen"] for q in interface["qdisc"]] == [0] * len(interface["qdisc"])
    assert raw.result["calibration"]["quiet_ns"] < 0


@pytest.mark.parametrize("queue", ["pfifo(limit=10)", "pfifo(limit=20)", 'bfifo(limit="15 KB")'])
@pytest.mark.parametrize("shaper", ["htb()", 'htb(burst="200 KB", cburst="200 KB")', 'tbf(burst="60 KB")'])
def test_short_queues_and_deep_buckets_can_be_calibrated(tmp_path: Path, queue: str, shaper: str) -> None:
    plans = lab.plans(tmp_path, rig(queue, shaper, 20, 10) + IDLE)
    (made,) = lab.make(plans, tmp_path / "out")
    check_idle_rig(made, 20, 10)


@pytest.mark.parametrize(
    ("link", "ip_bps"),
    [
        ('rate="50 Mbit/s", queue=fq_codel(limit=50)', 50e6 * 1500 / 1514),
        ('rate="50 Mbit/s", queue=fq_codel(limit=10)', 50e6 * 1500 / 1514),
        ('rate="8 Mbit/s", queue=cake(atm="atm", overhead=44)', 8e6 * 1500 / 1749),
        ('rate="8 Mbit/s", queue=cake(overhead=-20)', 8e6 * 1500 / 1480),
        ('rate="8 Mbit/s", mtu=576, queue=cake(overhead=0)', 8e6),
        (
            'rate="8 Mbit/s", queue=pfifo(limit=100), shaper=htb(overhead=40, linklayer="atm")',
            8e6 * 1500 / 1749,
        ),
        ('rate="8 Mbit/s", queue=pfifo(limit=100), shaper=tbf(burst="15 KB", mpu="84 B")', 8e6 * 1500 / 1514),
        ('rate="15 Mbit/s", queue=pfifo(limit=100), shaper=tbf(burst="4 MB")', 15e6 * 1500 / 1514),
    ],
)
def test_a_right_rig_is_measured_as_what_it_is(tmp_path: Path, link: str, ip_bps: float) -> None:
    plan = lab.plan(tmp_path, f'link = Link(base_rtt="20 ms", {link})\nflow = bulk(duration="100 ms")')
    (made,) = lab.make([plan], tmp_path / "out")
    said = made.ok().manifest["calibration"]
    assert said["rate_down_bps"] == pytest.approx(ip_bps, rel=0.01)
    assert said["rate_up_bps"] == pytest.approx(ip_bps, rel=0.01)


@pytest.mark.parametrize(("rate_mbit", "burst"), [(20, "50 KB"), (5, "300 KB")])
def test_a_policers_bucket_is_emptied_before_its_rate_is_measured(
    tmp_path: Path, rate_mbit: int, burst: str
) -> None:
    """A train that is a twentieth too fast empties 300 KB at 5 Mbit/s in 10 s. A policer passes a packet more
    or less of the hundred that are measured."""
    link = f'rate="{rate_mbit} Mbit/s", base_rtt="20 ms", shaper=policer(burst="{burst}")'
    plan = lab.plan(tmp_path, f'link = Link({link})\nflow = bulk(duration="100 ms")')
    (made,) = lab.make([plan], tmp_path / "out")
    said = made.ok().manifest["calibration"]
    for way in ("down", "up"):
        assert said[f"rate_{way}_bps"] == pytest.approx(rate_mbit * 1e6 * 1500 / 1514, rel=0.02)


def test_a_slow_way_up_has_time_enough_to_be_measured(tmp_path: Path) -> None:
    link = 'rate="10 Mbit/s", rate_up="400 kbit/s", base_rtt="10 ms", queue=pfifo(limit=100)'
    plan = lab.plan(tmp_path, f'link = Link({link})\nflow = bulk(duration="100 ms")')
    (made,) = lab.make([plan], tmp_path / "out")
    assert made.ok().manifest["calibration"]["rate_up_bps"] == pytest.approx(400e3 * 1500 / 1514, rel=0.01)
