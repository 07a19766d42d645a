"""Which kernel is used, that one that is there is not built again, and what our patches leave alone."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from narrows.cli.kernel import own_lines
from narrows.errors import KernelError, UsageError
from narrows.kernel import KernelImage, build, find, image
from narrows.kernel.build import check_config

HZ_100 = "CONFIG_HZ=100\n"


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Fragment, patches and cache of the test's own."""
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches/0001-hz.patch").write_text("hz\n")
    (tmp_path / "fragment").write_text("CONFIG_NET=y\n")
    monkeypatch.setattr(image, "FRAGMENT", tmp_path / "fragment")
    monkeypatch.setattr(image, "PATCHES", tmp_path / "patches")
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


def test_fragment_patches_and_compiler_decide_the_kernel(
    parts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = [image.recipe()]
    (parts / "fragment").write_text("CONFIG_NET=n\n")
    seen.append(image.recipe())
    (parts / "patches/0001-hz.patch").write_text("HZ\n")
    seen.append(image.recipe())
    (parts / "patches/0001-hz.patch").rename(parts / "patches/0002-hz.patch")
    seen.append(image.recipe())
    monkeypatch.setattr(image, "compiler", lambda: "gcc 13")
    seen.append(image.recipe())
    assert len(set(seen)) == len(seen)
    assert image.recipe() == seen[-1]


def test_what_is_built_is_not_built_again_and_the_newest_source_of_todays_recipe_is_used(parts: Path) -> None:
    recipe = image.recipe()
    put(parts / "cache", f"{recipe}-6.18", at_s=1)
    newest = put(parts / "cache", f"{recipe}-7.2", at_s=2)
    put(parts / "cache", "00000000-9.9", at_s=3)  # of another recipe
    (parts / f"cache/kernel/.build-{recipe}-half").mkdir()
    assert list(build(1, untrained)) == []
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
    assert list(build(1, untrained, HZ_100)) == []


def test_every_option_must_survive_and_one_s_own_replaces_the_fragment_s(parts: Path) -> None:
    (parts / "fragment").write_text("CONFIG_NET=y\n# CONFIG_SLUB_DEBUG is not set\nCONFIG_HZ=1000\n")
    made = parts / ".config"
    made.write_text("CONFIG_NET=y\nCONFIG_HZ=100\n")
    check_config(made, HZ_100)
    with pytest.raises(KernelError, match="does not take: CONFIG_HZ=1000"):
        check_config(made)
    with pytest.raises(KernelError, match="does not take: CONFIG_TCP_CONG_MINE=y"):
        check_config(made, HZ_100 + "CONFIG_TCP_CONG_MINE=y\n")


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


PATCHES = sorted(image.PATCHES.glob("*.patch"))


@pytest.mark.parametrize("patch", PATCHES, ids=[patch.name for patch in PATCHES])
def test_a_patch_says_why_at_its_head_and_leaves_net_as_linux_has_it(patch: Path) -> None:
    head, _, changes = patch.read_text().partition("\ndiff --git ")
    assert re.search(r"^Why: \S", head, re.MULTILINE)
    touched = re.findall(r"^(?:diff --git |--- |\+\+\+ )?[ab]/(\S+)", f"diff --git {changes}", re.MULTILINE)
    assert touched
    assert not [name for name in touched if name.startswith(("net/", "include/net/", "include/linux/tcp"))]
