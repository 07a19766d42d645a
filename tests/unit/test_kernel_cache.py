"""Which kernel is used, that one that is there is not built again, and what is ours in its tree."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from narrows.cli.kernel import own_lines
from narrows.cli.main import build_app
from narrows.errors import KernelError, UsageError
from narrows.kernel import KernelImage, build, find, image
from narrows.kernel.build import check_config, lay_in, trouble_in
from narrows.kernel.prune import unneeded
from narrows.kernel.trees import for_modules

HZ_100 = "CONFIG_HZ=100\n"


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Fragment, C files, patches, training and cache of the test's own."""
    for name in ("patches/lab/0001-hz", "patches/lab/0003-clock", "patches/speed/0002-calls"):
        write(tmp_path / f"{name}.patch", f"{name}\n")
    write(tmp_path / "src/arch/um/tap.c", "int tap;\n")
    write(tmp_path / "training/paths.py", "paths = 1\n")
    write(tmp_path / "fragment", "CONFIG_NET=y\n")
    monkeypatch.setattr(image, "FRAGMENT", tmp_path / "fragment")
    monkeypatch.setattr(image, "SOURCES", tmp_path / "src")
    monkeypatch.setattr(image, "PATCHES", tmp_path / "patches")
    monkeypatch.setattr(image, "TRAINING", tmp_path / "training")
    monkeypatch.setattr(image, "compiler", lambda: "gcc 12")
    monkeypatch.setenv("NARROWS_CACHE", str(tmp_path / "cache"))
    for name in ("NARROWS_KERNEL", "LINUX_SRC"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def put(cache: Path, name: str, at_s: int = 1) -> Path:
    """A whole build in the cache."""
    place = cache / "kernel" / name
    place.mkdir(parents=True)
    (place / "info.json").write_text(json.dumps({"id": name, "release": "7.2"}))
    os.utime(place / "info.json", (at_s, at_s))
    return place


def untrained(_: KernelImage, __: Path) -> Iterator[tuple[int, int]]:
    raise AssertionError("nothing is to be built")


def untried(_: KernelImage) -> None:
    raise AssertionError("nothing is to be booted")


def test_a_profile_makes_no_other_kernel_and_the_profiled_one_is_used(parts: Path) -> None:
    recipe = image.recipe()
    plain = put(parts / "cache", f"{recipe}-7.2", at_s=1)
    (plain / "info.json").write_text(json.dumps({"id": "7.2", "profiled": False}))
    assert not image.find().is_profiled
    assert list(build(1, untried)) == []
    profiled = put(parts / "cache", f"{recipe}-7.2-profiled", at_s=2**31)
    for facts in ({"profiled": True}, {"profiled": True, "in_order": True}):
        (profiled / "info.json").write_text(json.dumps({"id": "7.2", **facts}))
        os.utime(profiled / "info.json", (2**31, 2**31))
        # One whose parts start in another order gives other bytes.
        assert image.find().is_profiled is ("in_order" in facts)
    assert image.find().id == "7.2"
    assert list(build(1, untried, untrained)) == []


def test_a_build_that_does_not_say_was_profiled_unless_nothing_in_it_is_for_speed(parts: Path) -> None:
    for rooms, is_profiled in ((["lab/0001", "speed/0001"], True), (["lab/0001"], False)):
        assert KernelImage(parts / "linux", "7.2", None, {"patches": rooms}).is_profiled == is_profiled


@pytest.mark.parametrize("speed", [True, False])
def test_fragment_c_files_patches_and_compiler_decide_the_kernel(
    parts: Path, monkeypatch: pytest.MonkeyPatch, speed: bool
) -> None:
    seen = [image.recipe(speed=speed)]

    def seen_again() -> None:
        seen.append(image.recipe(speed=speed))

    for name in ("fragment", "src/arch/um/tap.c", "patches/lab/0001-hz.patch"):
        write(parts / name, "another\n")
        seen_again()
    write(parts / "src/arch/um/tap.h", "extern int tap;\n")
    seen_again()
    (parts / "src/arch/um/tap.h").rename(parts / "src/arch/tap.h")
    seen_again()
    (parts / "patches/lab/0001-hz.patch").rename(parts / "patches/lab/0004-hz.patch")
    seen_again()
    monkeypatch.setattr(image, "compiler", lambda: "gcc 13")
    seen_again()
    assert len(set(seen)) == len(seen)
    assert image.recipe(speed=speed) == seen[-1]


@pytest.mark.parametrize("name", ["patches/speed/0002-calls.patch", "training/paths.py"])
def test_what_only_makes_it_faster_does_not_decide_the_kernel_without_it(parts: Path, name: str) -> None:
    usual, plain = image.recipe(), image.recipe(speed=False)
    assert usual != plain
    write(parts / name, "another\n")
    assert image.recipe() != usual
    assert image.recipe(speed=False) == plain


def test_patches_are_applied_room_by_room_and_by_number(parts: Path) -> None:
    assert list(image.patches()) == ["lab/0001-hz.patch", "lab/0003-clock.patch", "speed/0002-calls.patch"]
    assert list(image.patches(speed=False)) == ["lab/0001-hz.patch", "lab/0003-clock.patch"]


def test_our_c_files_are_laid_into_the_tree_and_replace_nothing(parts: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "arch/um").mkdir(parents=True)
    lay_in(tree, "7.2")
    assert (tree / "arch/um/tap.c").read_text() == "int tap;\n"
    with pytest.raises(KernelError, match=r"7\.2 has a file of its own at arch/um/tap\.c"):
        lay_in(tree, "7.2")


def test_what_is_built_is_not_built_again_and_the_newest_source_of_todays_recipe_is_used(parts: Path) -> None:
    recipe = image.recipe()
    put(parts / "cache", f"{recipe}-6.18", at_s=1)
    newest = put(parts / "cache", f"{recipe}-7.2", at_s=2)
    put(parts / "cache", "00000000-9.9", at_s=3)  # of another recipe
    (parts / f"cache/kernel/.build-{recipe}-half").mkdir()
    assert list(build(1, untried)) == []
    assert find().directory == newest


def test_without_a_build_of_todays_recipe_there_is_no_kernel(parts: Path) -> None:
    put(parts / "cache", "00000000-7.2")
    with pytest.raises(KernelError, match="has not been built") as caught:
        find()
    assert "narrows kernel build" in str(caught.value.remedy)


def test_configuration_of_one_s_own_is_another_kernel_that_runs_do_not_take_by_themselves(
    parts: Path,
) -> None:
    assert image.recipe() == image.recipe("")
    assert len({image.recipe(own) for own in ("", "CONFIG_HZ=100\n", "CONFIG_HZ=250\n")}) == 3
    ours = put(parts / "cache", f"{image.recipe()}-7.2", at_s=1)
    theirs = put(parts / "cache", f"{image.recipe(HZ_100)}-7.2", at_s=2)
    assert find().directory == ours
    assert image.built(image.recipe(HZ_100))[0].directory == theirs
    assert list(build(1, untried, None, HZ_100)) == []


def test_a_kernel_without_what_only_makes_it_faster_is_one_that_runs_do_not_take_by_themselves(
    parts: Path,
) -> None:
    ours = put(parts / "cache", f"{image.recipe()}-7.2", at_s=1)
    put(parts / "cache", f"{image.recipe(speed=False)}-7.2", at_s=2)
    assert find().directory == ours
    assert list(build(1, untried, speed=False)) == []


def test_every_option_must_survive_and_one_s_own_replaces_the_fragment_s(parts: Path) -> None:
    ours = "CONFIG_NET=y\n# CONFIG_SLUB_DEBUG is not set\nCONFIG_HZ=1000\n"
    made = parts / ".config"
    made.write_text("CONFIG_NET=y\nCONFIG_HZ=100\n")
    check_config(made, ours + HZ_100)
    with pytest.raises(KernelError, match="does not take: CONFIG_HZ=1000"):
        check_config(made, ours)
    with pytest.raises(KernelError, match="does not take: CONFIG_TCP_CONG_MINE=y"):
        check_config(made, ours + HZ_100 + "CONFIG_TCP_CONG_MINE=y\n")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("CONFIG_HZ = 100\n", "not a line of kernel configuration"),
        ("HZ=100\n", "not a line of kernel configuration"),
        ("CONFIG_HZ=100\nCONFIG_HZ=250\n", "set again below"),
        ("# nothing\n", "no option of the kernel"),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, text: str | None, error: str) -> None:
    file = tmp_path / "own.config"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError, match=error):
        own_lines(file)


