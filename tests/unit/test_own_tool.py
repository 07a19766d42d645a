"""A tool of a person's own: how it is found and planned, and what is said of a folder that is wrong."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from narrows.calibrate import scenario
from narrows.engine import own_tools
from narrows.errors import NarrowsError, SpecError, StoreError
from narrows.plan.build import plan_file
from narrows.plan.identity import run_id
from narrows.plan.items import Command, OwnTool
from narrows.plan.model import Plan
from narrows.store import own_tools as kept_tools
from narrows.tools import registry

EXAMPLE = Path(__file__).parents[2] / "experiments" / "my_http_test"
HEAD = '"""Q?"""\nfrom narrows.spec import *\nlink = Link(rate="5 Mbit/s")\n'
FILE = HEAD + 'mine = tool("my_http_test"{options})\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the example's folder, beside where `planned` puts the experiment."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / EXAMPLE.name))


def planned(folder: Path, options: str = "") -> Plan:
    path = folder.parent / "mine.py"
    path.write_text(FILE.format(options=options))
    (plan,) = plan_file(path).plans
    return plan


def identity(plan: Plan) -> str:
    return run_id(plan, kernel="k", agent="a")


def raised(folder: Path, options: str = "") -> NarrowsError:
    with pytest.raises(NarrowsError) as caught:
        planned(folder, options)
    return caught.value


def test_a_folder_beside_the_experiment_becomes_a_server_and_a_client(folder: Path) -> None:
    plan = planned(folder, ', duration="3 s"')
    server, client = plan.traffic
    assert isinstance(server, Command)
    assert isinstance(client, Command)
    assert (server.id, server.tool, server.background) == ("mine-server", "my_http_test-server", True)
    assert (client.id, client.tool, client.node) == ("mine", "my_http_test", "client")
    assert client.argv[1] == "@out/../tools/my_http_test/client.py"
    assert client.argv[client.argv.index("--seconds") + 1] == "3"
    (own,) = plan.composites
    assert isinstance(own, OwnTool)
    assert own.parts == ("mine",)
    assert {"spec.py", "lower.py", "parse.py", "readings.py", "client.py", "server.py"} <= set(own.files)
    assert Plan.from_json(plan.to_json()) == plan


def test_the_id_of_a_run_covers_every_file_of_the_folder_and_not_where_it_lies(
    folder: Path, tmp_path: Path
) -> None:
    first = identity(planned(folder))
    elsewhere = Path(shutil.copytree(folder, tmp_path / "elsewhere" / folder.name))
    assert identity(planned(elsewhere)) == first
    (folder / "client.py").write_text((folder / "client.py").read_text() + "# another\n")
    assert identity(planned(folder)) != first


def test_repetitions_differ_by_when_the_tool_starts(folder: Path) -> None:
    (folder.parent / "mine.py").write_text(FILE.format(options="") + "repeat(3)\n")
    starts = {plan.traffic[1].start for plan in plan_file(folder.parent / "mine.py").plans}
    assert len(starts) == 3


def test_a_run_keeps_the_folder_and_refuses_one_that_was_changed(folder: Path, tmp_path: Path) -> None:
    plan = planned(folder)
    own_tools.place(plan, tmp_path / "run")
    (own,) = plan.composites
    assert isinstance(own, OwnTool)
    assert kept_tools.kept(own, tmp_path / "run").files == own.files
    (folder / "server.py").write_text("")
    with pytest.raises(NarrowsError, match=r"server\.py was changed after this run was planned"):
        own_tools.place(plan, tmp_path / "run")
    with pytest.raises(StoreError, match="the copy of the tool my_http_test is missing"):
        kept_tools.kept(own, tmp_path / "another")


@pytest.mark.parametrize("part", ["spec", "lower"])
def test_a_missing_part_is_named(folder: Path, part: str) -> None:
    (folder / f"{part}.py").unlink()
    error = raised(folder)
    assert error.message == f"the tool my_http_test has no {part}.py"
    assert error.where == str(folder)


def test_a_missing_folder_is_named_with_the_nearest(folder: Path) -> None:
    path = folder.parent / "mine.py"
    path.write_text(FILE.format(options="").replace("my_http_test", "my_htp_test"))
    with pytest.raises(SpecError, match="there is no folder my_htp_test") as caught:
        plan_file(path)
    assert caught.value.where == f"{path}:4"
    assert "did you mean my_http_test?" in str(caught.value.remedy)


def test_a_tool_of_narrows_is_not_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(FILE.format(options="").replace("my_http_test", "ndt7"))
    with pytest.raises(SpecError, match="ndt7 comes with narrows"):
        plan_file(path)


def test_a_misspelt_option_is_an_error_of_the_experiment(folder: Path) -> None:
    error = raised(folder, ', durration="3 s"')
    assert error.where == f"{folder.parent / 'mine.py'}:4"
    assert "did you mean duration?" in str(error.remedy)


@pytest.mark.parametrize(
    ("part", "text", "message", "line"),
    [
        ("spec", "x = 1\ny = 1 / 0\n", "raised ZeroDivisionError", ":2"),
        ("spec", "x = (\n", "not Python", ":1"),
        ("spec", "x = 1\n", "it has no class my_http_test", ""),
        ("spec", "my_http_test = 3\n", "it has another thing than a class of Traffic", ""),
        ("lower", "x = 1\n", "it has no function lower", ""),
        ("lower", "def lower(item, item_id, state):\n    return item['nothing']\n", "raised KeyError", ":2"),
        ("lower", "def lower(item, item_id, state):\n    return 'ls'\n", "lower returns str 'ls'", ""),
        ("lower", "def lower(item, item_id, state):\n    return []\n", "lower returns no client", ""),
    ],
)
def test_what_is_wrong_in_a_part_is_said_with_its_file_and_line(
    folder: Path, part: str, text: str, message: str, line: str
) -> None:
    (folder / f"{part}.py").write_text(text)
    error = raised(folder)
    assert message in error.message
    assert error.where == f"{folder / part}.py{line}"


def test_a_tool_that_never_says_how_long_it_takes_is_refused(folder: Path) -> None:
    text = (folder / "spec.py").read_text()
    (folder / "spec.py").write_text(text.replace("duration:", "seconds:"))
    assert raised(folder).message == "nothing says how long my_http_test takes"


def test_a_scenario_made_of_options_takes_a_folder_beside_the_other_tools(folder: Path) -> None:
    folders, names = scenario.own_tools(["iperf3", str(folder)])
    settings = scenario.Settings(own=folders, seeds=1)
    path = scenario.written(settings, "Q?", folder.parent / "results")
    ready = scenario.plan_scenario(path, names, varied=True)
    mine = [plan for plan in ready.plans if plan.key["tool"].startswith("my_http_test")]
    assert [plan.key["tool"] for plan in mine] == ["my_http_test", "my_http_test+4"]
    assert "4" in mine[1].traffic[1].argv  # type: ignore[union-attr]
    assert "iperf3" in {plan.key["tool"] for plan in ready.plans}


def test_every_word_of_a_tool_is_its_class_and_every_class_has_a_lowering() -> None:
    for word, name in registry.words().items():
        assert registry.constructor(word).__name__ == word
        assert callable(registry.part(name, registry.LOWER).lower)  # type: ignore[union-attr]


def test_a_tools_own_file_may_be_imported_before_the_words() -> None:
    for first in ("ndt7", "rrul"):
        code = f"import narrows.tools.{first}.spec; from narrows.spec import *; ndt7, ping"
        subprocess.run([sys.executable, "-c", code], check=True)


def test_a_tool_under_test_that_has_a_name_runs_once(folder: Path) -> None:
    path = folder.parent / "mine.py"
    path.write_text(FILE.format(options="") + "test = under_test(mine)\n")
    with scenario.selected(["my_http_test"]):
        (plan,) = plan_file(path).plans
    assert [item.id for item in plan.traffic] == ["test-server", "test"]


def test_every_rust_part_of_a_tool_is_found_from_its_folder() -> None:
    root = Path(__file__).parents[2]
    named = {place for places in registry.crates().values() for place in places}
    assert all((root / place / "Cargo.toml").exists() for place in named)
    there = {f"crates/tools/{path.name}" for path in (root / "crates/tools").iterdir() if path.is_dir()}
    assert there <= named, f"no tool's folder names {there - named}"


def test_a_compiled_program_of_the_folder_is_copied_with_it_and_looked_for_nowhere_else(folder: Path) -> None:
    text = (folder / "lower.py").read_text()
    (folder / "prog").write_bytes(b"\x7fELF")
    (folder / "lower.py").write_text(
        text
        + "\n_lower = lower\n\ndef lower(item, item_id, state):\n"
        + "    server, client = _lower(item, item_id, state)\n"
        + "    own = {'argv': ('@tool/prog',), 'programs': ('@tool/prog',)}\n"
        + "    return [server, client.model_copy(update=own)]\n"
    )
    _, client = planned(folder).traffic
    assert isinstance(client, Command)
    assert (client.argv, client.programs) == (("@out/../tools/my_http_test/prog",), ())
