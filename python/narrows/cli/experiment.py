"""From a file on the command line to plans: shared by the commands that take an experiment."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from narrows.errors import PlanError, UsageError

if TYPE_CHECKING:
    from narrows.plan.model import Plan
    from narrows.spec.expect import expect
    from narrows.spec.observe import repeat

EXPERIMENT_HELP = "A file, or the name of an experiment that comes with narrows (hello)."


@dataclass(frozen=True)
class Asked:
    name: str
    """The experiment's; it names the results."""
    plans: list[Plan]
    expects: tuple[expect, ...] = ()
    """Its pass marks."""
    rule: repeat | None = None
    """Its sequential rule; None where the number of repetitions is fixed."""


def asked_of(file: Path, only: str | None = None) -> Asked:
    """What an experiment asks for (a file, or the name of one that comes with the package), or a `.json` file
    with a plan or a list of plans. One without a run is an error."""
    from narrows.plan.build import plan_experiment
    from narrows.plan.select import select
    from narrows.spec.load import load
    from narrows.spec.named import experiment_file

    found = experiment_file(file)
    read = None if found.suffix == ".json" else load(found)
    plans = select(_read_plans(found) if read is None else plan_experiment(read).plans, only)
    if not plans:
        raise UsageError("there is no run to make", where=str(file))
    if read is None:
        return Asked(plans[0].experiment, plans)
    rule = read.repeat if read.repeat is not None and read.repeat["until"] is not None else None
    return Asked(read.name, plans, read.expects, rule)


def _read_plans(file: Path) -> list[Plan]:
    from narrows.plan.model import Plan

    try:
        value = json.loads(file.read_bytes())
    except OSError as error:
        raise PlanError(f"cannot read the plan: {error.strerror}", where=str(file)) from None
    except ValueError as error:
        raise PlanError(f"not JSON: {error}", where=str(file)) from None
    many = value if isinstance(value, list) else [value]
    return [Plan.from_json(json.dumps(one), where=str(file)) for one in many]
