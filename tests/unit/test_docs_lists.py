"""The lists of rooms, floors, studies and crates in the documents are those of the tree."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from narrows.studies.find import studies

ROOT = Path(__file__).parents[2]
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
ROOMS = {path.parent.name for path in (ROOT / "python/narrows").glob("*/__init__.py")}
FREE = ("units", "headers", "data", "errors")
"""Modules that all may import stand below the floors."""


def test_the_floors_are_those_that_imports_are_checked_against() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [layer.replace("narrows.", "") for layer in contracts[0]["layers"]]
    (line,) = re.findall(r"^    (cli > (?:.|\n)*?)\n\n", ARCHITECTURE, re.MULTILINE)
    assert " ".join(line.split()) == " > ".join(
        layer.replace(" |", ",") for layer in layers if layer not in FREE
    )
    for module in FREE:
        assert f"`narrows.{module}`" in ARCHITECTURE


def test_every_room_has_its_row_and_its_place_in_the_tree() -> None:
    rows = set(re.findall(r"^\| \w+ \| `python/narrows/(\w+)`", ARCHITECTURE, re.MULTILINE))
    assert rows == ROOMS - {"data"}
    tree = ARCHITECTURE.partition("## What is where")[2].partition("\n##")[0]
    inside = tree.partition("python/narrows/\n")[2].partition("    crates/")[0]
    heads = [re.match(r" {6}((?:[a-z]+/(?:<\w+>/)?(?: |$))+)", line) for line in inside.splitlines()]
    assert {room for head in heads if head for room in re.findall(r"([a-z]+)/", head[1])} == ROOMS


def test_the_studies_and_crates_of_the_tree_are_all_named() -> None:
    (named,) = re.findall(r"studies/<paper>/ +([^:]*):", ARCHITECTURE)
    assert named.split() == sorted(studies())
    members = tomllib.loads((ROOT / "crates/Cargo.toml").read_text())["workspace"]["members"]
    manifests = [file for member in members for file in (ROOT / "crates").glob(f"{member}/Cargo.toml")]
    crates = [str(file.parent.relative_to(ROOT / "crates")) for file in manifests]
    listed = ARCHITECTURE.partition("Cargo workspace: ")[2].partition("    kernel/")[0]
    assert re.sub(r"\([^)]*\)", "", listed).split() == sorted(
        crates, key=lambda name: (name.startswith("tools/"), name)
    )


def test_the_makefile_and_the_readme_name_every_study() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (choices,) = re.findall(r"STUDY=([a-z_|]+\|[a-z_|]+),", makefile)
    assert choices.split("|") == sorted(studies())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\(python/narrows/studies/(\w+)/README\.md\)", readme)
    assert set(linked) == set(studies())
