"""What the plan of another can read of the worker's user: nothing but the system and what it declares. The
guest's own test is in tests/isolation."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import Any

import pytest
from store_fakes import FakeEngine, make_plan
from test_engine_process import carry, needs_landlock
from test_store_ingest import CARRIED

import lab
from narrows.engine import contents, readable
from narrows.engine.types import Finished, RunFacts, RunFault
from narrows.errors import EngineError, PlanError
from narrows.plan.contents import of
from narrows.plan.files import digest
from narrows.plan.model import Plan
from narrows.store.finish import FinishPool

SYSTEM_PATH = "/usr/bin:/bin"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys/key").write_text("SECRET\n")
    return tmp_path / "keys/key"


@needs_landlock
def test_a_child_reads_what_it_is_given_and_nothing_beside_it(tmp_path: Path, secret: Path) -> None:
    (inside := tmp_path / "run").mkdir()
    beside = secret.with_name("given")
    beside.write_text("GIVEN\n")
    status = beside.stat()
    given = (*readable.SYSTEM, (str(beside), status.st_dev, status.st_ino))
    script = f"cat {beside}; cat {secret}; ls {secret.parent}; cat /proc/$PPID/environ; echo own > f; cat f"
    assert carry(inside, script, readable=given)[2].splitlines()[::4] == ["GIVEN", "own"]
    assert "SECRET" in carry(inside, script)[2]  # else nothing is kept from it
    # The path leads to another file than the one that was looked at.
    beside.unlink()
    beside.symlink_to(secret)
    assert "SECRET" not in carry(inside, script, readable=given)[2]


def reading(tmp_path: Path, script: str, **more: Any) -> Plan:
    return lab.plan(
        tmp_path, f'link = Link(rate="1 Mbit/s")\nc = command({["sh", "-c", script]!r}, **{more!r})'
    )


def test_a_plan_declares_files_by_what_is_in_them(tmp_path: Path, secret: Path) -> None:
    folder = tmp_path / "lib"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/part").write_text("1")
    plan = reading(tmp_path, f"cat {secret}", depends=["lib"])
    places = [path for path, *_ in readable.declared(plan)]
    assert sorted(places) == sorted(map(str, (secret, folder, folder / "deep/part")))
    (folder / "deep/part").write_text("2")
    with pytest.raises(EngineError, match="lib is not what the plan was made with"):
        readable.declared(plan)
    assert digest(secret) == hashlib.sha256(b"SECRET\n").hexdigest()


def test_what_a_plan_calls_leads_to_no_other_directory() -> None:
    text = make_plan().to_json()
    assert Plan.from_json(text)
    for name in ("../up", "/root", ".ssh", "a/b", ""):
        edited = text.replace('"id": "cross"', f'"id": "{name}"')
        assert edited != text
        with pytest.raises(PlanError, match="not a plan of this version"):
            Plan.from_json(edited)


@needs_landlock
def test_commands_that_make_content_read_nothing_of_the_workers_user(
    tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NARROWS_CACHE", str(tmp_path / "cache"))
    content = of("a page", (("sh", "-c", f"cd {secret.parent}; cat key"), ("cp", "/etc/passwd", "x")), ())
    with pytest.raises(EngineError, match="key: Permission denied"):
        contents.make(content, SYSTEM_PATH, for_others=True)
    contents.make(of("a page", (("cp", "/etc/passwd", "x"),), ("cp",)), SYSTEM_PATH, for_others=True)
    contents.make(content, SYSTEM_PATH)
    evil = content.model_copy(update={"commands": (("touch", "evil"),)})
    with pytest.raises(EngineError, match="is not what the plan was made with"):
        contents.make(evil, SYSTEM_PATH)


def read_beside(directory: Path, _: RunFacts) -> Finished:
    """In the place of a tool's own parse.py: which of these it can open."""
    tried = {"../../keys/key": "r", "../../elsewhere": "w", "plan": "r", "made": "w"}
    found = []
    for path, mode in tried.items():
        with contextlib.suppress(OSError):
            (directory / path).open(mode).close()
            found.append(path)
    return Finished(RunFault("store", " ".join(found)), None)


@needs_landlock
def test_readers_of_a_workers_runs_reach_nothing_but_its_folder(tmp_path: Path, secret: Path) -> None:
    (run := tmp_path / "folder/run").mkdir(parents=True)
    (run / "plan").touch()
    facts = RunFacts("run", FakeEngine().info, CARRIED)
    with FinishPool(1, read_beside, only_in=tmp_path / "folder") as finish:
        kept = finish(run, facts).error
    with FinishPool(1, read_beside) as finish:
        free = finish(run, facts).error
    assert kept is not None
    assert kept.message == "plan made"
    assert free is not None
    assert free.message.startswith("../../keys/key")
