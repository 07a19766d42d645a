"""Ten NewReno flows at Edge, the same plan in virtual time and on this host's kernel in real time.

A host has no flow tap, so both runs are read by the flows' own TCP_INFO samples; in virtual time those are
compared with the flow tap too. The dumbbell has no base RTT, because hosts may have no netem: the queue of
32 ms is the round trip. docs/twin.md has what was measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import polars as pl
import pytest

import lab
from narrows.engine.netns import NetnsEngine
from narrows.engine.types import Engine
from narrows.runs.load_many import reader
from narrows.runs.many_flows import ManyFlows

pytestmark = [pytest.mark.kernel, pytest.mark.root, pytest.mark.slow, pytest.mark.realtime]

TOLERANCE = 0.10
JAIN_TOLERANCE = 0.02
SECONDS = 40
WARM_UP_S = 10
# Some hosts let no namespace have CUBIC as its default; flows name theirs themselves.
TEXT = f"""
link = Dumbbell(
    rate="100 Mbit/s", queue=bfifo(limit="400 KB"), pairs=[pair(None)],
    sysctls={{"all": {{"net.ipv4.tcp_congestion_control": "reno"}}}},
)
flow = bulk(cca="reno", flows=10, start_spread="1 s", duration="{SECONDS} s", sample="20 ms")
tap("drops", interval="100 ms")
flow_tap(warm_up="{WARM_UP_S} s", interval="500 ms")
sample(tcp_info=None, qdisc=None, link=None)
"""


@dataclass(frozen=True)
class Figures:
    """What is compared of one run; `drops` None: this host has no queue tap, or it was not certain."""

    goodput_bps: float
    rtt_ms: float
    halvings: int
    jain: float
    drops: int | None

    def problems(self, other: Figures) -> list[str]:
        """In words, what of `other` lies outside the tolerance."""
        told = [
            f"{name}: {getattr(self, name)} and {getattr(other, name)}"
            for name in ("goodput_bps", "rtt_ms", "halvings", "drops")
            if None not in (getattr(self, name), getattr(other, name))
            and abs(getattr(other, name) / getattr(self, name) - 1) > TOLERANCE
        ]
        if abs(self.jain - other.jain) > JAIN_TOLERANCE:
            told.append(f"jain: {self.jain} and {other.jain}")
        return told


def read(made: lab.Made, *, by_samples: bool) -> tuple[ManyFlows, Figures]:
    """By the flow tap's tables, or by the samples alone."""
    if by_samples:
        for table in made.directory.glob("tcp_*.parquet"):
            table.rename(table.with_suffix(".aside"))
    many = reader(made.directory, lab.Plan.read(made.directory / "plan.json"))
    found = None if many is None else many()
    assert found is not None
    rows = found.table
    events = pl.read_parquet(made.directory / "queue.parquet").filter(
        (pl.col("event").cast(pl.String) == "drop") & pl.col("t_ns").is_between(found.start_ns, found.stop_ns)
    )
    return found, Figures(
        goodput_bps=float(rows["goodput_bps"].sum()),
        rtt_ms=median(rows["rtt_ms"].to_list()),
        halvings=int(rows["halvings"].sum()),
        jain=found.jain or 0.0,
        drops=events.height or None,
    )


def carried(directory: Path, engine: Engine | None) -> lab.Made:
    """A whole run; a real rig that fails its calibration raises `lab.Refused`."""
    (made,) = lab.make([lab.plan(directory, TEXT)], directory / "out", engine=engine)
    error = made.manifest["error"] or {}
    if engine is not None and error.get("stage") == "calibration":
        raise lab.Refused(error["line"])
    return made.ok()


def test_ten_newreno_flows_share_alike_in_virtual_and_in_real_time(
    tmp_path: Path, compare: Callable[[Callable[[int], list[str]]], None]
) -> None:
    virtual = carried(tmp_path / "uml", None)
    _, tapped = read(virtual, by_samples=False)
    many, sampled = read(virtual, by_samples=True)
    # Samples miss a halving that leaves the threshold as it was: windows are 25 packets here.
    assert 0.8 * tapped.halvings < sampled.halvings <= tapped.halvings
    assert sampled.goodput_bps == pytest.approx(tapped.goodput_bps, rel=0.01)
    assert sampled.rtt_ms == pytest.approx(tapped.rtt_ms, rel=0.02)
    assert many.table["lost"].null_count() == many.flows

    def once(attempt: int) -> list[str]:
        made = carried(tmp_path / f"netns-{attempt}", NetnsEngine())
        assert not list(made.directory.glob("tcp_*.parquet")), "a host has no flow tap"
        many, real = read(made, by_samples=True)
        # Headers are in no trace event, so nothing that needs a drop's flow can be had.
        assert many.table["dropped"].null_count() == many.flows
        assert (many.losses_per_halving, many.flow_burstiness, many.mathis_on_losses) == (None, None, None)
        print(f"uml {sampled}, netns {real}")
        return sampled.problems(real)

    compare(once)
