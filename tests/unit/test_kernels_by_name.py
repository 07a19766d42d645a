"""Another version or tree beside the kernel in use: what it is made of, where it is found, who may run it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from store_fakes import FakeEngine, make_plan
from test_kernel_cache import parts, put, write

from narrows.engine.uml import UmlEngine
from narrows.errors import EngineError, KernelError, NarrowsError
from narrows.kernel import image, named, source, trees
from narrows.kernel.prune import unneeded
from narrows.plan.build import plan_experiment
from narrows.plan.identity import plan_hash, run_id
from narrows.spec.load import load

__all__ = ["parts"]


def tree_of(place: Path, version: tuple[int, int] = (6, 12)) -> Path:
    """The least that passes for a source tree."""
    write(place / "Makefile", f"VERSION = {version[0]}\nPATCHLEVEL = {version[1]}\n")
    write(place / "Kconfig", "config NET\n")
    write(place / "kernel/Makefile", "obj-y = fork.o\n")
    write(place / "arch/um/Makefile", "all:\n")
    return place


def build_of(cache: Path, version: str, level: tuple[int, int], **facts: object) -> Path:
    """A whole build of a named kernel."""
    made_of = image.recipe(speed=level == source.PATCHED, level=level)
    place = put(cache, f"{made_of}-{version}")
    info = {
        "id": f"{made_of}-{version}",
        "release": f"{level[0]}.{level[1]}.9",
        "source": version,
        "recipe": made_of,
    }
    (place / "info.json").write_text(json.dumps(info | facts))
    return place


def test_an_older_kernel_has_its_own_patches_in_the_place_of_their_namesakes(parts: Path) -> None:
    write(parts / "patches/lab-before-6.11/0001-hz.patch", "as of 6.1\n")
    write(parts / "patches/lab-before-6.19/0001b-more.patch", "as of 6.12\n")
    assert list(image.patches(False)) == ["lab/0001-hz.patch", "lab/0003-clock.patch"]
    assert list(image.patches(False, (6, 12))) == [
        "lab/0001-hz.patch", "lab-before-6.19/0001b-more.patch", "lab/0003-clock.patch",
    ]  # fmt: skip
    assert list(image.patches(False, (6, 1))) == [
        "lab-before-6.11/0001-hz.patch", "lab-before-6.19/0001b-more.patch", "lab/0003-clock.patch",
    ]  # fmt: skip
    recipes = {image.recipe(speed=False, level=level) for level in (None, (6, 12), (6, 1))}
    assert len(recipes) == 3
    assert image.recipe(level=(7, 2)) == image.recipe()


def test_an_older_kernel_has_its_own_configuration_too(parts: Path) -> None:
    before = image.recipe(speed=False, level=(6, 1))
    write(parts / "patches/lab-before-6.11/memory.config", "CONFIG_SLUB=y\n")
    assert list(image.fragments((6, 1))) == ["fragment", "lab-before-6.11/memory.config"]
    assert list(image.fragments((6, 12))) == list(image.fragments()) == ["fragment"]
    assert image.recipe(speed=False, level=(6, 1)) != before


def test_a_version_is_found_by_its_name_and_is_never_the_one_in_use(parts: Path) -> None:
    used = put(parts / "cache", f"{image.recipe()}-7.2.12")
    os.utime(used / "info.json", (1, 1))
    (used / "info.json").write_text(json.dumps({"id": "used", "source": "7.2.12", "recipe": image.recipe()}))
    other = build_of(parts / "cache", "6.12.9", (6, 12), named="6.12")
    tree = build_of(parts / "cache", "tree-0123456789", (7, 2), named=f"tree:{parts}")
    gone = build_of(parts / "cache", "tree-9876543210", (7, 2), named="tree:/gone")
    assert image.find().directory == used
    assert named("6.12").directory == other
    assert named("7.2").directory == used
    with pytest.raises(KernelError, match=r"6\.1 has not been built") as refused:
        named("6.1")
    assert "narrows kernel build 6.1 " in str(refused.value)
    assert [(one.directory, one.why) for one in unneeded()] == [(gone, "of /gone, which is gone")]
    write(parts / "patches/lab/0001-hz.patch", "another\n")
    assert {other, tree} <= {one.directory for one in unneeded()}


def test_a_tree_is_found_by_its_files_as_they_are(parts: Path) -> None:
    tree = tree_of(parts / "linux")
    at = build_of(parts / "cache", source.tree_source(tree).version, (6, 12), named=f"tree:{tree}")
    assert named(f"tree:{tree}").directory == at
    write(tree / "net/sched/sch_mine.c", "int mine;\n")
    with pytest.raises(KernelError, match="its files have changed since"):
        named(f"tree:{tree}")


@pytest.mark.parametrize(
    ("remove", "why"), [("Makefile", "no source tree"), ("arch/um/Makefile", "lacks arch/um")]
)
def test_what_is_no_kernel_is_said(parts: Path, remove: str, why: str) -> None:
    tree = tree_of(parts / "linux")
    (tree / remove).unlink()
    with pytest.raises(KernelError, match=why):
        source.tree_source(tree)


def test_only_what_changed_is_newer_than_its_object(tmp_path: Path) -> None:
    kept, tree = tmp_path / ".tree-x", tmp_path / "linux"

    def fresh(**texts: str) -> Path:
        for name, text in texts.items():
            write(tmp_path / "fresh" / f"{name}.c", text)
        return tmp_path / "fresh"

    trees.renew(fresh(one="1", two="2", gone="3"), kept, tree)
    write(kept / "build/one.o", "object")
    for file in (kept / "build").iterdir():
        os.utime(file, (1, 1))
    trees.renew(fresh(one="1", two="22"), kept, tree)
    stamps = {file.name: int(file.stat().st_mtime) for file in (kept / "build").iterdir()}
    assert stamps.pop("two.c") > 1
    assert stamps == {"one.c": 1, "one.o": 1}
    assert not (tmp_path / "fresh").exists()


def test_objects_of_a_tree_that_is_gone_are_not_needed(parts: Path) -> None:
    root = parts / "cache/kernel"
    root.mkdir(parents=True)
    tree = tree_of(parts / "linux")
    for number in (1, 2):
        write(parts / f"fresh{number}/one.c", "1")
        trees.renew(parts / f"fresh{number}", root / f".tree-{number}", tree if number == 1 else parts / "no")
    assert [(one.directory.name, one.why) for one in unneeded()] == [
        (".tree-2", f"objects of {parts / 'no'}, which is gone")
    ]


@pytest.mark.parametrize("mode", ["guest", "shell"])
def test_a_plan_is_carried_out_by_the_kernel_that_it_names(
    parts: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    write(parts / "agent", "#!/bin/sh\n")
    (parts / "agent").chmod(0o755)
    monkeypatch.setenv("NARROWS_AGENT", str(parts / "agent"))
    put(parts / "cache", f"{image.recipe()}-7.2.12")
    other = build_of(parts / "cache", "6.12.9", (6, 12), named="6.12", without=["CONFIG_NET_SCH_CODEL"])
    (other / "linux").write_text("")
    (other / "linux").chmod(0o755)
    plan = make_plan(queue="codel")
    asking = plan.model_copy(update={"machine": plan.machine.model_copy(update={"kernel": "6.12"})})
    image.find().path.write_text("")
    engine = UmlEngine()
    assert engine.job(plan, parts, parts, 0, mode=mode).argv[0] == str(image.find().path)
    assert engine.job(asking, parts, parts, 0, mode=mode).argv[0] == str(other / "linux")
    assert engine.info_of(asking).kernel_id == other.name != engine.info_of(plan).kernel_id
    with pytest.raises(EngineError, match=r"Linux 6\.12\.9 has no codel"):
        engine.check([asking])


def test_the_run_is_called_by_the_kernels_id_and_not_by_its_name() -> None:
    plan = make_plan()
    other = plan.model_copy(update={"machine": plan.machine.model_copy(update={"kernel": "6.12"})})
    assert run_id(plan, kernel="k", agent="a") == run_id(other, kernel="k", agent="a")
    assert plan_hash(plan) != plan_hash(other)
    with pytest.raises(EngineError, match="engine fake has one kernel"):
        FakeEngine().info_of(other)


@pytest.mark.parametrize(
    ("kernel", "why"),
    [("6", "no version of Linux"), ("tree:", "no version of Linux"), ("tree:nowhere", "no source tree")],
)
def test_a_name_that_is_none_is_refused_with_its_line(tmp_path: Path, kernel: str, why: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "'''Why?'''\nfrom narrows.spec import *\n"
        f"machine(kernel={kernel!r})\n"
        "link = Link(rate='10 Mbit/s', base_rtt='20 ms')\n"
        "flow = bulk(duration='1 s')\n"
    )
    with pytest.raises(NarrowsError, match=why) as refused:
        plan_experiment(load(file))
    assert "mine.py:3" in str(refused.value)
