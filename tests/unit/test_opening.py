"""What a study's page opens with, of kept evidence; and what a quick part judges."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from made_up_runs import run

from narrows.judging.verdict import Claim, Number, Verdict
from narrows.runs.find import runs_below
from narrows.studies.find import claims, studies
from narrows.studies.judged import judged
from narrows.studies.opening import fill, opening, said
from narrows.studies.page import build
from narrows.studies.quick import ONE_TRIAL, decides, without_single_trials

EVIDENCE = Path(__file__).parents[2] / "evidence"


def test_a_sentence_has_the_verdicts_numbers_or_is_not_said() -> None:
    numbers = (
        Number("delay", "ms", 45.97, 3, {"rate": "25Mbit", "queue": "fifo"}),
        Number("delay", "ms", 20.0, 6, {"rate": "25Mbit", "queue": "pie"}, 19.0, 21.0),
        Number("share", "1", 0.3721, 4, {"rate": "8Mbit"}, percent=True),
    )
    known = {"C2": numbers}
    assert fill("A ping takes {C2|delay|rate=25Mbit, queue=fifo} or {C2|delay|queue=pie}.", known) == (
        "A ping takes 46 ms or 20 ms [19 to 21] (n = 3 to 6)."
    )
    assert fill("It gets {C2|share|rate=8Mbit}.", known) == "It gets 37.2 % (n = 4)."
    assert fill("At most {C2|delay||max}, at least {C2|delay||min}.", known) == (
        "At most 46 ms, at least 20 ms [19 to 21] (n = 3 to 6)."
    )
    assert fill("A ping takes {C2|delay|queue=cake}.", known) is None
    assert fill("A ping takes {C9|delay|queue=fifo}.", known) is None


@pytest.mark.parametrize("name", sorted(studies()))
def test_every_study_opens_with_sentences_that_its_kept_evidence_fills(name: str, tmp_path: Path) -> None:
    roots = [EVIDENCE / name]
    runs = runs_below(roots)
    verdicts = judged(roots, [module.judge.claim.id for module in claims(name)], runs).verdicts
    filled = opening(name, verdicts, runs)
    assert len(filled) == len(said(importlib.import_module(f"narrows.studies.{name}.opening")))
    assert all("(n = " in sentence and "{" not in sentence for sentence in filled)
    if name == "operator":
        html = build(name, runs, verdicts, tmp_path).html.read_text(encoding="utf-8")
        assert (
            html.index("While a capacity test fills")
            < html.index("Of five claims")
            < html.index('<h2 id="claims"')
        )


def test_a_quick_part_says_what_it_decides_and_judges_nothing_that_rests_on_one_trial() -> None:
    assert decides("operator") == (["C2"], ["C1", "C3", "C4", "C5"])
    claim = Claim("X1", "it is so", "", "x.py")
    number = Number("delay", "ms", 1.0, 1)
    once = [run({"queue": "pfifo", "seed": "0"}), run({"queue": "codel", "seed": "0"}, seed_text="b")]
    again = run({"queue": "codel", "seed": "1"}, seed_text="c")
    rests = Verdict(claim, "holds", "why", (number,), run_ids=tuple(one.run_id for one in once))
    (kept,) = without_single_trials([rests], once)
    assert (kept.verdict, kept.reason, kept.numbers) == ("not judged", ONE_TRIAL, (number,))
    more = Verdict(claim, "holds", "why", (number,), run_ids=(*rests.run_ids, again.run_id))
    assert without_single_trials([more], [*once, again]) == [more]
