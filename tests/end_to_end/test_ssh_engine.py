"""`narrows run --engine ssh`: a run on three hosts that are network namespaces with an sshd each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from narrows.engine import layout
from narrows.store.whose import with_labels
from three_hosts import GOOD, Lab

EXPERIMENT = '''
"""What does a FIFO of 20 packets do to a probe?"""
from narrows.spec import Link, bulk, icmp_echo, pfifo, sample, udp_probe, with_

link = Link(
    rate="4 Mbit/s", base_rtt=None, queue=pfifo(limit=20),
    sysctls={"all": {"net.ipv4.tcp_congestion_control": "reno"}},
)
flow = bulk(cca="reno", duration="%s")
probe = udp_probe(interval="20 ms", stop=with_(flow))
ping = icmp_echo(interval="20 ms", stop=with_(flow))
sample(qdisc="50 ms")
'''
LONG = "100 s"

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.realtime]


def argv(lab: Lab, duration: str) -> list[str]:
    (lab.directory / "hosts.toml").write_text(GOOD)
    experiment = lab.directory / "fifo.py"
    experiment.write_text(EXPERIMENT % duration)
    return [
        "ip", "netns", "exec", f"{lab.prefix}lab", sys.executable, "-m", "narrows.cli.main", "run",
        str(experiment),
        "--engine", "ssh", "--hosts", str(lab.directory / "hosts.toml"), "--out", str(lab.directory / "out"),
        "--fresh",
    ]  # fmt: skip


def until(what: Callable[[], bool], seconds: float = 90) -> bool:
    """Whether it becomes true; a deadline against hanging, not a measurement."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return what()


def left_behind() -> set[Path]:
    """Files of runs on hosts."""
    return {*Path("/run/narrows").glob("*.json"), *Path("/tmp").glob("narrows-run-*")}


@pytest.fixture
def as_before(lab: Lab) -> Iterator[Lab]:
    """Whatever a test does, all hosts are afterwards what they were, to the byte."""
    before, left = lab.state(), left_behind()
    yield lab
    # The kernel tells of a link that came up as much as a second late.
    if not until(lambda: lab.state() == before, 10):
        changed = [(old, new) for old, new in zip(before, lab.state(), strict=False) if old != new]
        raise AssertionError(changed)
    assert left_behind() <= left


def agents() -> list[int]:
    """Process ids of agents and guardians, oldest first."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"/agent-" in words[0] and b"remote" in words:
            found.append(int(path.name))
    return sorted(found)


def begun(lab: Lab, duration: str) -> subprocess.Popen[str]:
    """A run whose traffic flows: its progress says so."""
    child = subprocess.Popen(argv(lab, duration), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def flows() -> bool:
        logs = list(Path("/tmp").glob("narrows-run-*/raw/*.csv"))
        return len(agents()) == 6 and bool(logs)

    if not until(flows):
        child.terminate()
        logs = list(Path("/tmp").glob("narrows-run-*/raw/*"))
        raise AssertionError(f"{agents()} {logs} {child.communicate()[0]}")
    return child


def test_a_run_over_ssh_gives_the_same_tables_and_leaves_the_hosts_as_they_were(as_before: Lab) -> None:
    done = subprocess.run(argv(as_before, "1 s"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = [path for path in (as_before.directory / "out").iterdir() if layout.is_whole(path)]
    figures = {
        (row["whose"], row["direction"], row["quantity"]): row["value"]
        for row in with_labels(pl.read_parquet(run / "metrics.parquet")).iter_rows(named=True)
    }
    # 4 Mbit/s of Ethernet frames: 1448 of 1514 bytes are TCP's payload. A busy machine makes it less.
    assert 1e6 < figures["flow", "down", "bulk_goodput_bps"] <= 4e6 * 1448 / 1514 * 1.02
    assert figures["flow", "down", "bulk_bytes_received"] > 0
    assert figures["ping", None, "probe_received"] > 40
    samples = pl.read_parquet(run / "samples.parquet")
    rtt_ns = samples.filter((pl.col("item") == "probe") & (pl.col("quantity") == "rtt"))["value"]
    # A FIFO of 20 full frames at 4 Mbit/s holds a packet for 61 ms; a busy machine for longer.
    assert float(rtt_ns.max() or 0) > 40e6  # type: ignore[arg-type]
    backlog = samples.filter(pl.col("quantity").cast(pl.String).str.contains("backlog"))["value"]
    assert float(backlog.max() or 0) > 0  # type: ignore[arg-type]
    manifest = json.loads((run / layout.MANIFEST).read_bytes())
    assert manifest["engine"] == "ssh" or manifest["engine"]["name"] == "ssh"


def test_an_agent_that_is_killed_costs_the_run_and_nothing_else(as_before: Lab) -> None:
    child = begun(as_before, LONG)
    os.kill(agents()[0], signal.SIGKILL)
    said = child.communicate(timeout=120)[0]
    assert child.returncode == 1
    assert "is gone" in said
    assert "Traceback" not in said


def test_hosts_recover_by_themselves_when_narrows_is_killed(as_before: Lab) -> None:
    child = begun(as_before, LONG)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    assert until(lambda: not agents())


def test_a_link_that_is_cut_costs_the_run_and_the_host_beyond_it_recovers(as_before: Lab) -> None:
    child = begun(as_before, LONG)
    as_before.inside("lab", "ip", "link", "set", "to1", "down")
    try:
        said = child.communicate(timeout=180)[0]
        assert child.returncode == 1
        assert "is gone" in said
        assert "Traceback" not in said
        assert until(lambda: not agents())
    finally:
        as_before.inside("lab", "ip", "link", "set", "to1", "up")


def test_what_agents_left_that_died_with_their_guardians_is_undone_by_the_next_run(as_before: Lab) -> None:
    child = begun(as_before, LONG)
    both = agents()
    for pid in both:
        os.kill(pid, signal.SIGSTOP)
    # Guardians first: one whose agent dies while it is stopped is woken by the kernel (an orphaned group).
    for pid in reversed(both):
        os.kill(pid, signal.SIGKILL)
    child.communicate(timeout=120)
    assert list(Path("/run/narrows").glob("*.json"))
    done = subprocess.run(argv(as_before, "1 s"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
