"""Moving bulk flows' bytes in batches leaves TCP as it is: against a program that serves socket by socket.

A kernel with `/proc/tcp_sink` and `/proc/tcp_source` reads and writes as a program does, to the byte. In
virtual time a program takes 20 ns or more for each look at the clock, so `free_clock` takes that away from
both; and both send the zero page, for how the data lie in memory counts in the receive buffer
(docs/architecture.md, Many flows).
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lab
from narrows.store import flow_tap, tap

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

FILES = ("tap.bin", "flow_tap.bin", "flow.flows.csv", "flow.2.flows.csv")
CASES = {
    "reno": ("20 Mbit/s", "600 KB", "20 ms", 10, 20),
    "cubic": ("100 Mbit/s", "3 MB", "100 ms", 50, 10),
    "bbr": ("20 Mbit/s", "100 KB", "20 ms", 10, 20),
}
SEEDS = 4
WARM_UP_S = 5


def text(cca: str, io: str, *, buffer: str | None = None, more: str = "") -> str:
    """Flows of a CCA through drop-tail, with every drop, window event and (every 10 ms) window recorded."""
    rate, own_buffer, rtt, flows, seconds = CASES[cca]
    return f"""
link = Dumbbell(rate="{rate}", queue=bfifo(limit="{buffer or own_buffer}"), pairs=[pair("{rtt}", senders=2)])
flow = bulk(cca="{cca}", flows={flows}, start_spread="1 s", duration="{seconds} s", io="{io}")
tap("drops", interval="10 ms")
flow_tap(warm_up="{WARM_UP_S} s", interval="10 ms")
sample(tcp_info=None, qdisc=None, link=None)
{more}"""


@pytest.fixture(scope="module")
def free_clock(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The line that gives programs a clock that costs nothing."""
    module = lab.built_module("free_clock", tmp_path_factory.mktemp("module"))
    return f"machine(modules=['{module} time={lab.symbol('time_travel_time')}'])\n"


def served_by(raw: lab.Raw) -> tuple[str, str]:
    """Who read the receivers' sockets, and who wrote to the senders', as the agent says."""
    details = raw.result["items"]["flow"]["details"]
    return details["read_by"], details["written_by"]


def both(
    place: Path, cca: str, ways: tuple[str, str], more: str, buffer: str | None = None
) -> tuple[lab.Raw, lab.Raw]:
    """The same run in two ways."""
    first, second = (
        lab.carry(lab.plan(place / io, text(cca, io, buffer=buffer, more=more)), place / io / "run").ok()
        for io in ways
    )
    return first, second


@pytest.mark.parametrize("cca", CASES)
def test_the_kernel_reads_and_writes_as_a_program_does_to_the_byte(
    tmp_path: Path, free_clock: str, cca: str
) -> None:
    batched, plain = both(tmp_path, cca, ("batched", "plain_receiver"), free_clock)
    if served_by(batched) != ("kernel", "kernel"):
        pytest.skip("this kernel has no /proc/tcp_sink or /proc/tcp_source")
    assert served_by(plain) == ("each", "each")
    drops = tap.read(plain.raw / "tap.bin").packets
    assert np.count_nonzero(drops["outcome"] == tap.DROPPED) > 100
    windows = flow_tap.read(plain.raw / "flow_tap.bin")
    assert windows.events.size > 10
    assert windows.samples.size > 5000
    for name in FILES:
        assert batched.bytes_of(name) == plain.bytes_of(name), name


def without_ports(raw: lab.Raw) -> tuple[bytes, ...]:
    """All that was recorded but for the source ports, which are drawn at random."""
    windows = flow_tap.read(raw.raw / "flow_tap.bin")
    tables = []
    for name in ("flow.flows.csv", "flow.2.flows.csv"):
        with (raw.raw / name).open() as file:
            rows = [{key: row[key] for key in row if key != "sport"} for row in csv.DictReader(file)]
        tables.append(repr(rows).encode())
    records = (windows.events, windows.samples, windows.snapshots)
    packets = tap.read(raw.raw / "tap.bin").packets
    return (packets.tobytes(), *(record.tobytes() for record in records), *tables)


