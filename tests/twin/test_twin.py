"""The same plan in virtual time and on this host's kernel in real time: the same numbers, within TOLERANCE.

docs/twin.md says what is compared and what was measured. The link has no base RTT of its own, because hosts
(such as the one that this was written on) may have no netem.
"""

from __future__ import annotations

import csv
import os
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import lab
from narrows.engine.netns import NetnsEngine, lacking_qdiscs
from narrows.engine.types import Engine

pytestmark = [pytest.mark.kernel, pytest.mark.root, pytest.mark.slow, pytest.mark.realtime]
Compare = Callable[[Callable[[int], list[str]]], None]

TOLERANCE = 0.10
DROPS_FACTOR = 2.0
SECONDS = 4
INSTANCES = Path("/sys/kernel/tracing/instances")
# Some hosts let no namespace have CUBIC as its default; flows name theirs themselves.
SYSCTLS = '{"all": {"net.ipv4.tcp_congestion_control": "reno"}}'
CONDITIONS = {
    "5 Mbit/s, 20 packets, one CUBIC flow": (5, 20, 1, "cubic"),
    "10 Mbit/s, 20 packets, four Reno flows": (10, 20, 4, "reno"),
    "50 Mbit/s, 100 packets, four CUBIC flows": (50, 100, 4, "cubic"),
}