def test_comments_and_blank_lines_do_not_make_another_kernel(tmp_path: Path) -> None:
    file = tmp_path / "own.config"
    file.write_text("# slower ticks\n\nCONFIG_HZ=100\n# CONFIG_BUG is not set\n")
    assert own_lines(file) == "CONFIG_HZ=100\n# CONFIG_BUG is not set\n"


PATCHES = image.patches()
SOURCES = image.sources()


def test_every_patch_stands_in_a_room_and_every_c_file_is_laid_in() -> None:
    older = {file for level in ((6, 1), (6, 12)) for file in image.patches(False, level).values()}
    assert sorted(image.PATCHES.rglob("*.patch")) == sorted({*PATCHES.values(), *older})
    assert {file for file in image.SOURCES.rglob("*") if file.is_file()} == set(SOURCES.values())


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
def test_a_patch_says_why_at_its_head_and_edits_only_linux_own_files_outside_net(patch: Path) -> None:
    head, _, changes = patch.read_text().partition("\ndiff --git ")
    assert re.search(r"^Why: \S", head, re.MULTILINE)
    assert not re.search(
        r"^(new file|deleted file|rename|copy|(---|\+\+\+) /dev/null)", changes, re.MULTILINE
    )
    assert not re.search(r"^@@ -0,0 ", changes, re.MULTILINE)
    before = re.findall(r"^--- a/(\S+)$", changes, re.MULTILINE)
    after = re.findall(r"^\+\+\+ b/(\S+)$", changes, re.MULTILINE)
    assert before == after != []
    assert not set(after) & SOURCES.keys()
    assert not [name for name in after if name.startswith(("net/", "include/net/", "include/linux/tcp"))]


