"""From a file on the command line to plans: shared by the commands that take an experiment."""

from __future__ import annotations

import json
from pathlib import Path

from narrows.errors import PlanError
from narrows.plan.build import plan_file
from narrows.plan.model import Plan
from narrows.plan.select import select
from narrows.spec.expect import expect
from narrows.spec.load import load
from narrows.spec.named import experiment_file
from narrows.spec.observe import repeat

EXPERIMENT_HELP = "A file, or the name of an experiment that comes with narrows (hello)."


def plans_of(file: Path, only: str | None = None) -> tuple[str, list[Plan]]:
    """Name and plans of an experiment (a file, or the name of one that comes with the package), or of a
    `.json` file with a plan or a list of plans."""
    file = experiment_file(file)
    plans = _read_plans(file) if file.suffix == ".json" else list(plan_file(file).plans)
    return (plans[0].experiment if plans else file.stem), select(plans, only)


def expects_of(file: Path) -> tuple[expect, ...]:
    """The pass marks of an experiment file; a file of plans has none."""
    file = experiment_file(file)
    return () if file.suffix == ".json" else load(file).expects


def rule_of(file: Path) -> repeat | None:
    """The sequential rule of an experiment file, None where the number of repetitions is fixed."""
    file = experiment_file(file)
    if file.suffix == ".json":
        return None
    rule = load(file).repeat
    return rule if rule is not None and rule["until"] is not None else None


def _read_plans(file: Path) -> list[Plan]:
    try:
        value = json.loads(file.read_bytes())
    except OSError as error:
        raise PlanError(f"cannot read the plan: {error.strerror}", where=str(file)) from None
    except ValueError as error:
        raise PlanError(f"not JSON: {error}", where=str(file)) from None
    many = value if isinstance(value, list) else [value]
    return [Plan.from_json(json.dumps(one), where=str(file)) for one in many]
