"""Studies are found by their folders, know which runs they make, and nothing outside them knows a paper."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import narrows
from narrows import data
from narrows.cli.main import build_app
from narrows.errors import KernelError, NarrowsError, SpecError, UsageError
from narrows.plan.build import plan_file
from narrows.spec.named import experiment_file, folders, named
from narrows.studies.chosen import Asked, Part, chosen
from narrows.studies.find import all_claims, by_study, claim_ids, claims, experiments, studies

PACKAGE = Path(narrows.__file__).parent
A_PAPER = re.compile(
    r"\b[Tt]hesis\b|\bRay et al|\b(?:Core|Edge)Scale|2511\.19213|\b[Cc]hapter ?3|"
    r"\b[Ff]igures? \d|\bTable \d\.\d|\b[Tt]he paper\b|\bpaper's (?!column)|\bat (?:Edge|Core)\b|"
    r"[\"'](?:edge|core|middle)[\"'](?:\]|:)"
)
SOURCE = re.compile(r"^(?:Unit: .*?)?Source: .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
"""Where a metric's definition comes from may be a paper, as it may be an RFC."""


def keys(parts: list[Part], axis: str) -> dict[str, set[str]]:
    return {part.name: {plan.key[axis] for plan in part.plans if axis in plan.key} for part in parts}


def test_every_folder_with_a_study_is_one_and_its_claims_stand_in_the_order_of_their_numbers() -> None:
    assert set(studies()) == {file.parent.name for file in PACKAGE.glob("studies/*/study.py")}
    assert [module.judge.claim.id for module in claims("aqm")] == [f"R{n}" for n in range(1, 13)]


def test_every_claim_is_decided_by_an_experiment_of_its_study() -> None:
    for name, module in all_claims().values():
        assert module.judge.claim.name in experiments(name), module.judge.claim


def test_no_two_experiments_that_come_with_the_package_have_one_name() -> None:
    stems = [file.stem for folder in folders() for file in folder.glob("*.py")]
    assert len(stems) == len(set(stems)) == len(named())


@pytest.mark.parametrize("spelled", [["R8", "C2"], ["r8", "c02"], ["r08,c2"], ["R08 c2"]])
def test_claims_are_found_in_any_spelling(spelled: list[str]) -> None:
    assert claim_ids(spelled) == ["R8", "C2"]
    assert by_study(spelled) == {"aqm": ("R8",), "operator": ("C2",)}


def test_a_claim_that_does_not_exist_is_an_error_that_names_those_that_do() -> None:
    with pytest.raises(UsageError, match="no claim r99") as caught:
        claim_ids(["r99"])
    assert "R12" in (caught.value.remedy or "")


def test_a_claim_makes_the_runs_of_all_experiments_that_bear_its_name() -> None:
    assert [part.name for part in chosen("aqm", Asked(claims=("r12",)))] == ["r12_new_aqms", "r12_underuse"]


def test_a_study_makes_its_usual_repetitions_and_those_that_are_asked_for() -> None:
    assert keys(chosen("aqm", Asked(claims=("R8",))), "seed") == {
        "r08_fair_queues_stay_stable": {"0", "1", "2"}
    }
    assert keys(chosen("aqm", Asked(claims=("R8",), seeds=("11",))), "seed") == {
        "r08_fair_queues_stay_stable": {"11"}
    }


def test_the_runs_of_a_study_are_those_of_its_experiments() -> None:
    """Seeds are drawn from their label alone, so that a run with one seed is the one among ten."""
    (part,) = chosen("aqm", Asked(claims=("R8",), seeds=("2",), only="queue=sfq,codel"))
    whole = plan_file(part.file).plans
    kept = [p for p in whole if p.key["seed"] == "2" and p.key["queue"] in ("sfq", "codel")]
    assert [plan.to_json() for plan in part.plans] == [plan.to_json() for plan in kept]


def test_a_scale_is_a_size_of_every_experiment_and_long_runs_are_made_only_by_name() -> None:
    asked = Asked(claims=("T7",), size="core", only="rtt=20ms against=reno")
    assert keys(chosen("corescale", asked), "setting") == {
        "t07_bbr_against_as_many": {"core-1000", "core-3000", "core-5000"}
    }
    asked = Asked(claims=("T7",), size="core-1000-long", only="rtt=20ms against=reno")
    assert keys(chosen("corescale", asked), "setting") == {"t07_bbr_against_as_many": {"core-1000-long"}}


def test_other_conditions_than_the_usual_are_made_where_only_names_them() -> None:
    usual = chosen("corescale", Asked(claims=("T5",)))
    assert keys(usual, "buffer") == {"t05_bbr_against_itself": {"one"}}
    named_ = chosen("corescale", Asked(claims=("T5",), only="buffer=quarter,half"))
    assert keys(named_, "buffer") == {"t05_bbr_against_itself": {"quarter", "half"}}


def test_a_quantity_names_a_label_that_reads_the_same() -> None:
    parts = chosen("aqm", Asked(claims=("R2",), only="rate='100 Mbit/s'"))
    assert keys(parts, "rate") == {"r02_no_spikes_without_load": {"100Mbit"}}


