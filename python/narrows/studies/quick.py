"""What a quick part of a study can say: which claims it has runs for, and which of them it can judge.

One trial of each condition shows no spread, so what rests on that is not judged; its numbers are shown.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from narrows.judging.verdict import Verdict
from narrows.runs.observed import Observed
from narrows.spec.axis import SEED
from narrows.studies.find import claims, study

ONE_TRIAL = "each condition has one trial, which shows no spread; --seeds 0,1,2 makes more"


def decides(name: str) -> tuple[list[str], list[str]]:
    """The claims that the quick part has an experiment of, and the others."""
    made = study(name).quick.experiments
    every = [module.judge.claim for module in claims(name)]
    return [c.id for c in every if c.name in made], [c.id for c in every if c.name not in made]


def without_single_trials(verdicts: Sequence[Verdict], runs: Sequence[Observed]) -> list[Verdict]:
    """The verdicts, in which those that rest on one trial of each condition judge nothing."""
    of = {run.run_id: run for run in runs}
    kept = []
    for each in verdicts:
        trials = Counter(_condition(of[run_id]) for run_id in each.run_ids if run_id in of)
        if each.verdict != "not measured" and max(trials.values(), default=0) == 1:
            each = replace(each, verdict="not judged", reason=ONE_TRIAL)
        kept.append(each)
    return kept


def _condition(run: Observed) -> tuple[str, ...]:
    labels = sorted((axis, label) for axis, label in run.key.items() if axis != SEED)
    return run.experiment, *(f"{axis}={label}" for axis, label in labels)
