"""No module imports, over others, itself: of Python's modules all, of each crate's those that `use` names."""

from __future__ import annotations

import re
from collections.abc import Collection
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

CRATES = Path(__file__).parents[2] / "crates"
SOURCES = sorted(path for pattern in ("*/src", "tools/*/src") for path in CRATES.glob(pattern))


def test_no_module_of_python_imports_itself_over_others() -> None:
    graph = grimp.build_graph("narrows")
    modules = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(modules) > 300
    TopologicalSorter(modules).prepare()  # CycleError names the circle


def used(text: str, own: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Paths below the crate's root that `use crate::…` and `use super::…` begin with, of a module `own`."""
    roots: dict[str, tuple[str, ...]] = {"crate": (), "self": own, "super": own[:-1]}
    found = set()
    for root, path, group in re.findall(
        r"^use (crate|self|super)::([\w:]*?)(?:::)?(\{[^;]*\})?;", text, re.M
    ):
        head = (*roots[root], *(part for part in path.split("::") if part))
        found |= {(*head, name) for name in re.findall(r"\w+", group)} if group else {head}
    return found


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.parent.name)
def test_no_module_of_a_crate_uses_itself_over_others(source: Path) -> None:
    files = {
        tuple(part for part in file.relative_to(source).with_suffix("").parts if part != "mod"): file
        for file in source.rglob("*.rs")
    }
    modules = {own: {module_of(path, files) for path in used(file.read_text(), own)} - {own, ()}
               for own, file in files.items()}  # fmt: skip
    TopologicalSorter(modules).prepare()


def module_of(path: tuple[str, ...], files: Collection[tuple[str, ...]]) -> tuple[str, ...]:
    """The module that a path leads into; what follows are names in it."""
    return next((path[:n] for n in range(len(path), 0, -1) if path[:n] in files), ())