@pytest.mark.parametrize("name", SOURCES)
def test_a_c_file_of_ours_has_its_licence_and_why_it_is_there_at_its_head(name: str) -> None:
    text = SOURCES[name].read_text()
    is_header = name.endswith(".h")
    mark = "/* SPDX-License-Identifier: GPL-2.0 */" if is_header else "// SPDX-License-Identifier: GPL-2.0"
    head = re.match(rf"{re.escape(mark)}\n(/\*.*?\*/)\n", text, re.DOTALL)
    assert head
    assert is_header or re.search(r"^ \* Why: \S", head[1], re.MULTILINE)


def test_prune_removes_what_nobody_needs_and_nothing_else(
    parts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of another recipe, an older source of today's, a half-made one; today's, today's without speed, one
    with configuration of its own and the chosen one stay."""
    cache, today, plain = parts / "cache", image.recipe(), image.recipe(speed=False)
    stay = [put(cache, f"{today}-7.2", at_s=2), put(cache, f"{plain}-7.2")]
    gone = [put(cache, name) for name in ("00000000-6.1", "11111111-6.1", f"{today}-6.18")]
    own, chosen = put(cache, "22222222-7.2"), put(cache, "33333333-7.2")
    write(own / "info.json", json.dumps({"id": "own", "own_config": ["CONFIG_HZ=100"]}))
    monkeypatch.setenv("NARROWS_KERNEL", str(chosen))
    half, alive = cache / "kernel/.build-00000000-x", cache / "kernel/.build-44444444-y"
    for one in (half, alive):
        write(one / "linux", "half")
    with (cache / "kernel/.lock-44444444").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = unneeded()
        assert {one.directory for one in found} == {*gone, half}
        shown = CliRunner().invoke(build_app(), ["kernel", "prune"])
        assert "of another recipe" in shown.output
        assert all(one.exists() for one in (*gone, half)), "without --yes it only shows"
        CliRunner().invoke(build_app(), ["kernel", "prune", "--yes"])
        assert CliRunner().invoke(build_app(), ["kernel", "prune"]).output == "nothing to remove\n"
    left = {path for path in (cache / "kernel").iterdir() if not path.name.startswith(".lock")}
    assert left == {*stay, own, chosen, alive}


def test_a_compiler_that_fails_is_quoted_by_its_errors() -> None:
    said = (
        "  CC a.o\na.c:4:2: error: implicit declaration of ‘f’\n"
        + "  CC b.o\n" * 60
        + "make: *** [a.o] Error 1\n"
    )
    assert trouble_in(said) == "a.c:4:2: error: implicit declaration of ‘f’"
    assert trouble_in("a\nb\n") == "a\nb"


def test_modules_are_built_against_what_the_kernel_was_compiled_from(tmp_path: Path) -> None:
    kept = ["include/linux/sched/task.h", "include/linux/tcp.h", "include/net/sm.h", "net/ipv4/tcp_bbr.c",
            "scripts/mod/modpost"]  # fmt: skip
    tree, copy = tmp_path / "tree", tmp_path / "copy"
    for name in (*kept, "include/linux/usb/hub.h", "net/ipv4/tcp_bbr.o", "drivers/tty/tty.c"):
        write(tree / name, "text\n")
    write(
        tree / "kernel/.fork.o.cmd",
        "deps := \\\n  include/linux/sched/task.h \\\n  /usr/include/stdio.h \\\n",
    )
    for_modules(tree, copy)
    assert sorted(file.relative_to(copy).as_posix() for file in copy.rglob("*") if file.is_file()) == kept
