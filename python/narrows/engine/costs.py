"""What runs of each kind cost on this machine: one small file in the cache folder, which every call that
makes runs brings up to date. Guesses of the time that others take rest on it, and no number of a result."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from narrows.engine.pace import Cost, Kind, Pace, guess_s, kind_of
from narrows.engine.work import expected_work
from narrows.kernel.image import cache_dir
from narrows.plan.model import Plan

OLD = 0.5
"""What an earlier call counts beside this one: kernel, programs and machine may have changed."""


def _file() -> Path:
    return cache_dir() / "run_costs.json"


def remembered() -> dict[Kind, Cost]:
    """The cost of each kind that was made here; empty where nothing is known."""
    try:
        known = json.loads(_file().read_text())
        return {tuple(kind.split()): (float(s), float(work)) for kind, (s, work) in known.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def remember(measured: Mapping[Kind, Cost]) -> None:
    """Add what a call measured. Where the cache cannot be written, guesses stay rough."""
    known = remembered()
    for kind, (seconds, work) in measured.items():
        old_s, old_work = known.get(kind, (0.0, 0.0))
        known[kind] = (seconds + OLD * old_s, work + OLD * old_work)
    new = _file().with_name(f".run_costs.json.{os.getpid()}")
    try:
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps({" ".join(kind): cost for kind, cost in known.items()}, indent=1) + "\n")
        new.replace(_file())
    except OSError:
        pass


def pace_of(plans: Iterable[Plan]) -> tuple[Pace, bool]:
    """The pace of runs by what such runs took here, and whether a kind is among them that was not made here
    yet and goes by a guess."""
    several, known = list(plans), remembered()
    unseen = {kind_of(plan): plan for plan in several if kind_of(plan) not in known}
    guessed = {kind: (guess_s(plan), expected_work(plan)) for kind, plan in unseen.items()}
    return Pace(several, known | guessed), bool(unseen)
