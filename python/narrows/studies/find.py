"""Finds studies and claims by their folders, and claims by whatever spelling a person uses (R8, r8, r08)."""

import importlib
import pkgutil
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType

import narrows.studies
from narrows.errors import UsageError, did_you_mean
from narrows.studies.study import Study

CLAIM_FILE = re.compile(r"[a-z]+[0-9]+")
SPELLED = re.compile(r"([A-Za-z]+)0*([0-9]+)")


@cache
def studies() -> dict[str, Study]:
    """Every study by its folder's name, in alphabetical order."""
    by_name = {}
    for each in sorted(pkgutil.iter_modules(narrows.studies.__path__), key=lambda m: m.name):
        if each.ispkg and (folder(each.name) / "study.py").exists():
            by_name[each.name] = importlib.import_module(f"narrows.studies.{each.name}.study").STUDY
    return by_name


def study(name: str) -> Study:
    """The study of that name; `UsageError` with the nearest one if there is none."""
    if name not in studies():
        raise UsageError(f"no study {name}", remedy=did_you_mean(name, studies()))
    return studies()[name]


def folder(name: str) -> Path:
    """Where a study lies."""
    return Path(narrows.studies.__path__[0]) / name


@cache
def claims(name: str) -> tuple[ModuleType, ...]:
    """The claims of a study, one module each, by number."""
    package = importlib.import_module(f"narrows.studies.{name}.claims")
    names = [m.name for m in pkgutil.iter_modules(package.__path__) if CLAIM_FILE.fullmatch(m.name)]
    modules = [importlib.import_module(f"{package.__name__}.{one}") for one in names]
    return tuple(sorted(modules, key=lambda module: natural(module.judge.claim.id)))


@cache
def all_claims() -> dict[str, tuple[str, ModuleType]]:
    """Every claim by its id: its study and its module; studies in alphabetical order."""
    return {module.judge.claim.id: (name, module) for name in studies() for module in claims(name)}


def natural(text: str) -> tuple[str, int]:
    """Letters, then the number by its value: R2 before R10."""
    match = SPELLED.fullmatch(text)
    return (match[1].upper(), int(match[2])) if match else (text.upper(), 0)


def claim_ids(spelled: Iterable[str], known: Iterable[str] | None = None) -> list[str]:
    """Ids as the claims have them, of words as a person writes them: `r8`, `R08`, or several with commas.

    `known` are the ids that may be meant, by default all; `UsageError` at any other.
    """
    ids = {natural(one): one for one in (all_claims() if known is None else known)}
    asked = []
    for word in (part for words in spelled for part in words.replace(",", " ").split()):
        if natural(word) not in ids:
            raise UsageError(f"no claim {word}", remedy=f"known: {', '.join(ids.values())}")
        asked.append(ids[natural(word)])
    return asked


def by_study(spelled: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Claims, in any spelling, by the study that they are of."""
    claims_of: dict[str, tuple[str, ...]] = {}
    for claim in claim_ids(spelled):
        name = all_claims()[claim][0]
        claims_of[name] = (*claims_of.get(name, ()), claim)
    return claims_of


def experiments(name: str) -> dict[str, Path]:
    """The experiments of a study by name, in alphabetical order."""
    return {file.stem: file for file in sorted((folder(name) / "experiments").glob("*.py"))}


def experiments_of(name: str, module: ModuleType) -> dict[str, Path]:
    """Those that decide a claim: the one it names and those besides, and with it all whose names begin with
    that of the claim's file, if that one's does."""
    begin = module.__name__.rpartition(".")[2] + "_"
    own, besides = module.judge.claim.name, module.judge.besides
    return {
        stem: file
        for stem, file in experiments(name).items()
        if stem == own or stem in besides or (own.startswith(begin) and stem.startswith(begin))
    }