@dataclass(frozen=True)
class Figures:
    """What is compared of one run."""

    goodput_bps: float
    rtt_ns: float
    dropped: int
    delivered_share: float

    def problems(self, other: Figures) -> list[str]:
        """In words, what of `other` lies outside the tolerance."""
        told = []
        for name in ("goodput_bps", "rtt_ns", "delivered_share"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if abs(theirs / mine - 1) > TOLERANCE:
                told.append(f"{name}: {mine} and {theirs}")
        low, high = sorted((self.dropped, other.dropped))
        if high > DROPS_FACTOR * low + 10:  # small counts differ by more
            told.append(f"dropped: {self.dropped} and {other.dropped}")
        return told


def text(rate_mbit: int, limit: int, flows: int, cca: str) -> str:
    return f"""
    link = Link(rate="{rate_mbit} Mbit/s", base_rtt=None, queue=pfifo(limit={limit}), sysctls={SYSCTLS})
    flow = bulk(flows={flows}, cca="{cca}", duration="{SECONDS} s")
    probe = udp_probe(interval="5 ms", stop=with_(flow))
    sample(tcp_info=None, qdisc=None, link="500 ms")
    tap("off")
    """


def figures(plan: lab.Plan, directory: Path, engine: Engine | None = None) -> Figures:
    """Of one run; a real rig that fails its calibration raises `lab.Refused`."""
    raw = lab.carry(plan, directory, engine=engine)
    if engine is not None and (raw.result["error"] or {}).get("stage") == "calibration":
        raise lab.Refused(raw.result["error"]["message"])
    raw.ok()
    received = [int(row["bytes_received"]) for row in csv.DictReader((raw.raw / "flow.flows.csv").open())]
    probes = [row for row in csv.DictReader((raw.raw / "probe.csv").open()) if int(row["sent_ns"]) > 10**9]
    rtts = [int(row["received_ns"]) - int(row["sent_ns"]) for row in probes if row["received_ns"]]
    assert len(rtts) > 100
    counts = []
    for when in ("after", "before"):
        shown = raw.result[f"tc_{when}"]["router"]["eth0"]["qdisc"]
        root = next(q for q in shown if q.get("root"))
        counts.append((root["packets"], root["drops"]))
    sent, dropped = (a - b for a, b in zip(*counts, strict=True))
    return Figures(sum(received) * 8 / SECONDS, statistics.median(rtts), dropped, sent / (sent + dropped))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_virtual_time_agrees_with_this_hosts_kernel(tmp_path: Path, condition: str, compare: Compare) -> None:
    plan = lab.plan(tmp_path, text(*CONDITIONS[condition]))
    virtual = figures(plan, tmp_path / "uml")

    def once(attempt: int) -> list[str]:
        real = figures(plan, tmp_path / f"netns-{attempt}", NetnsEngine())
        print(f"{condition}: uml {virtual}, netns {real}")
        return virtual.problems(real)

    compare(once)


def commanded(directory: Path, compare: Compare, *before: str) -> lab.Called:
    """The whole command on this host's kernel, again where other work disturbed even its calibration."""
    calls = []

    def once(attempt: int) -> list[str]:
        called = lab.narrows(
            "run", "tiny.py", "--engine", "netns", "--out", "out", cwd=directory, before=before
        )
        if called.code and "calibration" in called.out:
            raise lab.Refused(called.out)
        calls.append(called.ok())
        return []

    compare(once)
    return calls[-1]


def test_the_whole_command_works_on_this_hosts_kernel(tmp_path: Path, compare: Compare) -> None:
    lab.experiment(tmp_path, text(10, 50, 1, "cubic").replace('tap("off")', ""))
    commanded(tmp_path, compare)
    (run,) = lab.run_dirs(tmp_path / "out")
    manifest = lab.manifest(run)
    assert manifest["engine"] == "netns"
    assert manifest["calibration"]["ok"] is True
    for hop in manifest["conservation"]:
        verdicts = {check["check"].split(":")[0]: check["verdict"] for check in hop["checks"]}
        assert verdicts["links"] == "ok", hop
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert "nrw" not in left
    assert not list(INSTANCES.glob("nrw*"))


def tapped(directory: Path, engine: Engine | None, mode: str = "packets") -> lab.Made:
    """A whole run with a tap; a real rig that fails its calibration raises `lab.Refused`."""
    plan = lab.plan(directory, text(10, 20, 4, "reno").replace('tap("off")', f'tap("{mode}")'))
    (made,) = lab.make([plan], directory / "out", engine=engine)
    error = made.manifest["error"] or {}
    if engine is not None and error.get("stage") == "calibration":
        raise lab.Refused(error["line"])
    return made.ok()


def median_sojourn_ns(made: lab.Made) -> float:
    down = pl.read_parquet(made.directory / "queue.parquet").filter(direction="down", event="depart")
    median = down.filter(pl.col("t_ns") > 10**9)["sojourn_ns"].median()
    assert isinstance(median, float)
    return median


def test_the_tap_of_this_hosts_kernel_says_what_tc_says(tmp_path: Path, compare: Compare) -> None:
    virtual = median_sojourn_ns(tapped(tmp_path / "uml", None))

    def once(attempt: int) -> list[str]:
        made = tapped(tmp_path / f"netns-{attempt}", NetnsEngine())
        notes = [hop["tap_note"] for hop in made.manifest["taps"] if hop["tap_note"]]
        if any("tracefs" in note or "no trace event" in note for note in notes):
            pytest.skip(f"this host has no tap: {notes[0]}")
        if notes:  # events lost, a packet between two readings
            return [notes[0]]
        for hop in made.manifest["conservation"]:
            assert [check["verdict"] for check in hop["checks"]] == ["ok"] * 4, hop
        assert made.manifest["taps"][0]["tap"]["dropped_packets"] > 0
        frame = pl.read_parquet(made.directory / "queue.parquet").filter(direction="down")
        assert frame["flow"].null_count() == frame.height
        assert frame["backlog_packets"].max() == 20  # pfifo's limit
        events = frame["event"].cast(pl.String).to_list()
        assert events.count("arrive") == events.count("depart") + events.count("drop")
        assert frame["sojourn_ns"].drop_nulls().min() >= 0  # type: ignore[operator]
        ratio = median_sojourn_ns(made) / virtual
        print(f"median sojourn time: netns / uml = {ratio:.4f}")
        return (
            [] if abs(ratio - 1) <= TOLERANCE else [f"median sojourn time: {ratio} of that in virtual time"]
        )

    compare(once)


def test_the_lean_tap_of_this_hosts_kernel_says_what_tc_says(tmp_path: Path, compare: Compare) -> None:
    if not INSTANCES.is_dir():
        pytest.skip("this host has no tap: no tracefs")

    def once(attempt: int) -> list[str]:
        made = tapped(tmp_path / f"netns-{attempt}", NetnsEngine(), "drops")
        (down, up) = made.manifest["conservation"]
        verdicts = [check["verdict"] for check in down["checks"] + up["checks"]]
        if verdicts != ["ok"] * 10:
            return [str(made.manifest["warnings"])]
        series = pl.read_parquet(made.directory / "samples.parquet")["quantity"].cast(pl.String).unique()
        assert "drops_10ms" in series.to_list()
        assert "marks_10ms" not in series.to_list()
        return []

    compare(once)


def test_a_run_that_is_interrupted_leaves_no_namespace_and_no_trace(tmp_path: Path) -> None:
    lab.experiment(tmp_path, text(10, 50, 1, "cubic").replace('tap("off")', ""))
    interrupt = 'timeout --signal=INT 3 "$@"; exit 1'
    lab.narrows(
        "run", "tiny.py", "--engine", "netns", cwd=tmp_path, before=("sh", "-c", interrupt, "sh")
    ).failed()
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert "nrw" not in left
    assert not list(INSTANCES.glob("nrw*"))


def test_without_tracefs_a_run_is_whole_and_says_that_it_has_no_tap(tmp_path: Path, compare: Compare) -> None:
    lab.experiment(tmp_path, text(10, 50, 1, "cubic").replace('tap("off")', ""))
    hide = "for d in tracing debug; do mount -t tmpfs none /sys/kernel/$d; done; exec " + '"$@"'
    called = commanded(tmp_path, compare, "unshare", "--mount", "sh", "-c", hide, "sh")
    assert "no tap: this host shows no tracefs" in called.out
    (run,) = lab.run_dirs(tmp_path / "out")
    manifest = lab.manifest(run)
    assert [hop["tap"] for hop in manifest["taps"]] == [None, None]
    assert manifest["rows"]["queue"] == 0
    assert manifest["resources"]["packets"] is None


def test_a_run_whose_qdisc_this_kernel_lacks_is_refused_by_name_and_the_others_are_made(
    tmp_path: Path,
) -> None:
    queues = ("codel", "fq_codel", "sfq", "cake", "pie", "pfifo")
    many = f'axis("queue", [{", ".join(f"{queue}()" for queue in queues)}])'
    link = text(10, 50, 1, "cubic").replace("queue=pfifo(limit=50)", f"queue={many}")
    plans = lab.plans(tmp_path, link)
    lacking = lacking_qdiscs({probe for plan in plans for probe in plan.needs.qdiscs}, os.environ["PATH"])
    if not lacking:
        pytest.skip("this host's kernel has all qdiscs")
    called = lab.narrows("run", "tiny.py", "--engine", "netns", "--out", "out", cwd=tmp_path).failed(1)
    for kind in lacking:
        (line,) = [line for line in called.out.splitlines() if f"queue={kind} " in line]
        assert f"{kind} (" in line
        assert "--engine uml" in line
    made = {lab.manifest(run)["key"]["queue"] for run in lab.run_dirs(tmp_path / "out")}
    assert made == set(queues) - set(lacking)


def test_several_runs_at_once_are_refused_in_real_time(tmp_path: Path) -> None:
    lab.experiment(tmp_path, text(10, 50, 1, "cubic"))
    called = lab.narrows("run", "tiny.py", "--engine", "netns", "--jobs", "2", cwd=tmp_path).failed(1)
    assert "one run at a time" in called.err
