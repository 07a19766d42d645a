"""What only makes the kernel faster changes no byte: a guest with and without each of its shortcuts, one
whose kernel was built without them, and kernels whose code and data lie elsewhere."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import lab
from narrows.engine.uml import UmlEngine
from narrows.kernel import image

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

SHORTCUTS = {
    "time_travel_short=0": "/sys/module/kernel/parameters/time_travel_short",
    "skb_prefetch.on=0": "/sys/module/skb_prefetch/parameters/on",
    "forward_cache.on=0": "/sys/module/forward_cache/parameters/on",
    "run_ahead.on=0": "/sys/module/run_ahead/parameters/on",
    "clock_page.on=0": "/sys/module/clock_page/parameters/on",
}
"""The word for the kernel that switches one off, and where the guest sees that it is."""

# Longer than skb_prefetch's LONG_QUEUE, more flows than one, drops, acknowledgements that wait as well, and
# more paced flows than it looks ahead.
LONG_QUEUE = """
link = Dumbbell(rate="200 Mbit/s", queue=bfifo(limit="6 MB"), pairs=[pair("40 ms", senders=2)])
reno = bulk(cca="reno", flows=20, start_spread="200 ms", duration="2 s")
cubic = bulk(cca="cubic", flows=20, start_spread="200 ms", duration="1500 ms")
bbr = bulk(cca="bbr", flows=60, start_spread="200 ms", duration="2 s")
tap("packets")
flow_tap(warm_up="1 s", interval="100 ms")
"""

# One delay, so that many events of one kind are computed in a row: flows that no program serves, an overflow
# in slow start, losses, compressed acknowledgements, paced flows (timers with slack, cancelled early), a
# probe, ends of flows.
RUN_AHEAD = """
link = Dumbbell(rate="300 Mbit/s", queue=bfifo(limit="2 MB"), pairs=[pair("20 ms")])
reno = bulk(cca="reno", flows=40, start_spread="200 ms", duration="3 s")
cubic = bulk(cca="cubic", flows=20, start_spread="200 ms", duration="2 s")
bbr = bulk(cca="bbr", flows=3, start="1500 ms", duration="500 ms")
probe = udp_probe(interval="10 ms", start="2200 ms", duration="300 ms")
tap("packets")
flow_tap(warm_up="1 s", interval="100 ms")
"""
AQM_AHEAD = RUN_AHEAD.replace('bfifo(limit="2 MB")', "fq_codel()")
# The root of its interface, so what it drops is handed over when it is asked for a packet.
CAKE_AHEAD = RUN_AHEAD.replace('bfifo(limit="2 MB")', "cake()")

# Several delays, at a rate at which a full packet takes 10 µs: what left the bottleneck 10 ms earlier ends a
# delay that is 10 ms longer in the same nanosecond. Some wait for nothing now and then.
TIES = """
link = Dumbbell(
    rate="1211200 kbit/s",
    queue=fq_codel(),
    pairs=[pair("20 ms", senders=4), pair("30 ms", senders=2), pair("47 ms")],
    receivers=3,
)
reno = bulk(cca="reno", flows=14, start_spread="200 ms", duration="1 s")
cubic = bulk(cca="cubic", flows=7, start_spread="200 ms", duration="1 s")
tap("packets")
flow_tap(warm_up="500 ms", interval="100 ms")
"""

# All that a router does besides sending on: packets at the end of their life, fragments, a route that
# goes and comes again, and a neighbour with another address.
ROUTING = """
link = Link(rate="10 Mbit/s", base_rtt="4 ms", queue=fq_codel())
down = bulk(cca="cubic", duration="3 s")
up = bulk(cca="bbr", direction="up", duration="3 s")
dscp = udp_probe(interval="10 ms", duration="3 s")
dies = command(node="client", argv=["ping", "-c", "3", "-i", "0.2", "-t", "1", "10.0.2.1"], ok_exits=[0, 1])
parts = command(node="client", argv=["ping", "-c", "3", "-i", "0.2", "-s", "4000", "10.0.2.1"])
gone = command(node="router", start="1 s", argv=["ip", "route", "add", "blackhole", "10.0.0.1/32"])
back = command(node="router", start="1200 ms", argv=["ip", "route", "del", "blackhole", "10.0.0.1/32"])
moved = command(
    node="router", start="2 s",
    argv=["ip", "neigh", "replace", "10.0.0.1", "lladdr", "02:00:00:00:00:99", "dev", "eth0"],
)
home = command(
    node="router", start="2200 ms",
    argv=["ip", "neigh", "replace", "10.0.0.1", "lladdr", "02:00:00:00:00:01", "dev", "eth0"],
)
counters = command(node="router", start="2900 ms", argv=["cat", "/proc/net/snmp"])
tap("packets")
at_client = capture("client")
at_server = capture("server")
"""


TRAFFIC = pytest.mark.parametrize(
    "traffic",
    [LONG_QUEUE, ROUTING, RUN_AHEAD, AQM_AHEAD, CAKE_AHEAD, TIES],
    ids=["long queue", "routing", "one delay", "one delay, fq_codel", "one delay, cake", "several delays"],
)


@TRAFFIC
def test_no_byte_changes_without_a_shortcut(tmp_path: Path, traffic: str) -> None:
    plan = lab.plan(tmp_path, traffic)
    usual = lab.files(lab.carry(plan, tmp_path / "usual"))
    for word in SHORTCUTS:
        without = lab.files(lab.carry(plan, tmp_path / word, engine=lab.WithWord(word)))
        assert usual.keys() == without.keys()
        assert not [name for name in usual if usual[name] != without[name]], word


@TRAFFIC
def test_no_byte_changes_in_a_kernel_that_was_built_without_them(tmp_path: Path, traffic: str) -> None:
    built = image.built(image.recipe(speed=False))
    if not built:
        pytest.skip("narrows kernel build --without-speed makes the kernel that this compares with")
    plan = lab.plan(tmp_path, traffic)
    usual = lab.files(lab.carry(plan, tmp_path / "usual"))
    without = lab.files(lab.carry(plan, tmp_path / "without", engine=UmlEngine(built[0])))
    assert usual.keys() == without.keys()
    assert not [name for name in usual if usual[name] != without[name]]


@TRAFFIC
def test_no_byte_changes_by_a_profile(tmp_path: Path, traffic: str) -> None:
    both = {one.is_profiled: UmlEngine(one) for one in image.built(image.recipe())}
    if len(both) < 2:
        pytest.skip("narrows kernel build and narrows kernel build --profiled make what this compares")
    plan = lab.plan(tmp_path, traffic)
    plain, profiled = (
        lab.files(lab.carry(plan, tmp_path / str(is_so), engine=both[is_so])) for is_so in (False, True)
    )
    assert both[False].info.kernel_id == both[True].info.kernel_id
    assert plain.keys() == profiled.keys()
    assert not [name for name in plain if plain[name] != profiled[name]]


@TRAFFIC
def test_no_byte_changes_where_code_and_data_lie_elsewhere(tmp_path: Path, traffic: str) -> None:
    built = [one for one in image.built(image.recipe()) if (one.directory / "relinked").is_file()]
    if not built:
        pytest.skip("no kernel of today's recipe was linked in two orders")
    relinked = dataclasses.replace(built[0], path=built[0].directory / "relinked")
    engines = (UmlEngine(built[0]), UmlEngine(relinked))
    plan = lab.plan(tmp_path, traffic)
    one, other = (
        lab.files(lab.carry(plan, tmp_path / str(number), engine=engine))
        for number, engine in enumerate(engines)
    )
    assert one.keys() == other.keys()
    assert not [name for name in one if one[name] != other[name]]


def test_it_runs_ahead_where_it_may(tmp_path: Path) -> None:
    looks = 'seen = command(node="router", start="2900 ms", argv=["cat", "/proc/run_ahead"])\n'
    for name, traffic in {"one": RUN_AHEAD, "several": TIES}.items():
        run = lab.carry(lab.plan(tmp_path, traffic + looks), tmp_path / name).ok()
        stretches, delays, sent = map(int, run.bytes_of("seen.stdout").split())
        assert stretches > 1000
        assert delays > stretches
        assert sent > stretches
        assert "no more stretches" not in run.console
    without_a_delay = RUN_AHEAD.replace('pair("20 ms")', 'pair("20 ms"), pair(None)')
    seen_by_a_program = RUN_AHEAD + 'packets = capture("client")\n'
    for name, traffic in {"none": without_a_delay, "captured": seen_by_a_program}.items():
        run = lab.carry(lab.plan(tmp_path, traffic + looks), tmp_path / name).ok()
        assert run.bytes_of("seen.stdout") == b"0 0 0\n"


def test_the_words_switch_the_shortcuts_off(tmp_path: Path) -> None:
    looks = f'seen = command(node="client", argv=["cat", {", ".join(map(repr, SHORTCUTS.values()))}])\n'
    plan = lab.plan(tmp_path, lab.SMALL + looks)
    assert lab.carry(plan, tmp_path / "usual").ok().bytes_of("seen.stdout") == b"Y\n" * len(SHORTCUTS)
    off = lab.carry(plan, tmp_path / "off", engine=lab.WithWord(" ".join(SHORTCUTS)))
    assert off.ok().bytes_of("seen.stdout") == b"N\n" * len(SHORTCUTS)
