"""No module imports, over others, itself: of Python's modules all, of each crate's those that its code
names, by `use` or by a path inside it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

CRATES = Path(__file__).parents[2] / "crates"
SOURCES = sorted(path for pattern in ("*/src", "tools/*/src") for path in CRATES.glob(pattern))
TEXT = re.compile(r'"(?:\\.|[^"\\])*"', re.S)
COMMENT = re.compile(r"//[^\n]*")
TESTS = re.compile(r"#\[cfg\((?:all\()?test\b[^\n]*\nmod \w+ \{.*?\n\}\n", re.S)

Module = tuple[str, ...]
"""Its path below the crate's root."""


def test_no_module_of_python_imports_itself_over_others() -> None:
    graph = grimp.build_graph("narrows")
    modules = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(modules) > 300
    TopologicalSorter(modules).prepare()  # CycleError names the circle


def leaves(tree: str) -> Iterator[str]:
    """Every path of a `use`: `a::{b, c::{d, e}}` is a::b, a::c::d and a::c::e."""
    head, brace, rest = tree.partition("{")
    if not brace:
        yield re.sub(r"(::self)? as .*|::self$|::\*$", "", tree)
        return
    for part in re.findall(r"(?:[^,{}]|\{(?:[^{}]|\{[^{}]*\})*\})+", rest.rpartition("}")[0]):
        yield from leaves(head + part)


def named(text: str, own: Module, files: Collection[Module]) -> set[Module]:
    """The modules that the code of `own` names; its tests do not count, nor the crate's root."""
    code = TESTS.sub("", COMMENT.sub("", TEXT.sub('""', text)))
    known: dict[str, Module] = {"crate": (), "self": own, "super": own[:-1]}
    known |= {child: (*own, child) for child in re.findall(r"\bmod (\w+);", code)}
    used = [path for tree in re.findall(r"\buse ([^;]+);", code) for path in leaves("".join(tree.split()))]
    found = set()
    for path in [*used, *re.findall(r"(?<![\w:$.])\w+(?:::\w+)+", code)]:
        first, *names = path.split("::")
        if first not in known:
            continue
        at = known[first]
        for name in names:
            at = at[:-1] if name == "super" else (*at, name)
        found.add(module_of(at, files))
        if names and at in files and path in used:
            known.setdefault(names[-1], at)
    return found - {own, ()}


def module_of(path: Module, files: Collection[Module]) -> Module:
    """The module that a path leads into; what follows are names in it."""
    return next((path[:n] for n in range(len(path), 0, -1) if path[:n] in files), ())


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.parent.name)
def test_no_module_of_a_crate_names_itself_over_others(source: Path) -> None:
    """A module and those that lie in it may name each other: it holds what they share, and calls them.
    Neither half of that may be a part of a longer circle."""
    files = {
        tuple(part for part in file.relative_to(source).with_suffix("").parts if part != "mod"): file
        for file in source.rglob("*.rs")
    }
    modules = {own: named(file.read_text(), own, files) for own, file in files.items()}
    for skipped in (lambda own, other: other == own[:-1], lambda own, other: own == other[:-1]):
        graph = {own: {n for n in names if not skipped(own, n)} for own, names in modules.items()}
        TopologicalSorter(graph).prepare()
