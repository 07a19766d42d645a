"""Reads the plan of a stored run. It is the one place that does, whichever format the plan was written in."""

from __future__ import annotations

from pathlib import Path

from narrows.engine import layout
from narrows.plan.model import Plan


def read_plan(folder: Path) -> Plan:
    """The plan of the run in this folder; PlanError if there is none, or none that can be understood."""
    return Plan.read(folder / layout.PLAN)


def plan_of(text: str, where: str) -> Plan:
    """A plan that stands in a shard; `where` is for the error."""
    return Plan.from_json(text, where=where)
