"""The same plan gives the same bytes, whatever the machine does meanwhile; another seed gives others.

Compared are the tap (every packet at both sides of the bottleneck, to the nanosecond) and the captures at
both hosts: if these are equal, so is everything computed from them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import lab

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

# A short path: iperf3 polls without sleeping for a round trip before it starts, which is slow to simulate.
LINK = 'link = Link(rate="10 Mbit/s", base_rtt="1 ms", queue=fq_codel(limit=50))\n'
WATCH = 'tap("packets")\nat_client = capture("client")\nat_server = capture("server", snap="200 B")\n'
KINDS = {
    "tcp_bulk": 'flows = bulk(cca="cubic", flows=3, duration="2 s", start_spread="100 ms")\n'
    'back = bulk(cca="reno", direction="up", duration="2 s")\n'
    'probe = udp_probe(interval="10 ms", stop=with_(flows))\n',
    "ndt7": "test = ndt7()\n",
    "iperf3": 'test = iperf3(duration="2 s", flows=2, direction="both")\n',
}
FILES = ("tap.bin", "at_client.pcapng", "at_server.pcapng")


def plan_of(directory: Path, traffic: str, more: str = "") -> lab.Plan:
    return lab.plan(directory, LINK + traffic + WATCH + more)


def files(raw: lab.Raw) -> dict[str, bytes]:
    return {name: raw.ok().bytes_of(name) for name in FILES}


def differing(first: dict[str, bytes], second: dict[str, bytes]) -> list[str]:
    """Names of files that differ, and where: a readable message instead of megabytes."""
    told = []
    for name, a in first.items():
        b = second[name]
        if a != b:
            at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            told.append(f"{name}: {len(a)} and {len(b)} bytes, first difference at byte {at}")
    return told


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_plan_gives_the_same_bytes_on_an_idle_and_on_a_loaded_machine(
    tmp_path: Path, kind: str, all_cores: set[int]
) -> None:
    plan = plan_of(tmp_path, KINDS[kind])
    first, last = min(all_cores), max(all_cores)
    with lab.cores(all_cores):
        alone = lab.carry(plan, tmp_path / "a", cpu=first)
        with lab.burners(all_cores):
            elsewhere = tmp_path / "a-much-longer-name-of-a-directory" / "and-one-more-below-it" / "b"
            loaded = lab.carry(plan, elsewhere, cpu=last)
    assert differing(files(alone), files(loaded)) == []
    assert alone.result == loaded.result, "the agent's own result must be the same too"


@pytest.mark.parametrize("kind", KINDS)
def test_another_seed_gives_other_bytes(tmp_path: Path, kind: str) -> None:
    one, other = lab.plans(tmp_path, LINK + KINDS[kind] + WATCH + "repeat(2)\n")
    assert one.seed != other.seed
    found = differing(files(lab.carry(one, tmp_path / "a")), files(lab.carry(other, tmp_path / "b")))
    assert [line.split(":")[0] for line in found] == list(FILES)


def test_the_tap_changes_no_packet(tmp_path: Path) -> None:
    traffic = LINK + KINDS["tcp_bulk"] + WATCH
    on = lab.carry(lab.plan(tmp_path / "on", traffic), tmp_path / "a").ok()
    off = lab.carry(lab.plan(tmp_path / "off", traffic.replace('"packets"', '"off"')), tmp_path / "b").ok()
    assert not (off.raw / "tap.bin").exists()
    for name in FILES[1:]:
        assert on.bytes_of(name) == off.bytes_of(name), name


def test_environment_working_directory_and_terminal_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: Path
) -> None:
    plan = plan_of(tmp_path, KINDS["tcp_bulk"])
    plain = files(lab.carry(plan, tmp_path / "a"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for name, value in {
        "NARROWS_KERNEL": str(kernel.parent),  # else it is looked for below HOME
        "LANG": "tr_TR.UTF-8",
        "LC_ALL": "de_DE.UTF-8",
        "TZ": "Pacific/Kiritimati",
        "TERM": "dumb",
        "HOME": str(tmp_path),
        "PYTHONHASHSEED": "7",
        "NARROWS_NO_SUCH_SETTING": "x" * 5000,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
    }.items():
        monkeypatch.setenv(name, value)
    again = files(lab.carry(lab.Plan.from_json(plan.to_json()), tmp_path / "b"))
    assert differing(plain, again) == []


def test_a_timer_latency_is_drawn_from_the_seed(tmp_path: Path) -> None:
    late = 'machine(timer_latency=("0 us", "50 us"))\n'
    plan = plan_of(tmp_path, KINDS["tcp_bulk"], late)
    first, second = (files(lab.carry(plan, tmp_path / name)) for name in "ab")
    assert differing(first, second) == []
    exact = files(lab.carry(plan_of(tmp_path / "exact", KINDS["tcp_bulk"]), tmp_path / "c"))
    assert differing(first, exact), "the knob does nothing"
