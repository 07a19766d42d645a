"""The page of a study: what came out, in plain words, then claim by claim; its figures; every number and run.

It draws and writes with the report's machinery; what is drawn is the study's own.
"""

import importlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from jinja2 import PackageLoader
from jinja2 import PrefixLoader as Prefixes

from narrows.figures.drawing import Missing, Result
from narrows.figures.side_by_side import draw as side_by_side
from narrows.judging import words
from narrows.judging.verdict import Verdict
from narrows.judging.written import sentence
from narrows.report.build import Built, draw
from narrows.report.deviations import deviations
from narrows.report.environment import environment
from narrows.report.page import ANSWER, number
from narrows.runs.observed import Observed
from narrows.studies.covering import kept
from narrows.studies.find import claims, experiments, study
from narrows.studies.ledger import deciding, measured
from narrows.studies.opening import opening
from narrows.studies.study import labels
from narrows.studies.told import SAID, counts

Makers = Sequence[tuple[str, Callable[[], Result]]]


def figures(name: str, runs: Sequence[Observed]) -> Makers:
    """The study's own figures, by section; none if it has no `figures.py`."""
    try:
        module = importlib.import_module(f"narrows.studies.{name}.figures")
    except ModuleNotFoundError as error:
        if error.name != f"narrows.studies.{name}.figures":
            raise
        return ()
    makers: Makers = module.figures([run for run in runs if run.ok])
    return makers


def answer(verdicts: Sequence[Verdict], runs: Sequence[Observed], name: str) -> list[str]:
    """What came out, in at most three sentences: how many claims hold, the headline claim, and on what that
    rests."""
    decided = [v for v in verdicts if v.verdict != "not measured"]
    found = measured(verdicts, runs)
    sentences = [
        counts(verdicts),
        *(_headline(v) for v in decided if v.claim.id == study(name).headline),
        f"The verdicts rest on {found[name].replace(', made', ' runs, made', 1)}."
        if name in found
        else "No run decides any claim yet.",
    ]
    return [each for each in sentences if each]


def _headline(v: Verdict) -> str:
    """The claim as it was made, the verdict, and the number or two that decide it."""
    text = v.claim.text[:1].upper() + v.claim.text[1:]
    numbers = "; ".join(str(n) for n in deciding(v)[:2])
    return f"The headline claim {v.claim.id}, “{text}”, {SAID[v.verdict][0]}: {numbers or v.reason}."


def _first(
    name: str, runs: Sequence[Observed], verdicts: Sequence[Verdict], makers: Makers
) -> Iterator[tuple[str, Callable[[], Result]]]:
    """What the page draws; where the headline has no figure of its own, or its runs cannot give it, its
    conditions side by side: those that the verdict rests on, if they are several."""
    of, missing = study(name), {""}

    def noted(make: Callable[[], Result]) -> Result:
        result = make()
        if isinstance(result, Missing):
            missing.add(result.name)
        return result

    for section, make in makers:
        yield section, partial(noted, make)
    stems = {module.judge.claim.name for module in claims(name) if module.judge.claim.id == of.headline}
    own = [run for run in runs if run.ok and run.experiment in stems]
    if of.headline_figure in missing and own:
        title = f"{of.headline}: its conditions side by side"
        ids = {run for verdict in verdicts if verdict.claim.id == of.headline for run in verdict.run_ids}
        decided = [run for run in own if run.run_id in ids]
        if len({labels(run) for run in decided}) > 1:
            own, title = decided, f"What {of.headline} was decided on: its conditions side by side"
        yield ANSWER, lambda: side_by_side(own, "side_by_side", title, of.compared)


def build(
    name: str,
    runs: Sequence[Observed],
    verdicts: Sequence[Verdict],
    out: Path,
    progress: Callable[[str], None] | None = None,
    *,
    files: bool = False,
) -> Built:
    """Write OUT/report.html; `progress` hears the name of each figure as it is drawn. `files`: OUT/figures/*
    too."""
    drawn = draw(_first(name, runs, verdicts, figures(name, runs)), out / "figures", progress, files=files)
    headline = study(name).headline_figure
    first = [f for f in drawn.figures if f.section == ANSWER or f.name == headline] or [*drawn.figures[:1]]
    others = [f for f in drawn.figures if f not in first]
    pages = environment(
        Prefixes(
            {
                "study": PackageLoader("narrows.studies", "templates"),
                "report": PackageLoader("narrows.report", "templates"),
            }
        )
    )
    pages.filters |= {
        "number": number,
        "conditions": words.conditions,
        "sentence": sentence,
        "deciding": deciding,
    }
    known = experiments(name)
    made = Counter(run.experiment for run in runs if run.ok)
    sections = list(dict.fromkeys(figure.section for figure in others))
    html = out / "report.html"
    out.mkdir(parents=True, exist_ok=True)
    html.write_text(
        pages.get_template("study/study.html.j2").render(
            name=name,
            study=study(name),
            kept=kept(name, runs),
            opening=opening(name, verdicts, runs),
            answer=answer(verdicts, runs, name),
            verdicts=verdicts,
            first=first,
            sections=[(s, [f for f in others if f.section == s]) for s in sections],
            missing=drawn.missing,
            deviations=deviations(runs),
            experiments=[(stem, made[stem]) for stem in known if made[stem]],
            failed=[run for run in runs if not run.ok],
        ),
        encoding="utf-8",
    )
    return Built(html, drawn.files, drawn.missing)
