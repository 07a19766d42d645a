"""`narrows run --cluster`: guests on Dask workers of this machine, which die, differ, and are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import lab
from narrows.engine import layout
from narrows.engine.cluster import ClusterEngine
from narrows.engine.types import Progress, RunRequest

LONG = '''"""Does it last?"""
from narrows.spec import Link, bulk, pfifo
link = Link(rate="50 Mbit/s", queue=pfifo(limit=50))
flow = bulk(cca="reno", duration="900 s")
'''


def until(what: Callable[[], bool], seconds: float = 60) -> bool:
    """Whether it becomes true; a deadline against hanging, not a measurement."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not what():
        time.sleep(0.05)
    return what()


def guests_of(parent: int) -> list[int]:
    """Kernels below a process."""
    guests = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words, up = (path / "cmdline").read_bytes(), int(path.name)
            while up > 1 and up != parent:
                up = int((Path("/proc") / str(up) / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if up == parent and b"/linux\0" in words:
            guests.append(int(path.name))
    return guests


def begun(tmp_path: Path) -> subprocess.Popen[str]:
    """A call on a local cluster of two, with its guest running."""
    file = tmp_path / "long.py"
    file.write_text(LONG)
    child = subprocess.Popen(
        [sys.executable, "-m", "narrows.cli.main", "run", str(file), "--out", str(tmp_path / "out"),
         "--cluster", "local", "--jobs", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert until(lambda: bool(guests_of(child.pid))), child.poll()
    return child


@pytest.mark.kernel
@pytest.mark.slow
def test_an_interruption_ends_the_guests_on_the_workers(tmp_path: Path) -> None:
    child = begun(tmp_path)
    guests = guests_of(child.pid)
    child.send_signal(signal.SIGTERM)  # as Ctrl-C, which a caller in the background may ignore
    said = child.communicate(timeout=90)[0]
    assert child.returncode == 130, said
    assert "Traceback" not in said
    assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in guests))


@pytest.mark.kernel
@pytest.mark.slow
def test_runs_come_back_as_if_made_here_and_a_killed_worker_costs_only_its_own(tmp_path: Path) -> None:
    (plan,) = lab.plans(tmp_path, lab.SMALL + 'test = iperf3(duration="1 s")\n')
    engine = ClusterEngine("local", 2, twice_every=1)
    try:
        workers = engine._client.run(os.getpid)
        whole = tmp_path / "whole"
        whole.mkdir()
        (whole / layout.PLAN).write_text(plan.to_json())
        dead = threading.Timer(1.0, lambda: os.kill(min(workers.values()), signal.SIGKILL))
        dead.start()
        heard: list[Progress] = []
        carried = engine.run(RunRequest(plan, whole, progress=heard.append))
        dead.join()
        assert carried.error is None
        assert (whole / layout.RAW / layout.RESULT).exists()
        assert heard  # the worker said how far it had come
    finally:
        engine.close()
    (ours,) = lab.make([plan], tmp_path / "here")
    result = layout.RAW + "/" + layout.RESULT
    assert (whole / result).read_bytes() == (ours.ok().directory / result).read_bytes()
