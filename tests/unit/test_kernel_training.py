"""What the kernel is profiled with: the runs, where they may write, and what becomes of one that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from store_fakes import make_plan

from narrows.cli.experiment import asked_of
from narrows.engine import training
from narrows.engine.types import Carried, RunFault, RunRequest, Slot
from narrows.engine.uml import UmlEngine
from narrows.errors import EngineError, KernelError
from narrows.kernel import KernelImage
from narrows.kernel.image import TRAINING, recipe


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelImage:
    for name in ("linux", "agent"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("NARROWS_AGENT", str(tmp_path / "agent"))
    return KernelImage(tmp_path / "linux", "counting", None, {})


def test_training_passes_every_kind_of_queue_that_a_speed_test_study_uses_and_many_flows() -> None:
    plans = [plan for file in sorted(TRAINING.glob("*.py")) for plan in asked_of(file).plans]
    queues = {plan.link.down.queue for plan in plans}
    assert queues >= {"pfifo", "bfifo", "codel", "fq_codel", "sfq", "pie", "fq_pie", "red", "cake", "dualpi2"}
    ccas = {item.cca for plan in plans for item in plan.traffic if hasattr(item, "cca")}
    assert ccas >= {"reno", "cubic", "bbr", "dctcp"}
    assert any(plan.flow_tap is not None for plan in plans)


def test_a_kernel_that_counts_may_write_its_counts_and_no_more(image: KernelImage, tmp_path: Path) -> None:
    plan = make_plan()
    plain = UmlEngine(image).job(plan, tmp_path / "run", tmp_path / "private", 0)
    counting = UmlEngine(image, tmp_path / "counts").job(plan, tmp_path / "run", tmp_path / "private", 0)
    assert set(counting.writable_dirs) - set(plain.writable_dirs) == {str(tmp_path / "counts")}
    assert counting.env == {**plain.env, "GCOV_PREFIX": str(tmp_path / "counts")}


def test_a_run_that_fails_ends_the_training_and_names_itself(
    image: KernelImage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: Any, **__: Any) -> Carried:
        fault = RunFault("guest", "ended without a result")
        return Carried(error=fault, wall_s=1.0, cpu=0, max_rss_bytes=None, cpu_s=None, isolation={})

    monkeypatch.setattr(UmlEngine, "check", lambda *_: None)
    monkeypatch.setattr(UmlEngine, "slots", lambda *_: [Slot(0, None)])
    monkeypatch.setattr(UmlEngine, "run", run)
    with pytest.raises(EngineError, match=r"profiling the kernel: .*ended without a result"):
        list(training.train(image, tmp_path / "counts", [make_plan()]))


def test_a_kernel_that_does_not_boot_here_says_what_it_said(
    image: KernelImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "userspace - ptrace set fp regs failed, errno = 14"

    def run(*_: Any, **__: Any) -> Carried:
        fault = RunFault("guest", f"ended without a result: {said}")
        return Carried(error=fault, wall_s=1.0, cpu=0, max_rss_bytes=None, cpu_s=None, isolation={})

    monkeypatch.setattr(UmlEngine, "check", lambda *_: None)
    monkeypatch.setattr(UmlEngine, "slots", lambda *_: [Slot(0, None)])
    monkeypatch.setattr(UmlEngine, "run", run)
    with pytest.raises(KernelError, match=f"does not run on this host: .*{said}") as refused:
        training.boot(image)
    assert refused.value.remedy


def test_a_run_whose_agent_fails_ends_the_training_too(
    image: KernelImage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: UmlEngine, request: RunRequest) -> Carried:
        (request.directory / "raw").mkdir()
        (request.directory / "raw/result.json").write_text(
            '{"status": "failed", "error": {"message": "no tc"}}'
        )
        return Carried(error=None, wall_s=1.0, cpu=0, max_rss_bytes=None, cpu_s=None, isolation={})

    monkeypatch.setattr(UmlEngine, "check", lambda *_: None)
    monkeypatch.setattr(UmlEngine, "slots", lambda *_: [Slot(0, None)])
    monkeypatch.setattr(UmlEngine, "run", run)
    with pytest.raises(EngineError, match=r"profiling the kernel: .*no tc"):
        list(training.train(image, tmp_path / "counts", [make_plan()]))


def test_training_is_part_of_what_decides_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = recipe()
    (tmp_path / "paths.py").write_text("other = 1\n")
    monkeypatch.setattr("narrows.kernel.image.TRAINING", tmp_path)
    assert recipe() != before
