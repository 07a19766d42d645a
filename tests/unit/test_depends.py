"""A program that changed is run again: its libraries, what it is said to depend on, and a kernel's tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from store_fakes import AGENT, KERNEL

from lab import plans
from narrows.errors import SpecError
from narrows.kernel.source import given
from narrows.plan.files import unknown_imports
from narrows.plan.identity import run_id
from narrows.plan.model import Plan

LINK = 'link = Link(rate="8 Mbit/s")\n'


def planned(tmp_path: Path, words: str, options: str = "") -> Plan:
    (plan,) = plans(tmp_path, f"{LINK}mine = command({words!r}{options})\n")
    return plan


def identity(plan: Plan) -> str:
    return run_id(plan, kernel=KERNEL, agent=AGENT)


def compiled(folder: Path, answer: int) -> None:
    """A program that loads a library beside it."""
    (folder / "lib.c").write_text(f"int answer(void) {{ return {answer}; }}\n")
    (folder / "main.c").write_text("int answer(void); int main(void) { return answer(); }\n")
    for words in (
        ["-shared", "-fPIC", "-o", "libanswer.so", "lib.c"],
        ["-o", "main", "main.c", "-L.", "-lanswer", "-Wl,-rpath,$ORIGIN"],
    ):
        subprocess.run(["gcc", *words], cwd=folder, check=True)


def test_a_library_that_a_named_program_loads_is_part_of_the_run(tmp_path: Path) -> None:
    compiled(tmp_path, 1)
    first = planned(tmp_path, f"{tmp_path}/main")
    (command,) = first.traffic
    assert [Path(file.path).name for file in command.files] == ["libanswer.so", "main"]  # type: ignore[union-attr]
    assert identity(first) == identity(planned(tmp_path, f"{tmp_path}/main"))
    program = (tmp_path / "main").read_bytes()
    compiled(tmp_path, 2)
    assert (tmp_path / "main").read_bytes() == program
    assert identity(first) != identity(planned(tmp_path, f"{tmp_path}/main"))


def test_what_a_program_is_said_to_depend_on_is_part_of_the_run(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "__pycache__").mkdir(parents=True)
    (package / "cubic.py").write_text("BETA = 0.7\n")
    (tmp_path / "one.py").write_text("")
    options = ', depends=["package", "one.py"]'
    first = planned(tmp_path, "python3 -m package", options)
    (package / "__pycache__" / "cubic.pyc").write_text("made of it")
    assert identity(planned(tmp_path, "python3 -m package", options)) == identity(first)
    (package / "cubic.py").write_text("BETA = 0.8\n")
    second = planned(tmp_path, "python3 -m package", options)
    (tmp_path / "one.py").write_text("1")
    third = planned(tmp_path, "python3 -m package", options)
    assert len({identity(plan) for plan in (first, second, third)}) == 3
    with pytest.raises(SpecError, match="there is no packages"):
        planned(tmp_path, "python3 -m package", ', depends="packages"')


@pytest.mark.parametrize(
    ("words", "options", "unknown"),
    [
        ("python3.11 -m http.server", "", ["mine"]),
        ("node -e 1", "", ["mine"]),
        ("node -e 1", ', depends="mine.py"', []),
        ("ping @server", "", []),
    ],
)
def test_who_loads_what_no_run_covers_is_named(
    tmp_path: Path, words: str, options: str, unknown: list[str]
) -> None:
    (tmp_path / "mine.py").write_text("")
    assert unknown_imports([planned(tmp_path, words, options)] * 2) == unknown


def test_an_edited_kernel_tree_is_another_source_and_a_compiled_or_copied_one_is_not(tmp_path: Path) -> None:
    versions = set()
    for folder in ("a", "b"):
        tree = tmp_path / folder
        (tree / "net").mkdir(parents=True)
        (tree / "Makefile").write_text("VERSION = 7\n")
        (tree / "net" / "sch.c").write_text("int limit = 1;\n")
        versions.add(given(str(tree), "LINUX_SRC", "Makefile").version)
    (tree / "net" / "sch.o").write_text("compiled")
    versions.add(given(str(tree), "LINUX_SRC", "Makefile").version)
    assert len(versions) == 1
    (tree / "net" / "sch.c").write_text("int limit = 2;\n")
    assert given(str(tree), "LINUX_SRC", "Makefile").version not in versions