def test_a_spliced_hole_is_sent_as_a_copied_buffer_is_as_long_as_nothing_is_lost(
    tmp_path: Path, free_clock: str
) -> None:
    """Packets, windows and counters to the byte. Which port a flow has is drawn at random: another draw."""
    spliced, copied = both(tmp_path, "reno", ("plain_receiver", "plain"), free_clock, buffer="100 MB")
    for one, other in zip(without_ports(spliced), without_ports(copied), strict=True):
        assert one == other


def figures(raw: lab.Raw) -> dict[str, float]:
    """What CoreScale's claims stand on, after the warm-up."""
    marks = flow_tap.read(raw.raw / "flow_tap.bin").snapshots
    marks = marks[marks["why"] == flow_tap.MARK]
    marks = np.sort(marks, order=("flow", "t_ns"))[::-1]
    start, stop = (  # of each flow the last one: the window is marked wherever flows are stopped
        of_one[np.unique(of_one["flow"], return_index=True)[1]]
        for of_one in (
            marks[marks["number"] == number] for number in (flow_tap.WINDOW_STARTS, flow_tap.WINDOW_STOPS)
        )
    )
    assert start.size == stop.size > 0

    def gained(name: str) -> Any:
        return stop[name].astype(np.float64) - start[name]

    acked = gained("bytes_acked")
    return {
        "goodput": float(acked.sum()),
        "jain": float(acked.sum() ** 2 / acked.size / (acked**2).sum()),
        "halvings": float(gained("reductions").sum()),
        "retransmitted": float(gained("retrans").sum()),
    }


@pytest.mark.parametrize("shaper", ['policer(burst="250 KB")', 'policer(burst="60 KB")'])
def test_behind_a_policer_a_batch_opens_the_receivers_window_as_a_program_does(
    tmp_path: Path, shaper: str
) -> None:
    """A policer sends a burst on in no time, so that a whole window is there at once: what is not read yet
    must not keep the receive window where it began (tcp_rcv_space_adjust() leaves it out)."""
    goodput = {}
    for io in ("batched", "plain_receiver"):
        one = lab.plan(
            tmp_path / io,
            f"""
link = Link(rate="50 Mbit/s", base_rtt="40 ms", shaper={shaper})
flow = bulk(cca="cubic", duration="4 s", io="{io}")
""",
        )
        raw = lab.carry(one, tmp_path / io / "run").ok()
        assert served_by(raw)[0] == ("kernel" if io == "batched" else "each")
        with (raw.raw / "flow.flows.csv").open() as file:
            goodput[io] = sum(int(row["bytes_acked"]) for row in csv.DictReader(file))
    assert goodput["batched"] == pytest.approx(goodput["plain_receiver"], rel=0.05)


@pytest.mark.parametrize("cca", ["reno", "cubic"])
def test_over_seeds_batches_and_a_plain_program_agree(tmp_path: Path, cca: str) -> None:
    """The whole of both ways, whoever reads; nothing made equal."""
    found: dict[str, list[dict[str, float]]] = {"batched": [], "plain": []}
    for seed in range(SEEDS):
        for io, runs in found.items():
            place = tmp_path / f"{io}{seed}"
            one = lab.edited(lab.plan(place, text(cca, io)), seed=1000 + seed)
            raw = lab.carry(one, place / "run").ok()
            runs.append(figures(raw))
            with (raw.raw / "flow.flows.csv").open() as file:
                assert all(row["ended_by"] == "stop" for row in csv.DictReader(file))
    mean = {
        io: {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
        for io, runs in found.items()
    }
    batched, plain = mean["batched"], mean["plain"]
    assert batched["goodput"] == pytest.approx(plain["goodput"], rel=0.005)
    assert batched["jain"] == pytest.approx(plain["jain"], abs=0.1)
    assert batched["halvings"] == pytest.approx(plain["halvings"], rel=0.15)
    assert batched["retransmitted"] == pytest.approx(plain["retransmitted"], rel=0.3)
