"""Which runs a call of a study means: its experiments, and of each the runs that claims, size, seeds and
--only leave. Nothing is started here."""

import dataclasses
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from narrows.errors import SelectError, UsageError, did_you_mean
from narrows.plan.build import keys_of, plan_experiment
from narrows.plan.model import Plan
from narrows.spec.axis import SEED, label_of
from narrows.spec.load import keep_labels, load
from narrows.spec.observe import repeat
from narrows.studies.find import all_claims, claim_ids, claims, experiments, experiments_of, study

Labels = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Part:
    """An experiment of a study, and those of its runs that are meant."""

    name: str
    file: Path
    plans: tuple[Plan, ...]


@dataclass(frozen=True)
class Asked:
    """What a person asked of a study; empty: what the study does by itself."""

    claims: tuple[str, ...] = ()
    size: str = ""
    seeds: tuple[str, ...] = ()
    only: str = ""
    quick: bool = False


def chosen(name: str, asked: Asked) -> list[Part]:
    """The parts of the study that are meant, in order; none is empty.

    `UsageError` or `SelectError` where the call names what the study has not.
    """
    of = study(name)
    seeds = asked.seeds or (of.quick.seeds if asked.quick else ()) or of.seeds
    if not all(seed.isdigit() for seed in seeds):
        raise UsageError(f"--seeds {','.join(seeds)}: not numbers", remedy="such as --seeds 0,1,2")
    given = _words(asked.only)
    if SEED in given:
        raise SelectError("--only: the seeds of a study have their own option", remedy="--seeds 0,1,2")
    usual = of.quick.usual if asked.quick else of.usual
    files = _files(name, asked)
    loaded = {stem: load(file) for stem, file in files.items()}
    axes = {stem: {axis.name: axis.labels for axis in one.axes} for stem, one in loaded.items()}
    _check(given, list(axes.values()))
    sizes = _sizes(name, asked, list(axes.values()))
    parts = []
    for stem, experiment in loaded.items():
        own = axes[stem]
        wanted: dict[str, Sequence[str]] = dict(usual)
        for axis in of.size_axes:
            wanted[axis] = [label for label in own.get(axis, ()) if label in sizes]
        for axis, values in given.items():
            wanted[axis] = [_label(value, own.get(axis, ())) for value in values]
        kept = {
            axis: [label for label in own[axis] if label in wanted[axis]] for axis in own if axis in wanted
        }
        if not all(kept.values()):
            continue
        keep_labels(experiment, kept)
        repeated = dataclasses.replace(experiment, repeat=repeat(n=max(map(int, seeds)) + 1))
        plans = plan_experiment(repeated).plans
        parts.append(Part(stem, files[stem], tuple(plan for plan in plans if plan.key[SEED] in seeds)))
    if not parts:
        raise SelectError(
            "no run is left: each name exists, but not together",
            remedy=f"narrows plan {next(iter(files))} lists runs of one of its experiments",
        )
    return parts


@cache
def conditions_of(file: Path) -> list[tuple[dict[str, str], Callable[[], Plan]]]:
    """All conditions of an experiment of a study, of which several claims ask: the key of the first
    repetition, and what plans it."""
    return keys_of(dataclasses.replace(load(file), repeat=repeat(n=1)))


def _files(name: str, asked: Asked) -> dict[str, Path]:
    if asked.quick:
        if asked.claims:
            raise UsageError("--quick and --claims exclude each other", remedy="leave one out")
        return {stem: experiments(name)[stem] for stem in study(name).quick.experiments}
    own = [module.judge.claim.id for module in claims(name)]
    wanted = claim_ids(asked.claims, own) if asked.claims else own
    return {
        stem: file
        for claim in wanted
        for stem, file in experiments_of(name, all_claims()[claim][1]).items()
    }  # fmt: skip


def _words(only: str) -> dict[str, list[str]]:
    """`a=x,y b=z` by axis."""
    found: dict[str, list[str]] = {}
    try:
        words = shlex.split(only)
    except ValueError as error:
        raise SelectError(f"--only {only!r}: {error}", remedy="such as --only 'rate=100Mbit'") from None
    for word in words:
        axis, equals, values = word.partition("=")
        if not equals or not values:
            raise SelectError(f"--only: {word!r} is not of the form axis=label", remedy="rate=100Mbit")
        found[axis] = [value for value in values.split(",") if value]
    return found


def _check(given: Labels, axes: Sequence[Labels]) -> None:
    """Each axis and each label must be of one of the experiments at least."""
    every = {name: [label for one in axes for label in one.get(name, ())] for one in axes for name in one}
    for axis, values in given.items():
        if axis not in every:
            raise SelectError(
                f"--only: no experiment here has an axis {axis!r}", remedy=did_you_mean(axis, every)
            )
        known = list(dict.fromkeys(every[axis]))
        for value in values:
            if _label(value, known) not in known:
                raise SelectError(f"--only: {axis} is never {value!r}", remedy=did_you_mean(value, known))


def _sizes(name: str, asked: Asked, axes: Sequence[Labels]) -> set[str]:
    """The labels that the size names, of all experiments."""
    of = study(name)
    if of.size_of is None:
        if asked.size:
            raise UsageError(f"the study {name} has no sizes", remedy="leave --size out")
        return set()
    sizes: set[str] = set()
    every: list[str] = []
    for size in (asked.size or of.default_size).split(","):
        for one in axes:
            labels = [label for axis in of.size_axes for label in one.get(axis, ())]
            every += labels
            sizes |= set(of.size_of(size, labels))
        if not any(of.size_of(size, [label]) for label in every):
            known = list(dict.fromkeys(every))
            raise UsageError(f"--size: there is no {size!r}", remedy=did_you_mean(size, known))
    return sizes


def _label(value: str, labels: Sequence[str]) -> str:
    """The label that a person's word is: itself, or the quantity that reads the same."""
    return value if value in labels else label_of(value)
