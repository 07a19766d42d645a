"""What a link could carry: rates that move, shapers that count more than the frame, buckets, two in a row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lab
from narrows.metrics.rate.bucket import bucket_levels
from narrows.plan import wire
from narrows.plan.bottlenecks import idle_queues, line_limits
from narrows.plan.model import Counted, Plan
from narrows.runs.capacity import (
    base_delay_ns,
    capacity_bps,
    could_carry,
    counted_bytes,
    payload_share,
    possible_goodput_bps,
    rate_steps,
    shares_air,
    slower_hop,
)
from narrows.scoring.scored_run import load_spans
from narrows.tools.reading import IP, IP_OF_1250, PAYLOAD, QUIC_PAYLOAD, UDP_PAYLOAD, WIRE, layer_of

S = 10**9
NONE = np.zeros(0)


def plan(directory: Path, link: str, *more: str) -> Plan:
    return lab.plan(directory, "\n".join([f"link = {link}", *more, 'flow = bulk(duration="12 s")']))


@pytest.mark.parametrize(
    ("counted", "ip_bytes", "charged"),
    [
        (wire.FRAME, 1500, 1514),
        (Counted(of="ip", overhead_bytes=44, mpu_bytes=0, cells="atm"), 1500, 1749),  # 33 cells
        (Counted(of="ip", overhead_bytes=44, mpu_bytes=0, cells="atm"), 40, 106),  # two cells
        (Counted(of="ip", overhead_bytes=30, mpu_bytes=0, cells="ptm"), 1500, 1554),  # 24 times 64 begun
        (Counted(of="ip", overhead_bytes=-20, mpu_bytes=0, cells="none"), 1500, 1480),
        (Counted(of="frame", overhead_bytes=4, mpu_bytes=84, cells="none"), 40, 84),
        (Counted(of="frame", overhead_bytes=24, mpu_bytes=84, cells="none"), 1500, 1538),
    ],
)
def test_a_packet_is_charged_what_the_kernel_charges(counted: Counted, ip_bytes: int, charged: int) -> None:
    assert wire.counted_bytes(counted, ip_bytes) == charged


def test_frames_of_all_sizes_are_charged_as_their_packets_are(tmp_path: Path) -> None:
    atm = plan(tmp_path, 'Link(rate="8 Mbit/s", base_rtt="20 ms", queue=cake(atm="atm", overhead=44))')
    assert counted_bytes(atm, "down", np.array([1514, 54, 1514])).tolist() == [1749.0, 106.0, 1749.0]


def test_what_a_shaper_counts_is_out_of_the_goodput_and_out_of_the_rigs_own_rate(tmp_path: Path) -> None:
    atm = plan(tmp_path, 'Link(rate="8 Mbit/s", base_rtt="20 ms", queue=cake(atm="atm", overhead=44))')
    assert possible_goodput_bps(atm, "down", None) == pytest.approx(8e6 * 1448 / 1749)
    assert atm.calibration.rate_down_bps == 8_000_000 * 1500 // 1749
    assert not atm.calibration.rate_is_upper_bound


@pytest.mark.parametrize(
    ("queue", "mtu", "charged"),
    [("cake(overhead=0)", 576, 576), ("cake(overhead=-20)", 1500, 1480), ("cake()", 1500, 1514)],
)
def test_a_rig_is_right_that_counts_less_than_the_frame(
    tmp_path: Path, queue: str, mtu: int, charged: int
) -> None:
    rig = plan(tmp_path, f'Link(rate="8 Mbit/s", base_rtt="20 ms", mtu={mtu}, queue={queue})')
    assert rig.calibration.rate_down_bps == 8_000_000 * mtu // charged


def test_a_reading_of_the_ip_layer_becomes_payload_by_the_mtu_and_by_what_is_counted(tmp_path: Path) -> None:
    plain = plan(tmp_path, 'Link(rate="8 Mbit/s", base_rtt="20 ms")')
    assert payload_share(plain, "down", IP) == pytest.approx(1448 / 1500)
    assert payload_share(plain, "down", IP_OF_1250) == pytest.approx(1448 / 1514 * 1264 / 1250)
    small = plan(
        tmp_path, 'Link(rate="8 Mbit/s", base_rtt="20 ms", mtu=576, queue=cake(atm="atm", overhead=44))'
    )
    assert payload_share(small, "down", IP) == pytest.approx(524 / 576)
    assert payload_share(small, "down", IP_OF_1250) == pytest.approx(
        524 / 576
    )  # no packet is longer than the MTU


def test_a_reading_is_held_against_what_its_own_layer_can_have(tmp_path: Path) -> None:
    plain = plan(tmp_path, 'Link(rate="8 Mbit/s", base_rtt="20 ms")')
    # Of a frame of 1514 bytes: 1448 of TCP, 1472 of UDP, 20 less of QUIC, and all of it.
    for layer, size in ((PAYLOAD, 1448), (UDP_PAYLOAD, 1472), (QUIC_PAYLOAD, 1452), (WIRE, 1514)):
        as_payload_bps = 8e6 * size / 1514 * payload_share(plain, "down", layer)
        assert as_payload_bps == pytest.approx(8e6 * 1448 / 1514)
    assert layer_of(PAYLOAD, {"tcp", "udp"}) == UDP_PAYLOAD
    assert layer_of(PAYLOAD, {"tcp"}) == PAYLOAD
    assert layer_of(QUIC_PAYLOAD, {"udp"}) == QUIC_PAYLOAD


@pytest.mark.parametrize(
    ("media", "shared"),
    [
        ('medium=wifi(rate="40 Mbit/s")', True),
        ('medium=wifi(rate="40 Mbit/s"), medium_up=wifi(rate="40 Mbit/s")', False),  # two cells
        ('rate="40 Mbit/s", medium_up=docsis(rate="10 Mbit/s")', False),
    ],
)
def test_of_air_that_both_ways_share_the_capacity_is_not_known(
    tmp_path: Path, media: str, shared: bool
) -> None:
    link = plan(tmp_path, f'Link({media}, base_rtt="30 ms", queue=pfifo(limit=200))')
    assert shares_air(link) == shared
    assert (possible_goodput_bps(link, "down", (0, S)) is None) == shared
    assert (could_carry(link, "down", [(0, S)], NONE, NONE) is None) == shared


def test_a_rate_that_a_change_lowers_is_the_truth_from_then_on(tmp_path: Path) -> None:
    changed = plan(
        tmp_path,
        'Link(rate="50 Mbit/s", base_rtt="20 ms")',
        'link.at("8 s", rate="10 Mbit/s", base_rtt="120 ms")',
    )
    assert capacity_bps(changed, "down", (0, 12 * S)) == pytest.approx((50e6 * 8 + 10e6 * 4) / 12)
    assert capacity_bps(changed, "up", (8 * S, 12 * S)) == 10e6
    assert base_delay_ns(changed, np.array([0, 8 * S - 1, 8 * S, 11 * S])).tolist() == [0, 0, 10**8, 10**8]


def test_of_two_shapers_in_a_row_the_slower_is_the_truth_at_each_moment(tmp_path: Path) -> None:
    router = 'home_router(ingress=cake(bandwidth="20 Mbit/s"), egress=cake(bandwidth="9 Mbit/s"))'
    home = plan(
        tmp_path,
        f'Home(rate=square("10 Mbit/s", "30 Mbit/s", period="4 s"), rate_up="10 Mbit/s", router={router})',
    )
    truth = [bps for at, bps in rate_steps(home, "down") if at < 8 * S]
    assert set(truth) == {10_000_000, 20_000_000}
    assert capacity_bps(home, "up", (0, S)) == 9e6


def test_a_bucket_counts_once_and_is_empty_after_it() -> None:
    given = lambda t: np.asarray(t) / 1e9 * 1000.0  # noqa: E731, 1000 bytes a second
    # 6000 bytes leave in the first second of a bucket of 10 000: 5000 are missing then
    t, size = np.array([0.0, 0.5 * S, 1.0 * S]), np.array([2000.0, 2000.0, 2000.0])
    levels = bucket_levels(10_000, t, size, given, [0.0, 1.0 * S + 1, 3.0 * S, 60.0 * S])
    assert levels == pytest.approx([10_000, 5000, 7000, 10_000], abs=1)


def test_a_bucket_of_seconds_is_part_of_what_could_pass(tmp_path: Path) -> None:
    deep = plan(
        tmp_path,
        'Link(rate="15 Mbit/s", base_rtt="20 ms", queue=pfifo(limit=100), shaper=tbf(burst="32 MB"))',
    )
    full = could_carry(deep, "down", [(0, 10 * S)], NONE, NONE)
    assert full is not None
    assert full.bits == pytest.approx(15e6 * 10 + 32e6 * 8)
    # What left before the window is no longer there: 20 MB, of which the rate gave half a second back.
    spent = could_carry(deep, "down", [(1 * S, 10 * S)], np.array([0.5 * S]), np.array([20e6]))
    assert spent is not None
    assert spent.of_bucket == pytest.approx((32e6 - 20e6 + 0.5 * 15e6 / 8) * 8)


def test_a_line_keeps_a_bucket_from_passing_all_at_once(tmp_path: Path) -> None:
    behind = plan(
        tmp_path,
        'Link(rate="15 Mbit/s", base_rtt="20 ms", line_rate="20 Mbit/s", queue=pfifo(limit=100), '
        'shaper=tbf(burst="32 MB"))',
    )
    carried = could_carry(behind, "down", [(0, 10 * S)], NONE, NONE)
    assert carried is not None
    assert carried.bits == pytest.approx(20e6 * 10)


def test_a_tool_loads_a_link_whose_rate_falls_as_long_as_it_takes_its_share() -> None:
    # full at 100 Mbit/s for 6 s, then at 5 Mbit/s for 6 s: 10 % of the busiest tenth of a second is 10 Mbit/s
    fast, slow = np.arange(0, 6 * S, 121_120), np.arange(6 * S, 12 * S, 2_422_400)
    t = np.concatenate([fast, slow])
    size = np.full(t.size, 1514)
    steps = {"down": ((0, 100_000_000), (6 * S, 5_000_000)), "up": ((0, 100_000_000),)}
    assert load_spans({"down": (t, size)}, steps)["down"].spans == ((0, 12 * S),)


def test_a_burst_out_of_a_bucket_does_not_hide_the_steady_load_after_it() -> None:
    burst, steady = np.arange(0, 1 * S, 12_112), np.arange(1 * S, 9 * S, 807_467)
    t = np.concatenate([burst, steady])  # 1 Gbit/s, then 15 Mbit/s
    steps = {"down": ((0, 15_000_000),), "up": ()}
    assert load_spans({"down": (t, np.full(t.size, 1514))}, steps)["down"].spans == ((0, 9 * S),)


def test_a_link_without_a_shaper_has_no_capacity(tmp_path: Path) -> None:
    free = plan(tmp_path, 'Link(base_rtt="20 ms", shaper=no_shaper())')
    assert capacity_bps(free, "down", (0, S)) is None
    assert could_carry(free, "down", [(0, S)], NONE, NONE) is None
    assert slower_hop(free, "down") is None


def test_a_line_slower_than_its_shaper_is_what_the_link_can_carry(tmp_path: Path) -> None:
    slow = plan(
        tmp_path, 'Link(rate="100 Mbit/s", base_rtt="20 ms", line_rate="80 Mbit/s", queue=fq_codel())'
    )
    carried = could_carry(slow, "down", [(0, 10 * S)], NONE, NONE)
    assert carried is not None
    assert (carried.bits, carried.of_bucket) == (80e6 * 10, 0)
    # 80 Mbit/s of frames of 1514 bytes with 1448 of payload.
    assert possible_goodput_bps(slow, "down", None) == pytest.approx(80e6 * 1448 / 1514)
    assert line_limits(slow, "down")
    assert idle_queues(slow) == [
        f"bottleneck {way}: fq_codel hardly acts: packets wait elsewhere, as the line has 80 Mbit/s and this "
        "queue is shaped to 100 Mbit/s"
        for way in ("down", "up")
    ]
    bare = plan(tmp_path, 'Link(line_rate="50 Mbit/s", shaper=no_shaper(), queue=pie())')
    assert capacity_bps(bare, "down", None) == 50e6
    assert "this queue has no shaper" in idle_queues(bare)[0]


@pytest.mark.parametrize(
    ("link", "idle"),
    [
        ('Link(rate="20 Mbit/s", queue=fq_codel())', []),
        ('Link(rate="1 Gbit/s", line_rate="1 Gbit/s", queue=dualpi2())', []),
        ('Home(rate="30 Mbit/s", queue=pfifo(), router=home_router(ingress=cake(), egress=cake()))', []),
        (
            'Home(rate="30 Mbit/s", queue=pie(), router=home_router(ingress=cake()))',
            ["isp down: pie hardly acts: packets wait elsewhere, as the home router has 28.5 Mbit/s"],
        ),
        (
            'Home(rate="30 Mbit/s", router=home_router(egress=cake(), egress_rate="40 Mbit/s"))',
            ["home up: cake hardly acts: packets wait elsewhere, as the link has 30 Mbit/s"],
        ),
    ],
)
def test_a_queue_that_acts_and_is_not_where_packets_wait_gets_a_line(
    tmp_path: Path, link: str, idle: list[str]
) -> None:
    lines = idle_queues(plan(tmp_path, link))
    assert [line.startswith(start) for line, start in zip(lines, idle, strict=True)] == [True] * len(idle)
