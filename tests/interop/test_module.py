"""A kernel module of a person's own: built outside the tree against the kept kernel, loaded, and used."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import lab
from narrows.plan.build import plan_file
from narrows.plan.identity import run_id

WINDOW = 8
MSS_BYTES, RTT_S, DURATION_S = 1448, 0.040, 10
"""1500 bytes less IP and TCP headers with timestamps. A window of 8 segments per 40 ms of RTT."""

EXPERIMENT = f'''"""Is the CCA of a module used?"""

from narrows.spec import Link, bulk, machine, own_cca

link = Link(rate="50 Mbit/s", base_rtt="40 ms")
flow = bulk(cca=own_cca("fixed"), duration="{DURATION_S} s")
machine(modules=["tcp_fixed.ko window={WINDOW}"])
'''


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The module, built as kernel/README.md says."""
    return lab.built_module("tcp_fixed", tmp_path_factory.mktemp("module"))


@pytest.mark.kernel
def test_a_module_of_ones_own_carries_a_flow(module: Path, tmp_path: Path) -> None:
    shutil.copy(module, tmp_path)
    file = tmp_path / "mine.py"
    file.write_text(EXPERIMENT)
    done = lab.narrows("run", file, "--out", tmp_path / "results", cwd=tmp_path)
    done.ok()
    (directory,) = lab.run_dirs(tmp_path / "results")
    flows = (directory / "raw/flow.flows.csv").read_text().splitlines()
    flow = dict(zip(flows[0].split(","), flows[1].split(","), strict=True))
    assert flow["cca"] == "fixed"
    # A window that never moves gives exactly one window per RTT; the RTT is the base RTT and the time that
    # eight frames of 1514 bytes take at 50 Mbit/s (1.9 ms), of which self-clocking hides a part.
    received = int(flow["bytes_received"])
    most = WINDOW * MSS_BYTES * DURATION_S / RTT_S
    assert 0.93 * most < received <= 1.01 * most


@pytest.mark.kernel
def test_a_file_that_is_no_module_of_this_kernel_fails_its_run_by_name(tmp_path: Path) -> None:
    (tmp_path / "tcp_fixed.ko").write_bytes(b"not a module")
    file = tmp_path / "mine.py"
    file.write_text(EXPERIMENT)
    done = lab.narrows("run", file, "--out", tmp_path / "results", cwd=tmp_path)
    assert done.code != 0
    (directory,) = lab.failed_dirs(tmp_path / "results")
    assert "loading the module tcp_fixed failed: it was not built for this kernel" in lab.message(directory)


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("gives", "said"), [(0, "no echo of 3 came back"), (5, "only 4 of 20 echoes came back")]
)
def test_a_queue_of_ones_own_that_gives_nothing_is_named_when_the_run_begins(
    tmp_path: Path, gives: int, said: str
) -> None:
    """Of five packets one is the first exchange's, which is not counted."""
    shutil.copy(lab.built_module("sch_still", tmp_path), tmp_path)
    still = f"""
    link = Link(rate="20 Mbit/s", base_rtt="20 ms", queue=own_qdisc("still"))
    machine(modules=["sch_still.ko gives={gives}"])
    flow = bulk(cca="cubic", duration="1 s")
    """
    (made,) = lab.make(lab.plans(tmp_path, still), tmp_path / "out")
    line = made.manifest["error"]["line"]
    assert line.startswith(f"calibration: {said}")
    assert re.search(rf"\(hop bottleneck up: still holds \d+ packets and has sent {gives}\)$", line)


def test_a_module_that_is_not_there_is_named_before_anything_runs(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(EXPERIMENT)
    done = lab.narrows("plan", file, cwd=tmp_path)
    assert done.code != 0
    assert "tcp_fixed.ko" in done.err
    assert "kernel/README.md" in done.err


def test_where_a_module_lies_does_not_change_a_runs_id_but_its_content_does(tmp_path: Path) -> None:
    ids = []
    for place, content in (("a", b"one"), ("b", b"one"), ("c", b"two")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "tcp_fixed.ko").write_bytes(content)
        file = tmp_path / place / "mine.py"
        file.write_text(EXPERIMENT)
        (plan,) = plan_file(file).plans
        ids.append(run_id(plan, kernel="k", agent="a"))
    assert ids[0] == ids[1] != ids[2]