@pytest.mark.parametrize(
    ("name", "asked", "message", "remedy"),
    [
        ("amq", Asked(), "no study amq", "aqm"),
        ("aqm", Asked(only="rte=100Mbit"), "an axis 'rte'", "rate"),
        ("aqm", Asked(only="rate=7Mbit"), "never '7Mbit'", "100Mbit"),
        ("aqm", Asked(only="seed=1"), "seeds of a study", "--seeds"),
        ("aqm", Asked(size="core"), "no sizes", "--size"),
        ("aqm", Asked(seeds=("one",)), "not numbers", "--seeds"),
        ("aqm", Asked(claims=("T5",)), "no claim T5", "R1"),
        ("corescale", Asked(claims=("T7",), size="cor"), "no 'cor'", "core"),
        ("aqm", Asked(claims=("R2",), quick=True), "exclude each other", "leave one out"),
    ],
)
def test_what_a_study_has_not_is_one_line_with_what_it_has(
    name: str, asked: Asked, message: str, remedy: str
) -> None:
    with pytest.raises(NarrowsError, match=message) as caught:
        chosen(name, asked)
    assert remedy in (caught.value.remedy or "")


def test_an_experiment_is_found_by_its_name_and_a_path_is_a_path(tmp_path: Path) -> None:
    assert experiment_file("hello").resolve() == (PACKAGE / "experiments" / "hello.py").resolve()
    assert experiment_file("r01_underuse_without_burst").parent.name == "experiments"
    assert experiment_file("hello.py") == Path("hello.py")
    assert experiment_file(tmp_path / "hello") == tmp_path / "hello"
    with pytest.raises(SpecError, match="no experiment is called helo") as caught:
        experiment_file("helo")
    assert caught.value.remedy == "did you mean hello?"


def test_an_error_in_a_study_names_the_line_of_its_experiment_or_testbed(tmp_path: Path) -> None:
    text = named()["r02_no_spikes_without_load"].read_text()
    own = tmp_path / "own.py"
    own.write_text(
        text.replace('["off"])', '["off"])\nother = bulk(cca="cubik")').replace(
            "from narrows.studies", "from narrows.spec import bulk\nfrom narrows.studies"
        )
    )
    with pytest.raises(SpecError) as caught:
        plan_file(own)
    assert re.fullmatch(rf"{re.escape(str(own))}:\d+", caught.value.where or "")
    own.write_text(text.replace('"100 Mbit/s"', '"100 Mbit/h"'))
    with pytest.raises(SpecError) as caught:
        plan_file(own)
    assert re.fullmatch(r".*studies/aqm/testbed\.py:\d+", caught.value.where or "")


def outside() -> Iterator[Path]:
    """Everything in the package but the studies; examples too."""
    for file in sorted(PACKAGE.rglob("*")):
        if file.suffix in (".py", ".j2", ".html") and "studies" not in file.relative_to(PACKAGE).parts:
            yield file
    yield from sorted((PACKAGE / "experiments").glob("*.py"))


def without_sources(text: str) -> str:
    """A module's text without the paragraph of its docstring that says where a definition comes from."""
    words = ast.get_docstring(ast.parse(text), clean=False) or ""
    return text.replace(words, SOURCE.sub("", words))


def test_nothing_outside_the_studies_knows_a_paper_a_figures_number_or_a_scale() -> None:
    files = list(outside())
    assert len(files) > 150
    found = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        text = without_sources(text) if file.suffix == ".py" else text
        found += [f"{file}: {line.strip()}" for line in text.splitlines() if A_PAPER.search(line)]
    assert not found, "\n".join(found)


def test_a_study_says_what_there_is_to_do_and_how_long_it_takes_before_there_is_a_kernel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def none(_: str, **__: object) -> None:
        raise KernelError("the kernel has not been built", remedy="narrows kernel build")

    monkeypatch.setattr("narrows.engine.choose.make_engine", none)
    monkeypatch.setenv("NARROWS_CACHE", str(tmp_path / "cache"))  # where nothing is remembered
    asked = ["study", "--claims", "r08 c2", "--seeds", "0", "--plan", "--results", str(tmp_path)]
    said = CliRunner().invoke(build_app(), asked)
    assert said.exit_code == 0, said.output
    assert "aqm: 1 experiment, 8 runs, 0 there already, 8 to make" in said.output
    assert "operator: 1 experiment, 8 runs, 0 there already, 8 to make" in said.output
    assert "of this machine (a rough guess: a kind of them was never made here)" in said.output


def test_without_a_name_the_studies_are_listed() -> None:
    said = CliRunner().invoke(build_app(), ["study"])
    assert all(name in said.output for name in studies())


def test_a_study_without_any_run_kept_or_made_says_how_to_make_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(data, "HERE", tmp_path / "a package without evidence")
    monkeypatch.chdir(tmp_path)
    asked = CliRunner().invoke(build_app(), ["study", "aqm", "--kept"])
    assert "no run of the study aqm is here" in str(asked.exception)
    assert "narrows study aqm" in str(getattr(asked.exception, "remedy", ""))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["local_bottleneck", "prudentia"])
def test_a_studys_page_is_drawn_from_the_runs_that_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(build_app(), ["study", name, "--kept"])
    assert said.exception is None, said.output
    page = (tmp_path / "results" / name / "report" / "report.html").read_text()
    assert "The verdicts rest on" in page
