"""The page of a study: what came out, claim by claim, then its figures, then every number and run.

It draws and writes with the report's machinery; what is drawn is the study's own.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2 import PrefixLoader as Prefixes

from narrows.figures.drawing import Result
from narrows.report.build import Built, draw
from narrows.report.deviations import deviations
from narrows.report.page import number
from narrows.runs.observed import Observed
from narrows.studies.find import experiments, study
from narrows.studies.ledger import deciding, measured, sentence
from narrows.studies.verdict import Verdict, Word, written

Makers = Sequence[tuple[str, Callable[[], Result]]]


def figures(name: str, runs: Sequence[Observed]) -> Makers:
    """The study's own figures, by section; none if it has no `figures.py`."""
    try:
        module = importlib.import_module(f"narrows.studies.{name}.figures")
    except ModuleNotFoundError as error:
        if error.name != f"narrows.studies.{name}.figures":
            raise
        return ()
    made: Makers = module.figures([run for run in runs if run.ok])
    return made


def answer(verdicts: Sequence[Verdict], runs: Sequence[Observed], name: str) -> list[str]:
    """What came out, in a few sentences."""
    by_word: dict[Word, list[str]] = {}
    for v in verdicts:
        by_word.setdefault(v.verdict, []).append(v.claim.id)
    told = [f"{word}: {', '.join(ids)}" for word, ids in by_word.items() if word != "not measured"]
    unknown = by_word.get("not measured", [])
    found = measured(verdicts, runs)
    sentences = [
        sentence("; ".join(told)) if told else "",
        f"Not measured yet: {', '.join(unknown)}." if unknown else "",
        f"Runs that they rest on: {found[name]}." if name in found else "No run decides any claim yet.",
    ]
    return [each for each in sentences if each]


def build(
    name: str,
    runs: Sequence[Observed],
    verdicts: Sequence[Verdict],
    out: Path,
    progress: Callable[[str], None] | None = None,
) -> Built:
    """Write OUT/report.html and OUT/figures/*; `progress` hears the name of each figure as it is drawn."""
    drawn = draw(figures(name, runs), out / "figures", progress)
    environment = Environment(
        loader=Prefixes(
            {
                "study": PackageLoader("narrows.studies", "templates"),
                "report": PackageLoader("narrows.report", "templates"),
            }
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "written": written, "sentence": sentence, "deciding": deciding}
    known = experiments(name)
    counts = Counter(run.experiment for run in runs if run.ok)
    sections = list(dict.fromkeys(figure.section for figure in drawn.figures))
    html = out / "report.html"
    out.mkdir(parents=True, exist_ok=True)
    html.write_text(
        environment.get_template("study/study.html.j2").render(
            name=name,
            study=study(name),
            answer=answer(verdicts, runs, name),
            verdicts=verdicts,
            sections=[(s, [f for f in drawn.figures if f.section == s]) for s in sections],
            missing=drawn.missing,
            deviations=deviations(runs),
            experiments=[(stem, counts[stem]) for stem in known if counts[stem]],
            failed=[run for run in runs if not run.ok],
        ),
        encoding="utf-8",
    )
    return Built(html, drawn.files, drawn.missing)
