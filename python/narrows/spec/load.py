"""Reads an experiment file: runs it, collects what its names hold, reports everything wrong with its line.

The result is what the person wrote, axes still open. Expanding them is the plan's work. `made` gives the
same of objects, for narrows' own experiments.
"""

from __future__ import annotations

import ast
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from narrows.errors import NarrowsError, SpecError, nearest
from narrows.spec.axis import Axis, created_axes
from narrows.spec.base import SpecObject, copied, created
from narrows.spec.expect import expect
from narrows.spec.link import Link, is_link
from narrows.spec.observe import capture, flow_tap, machine, repeat, sample, tap
from narrows.spec.traffic import Traffic, is_traffic
from narrows.spec.until_settled import until_settled
from narrows.spec.where import caller, of_traceback

_MODULE = "narrows_experiment"
_STEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass
class Experiment:
    """One experiment file, checked, axes still open."""

    name: str
    path: str
    docstring: str
    link: Link | Axis
    items: dict[str, Traffic | Axis] = field(default_factory=dict)
    """The items by variable name; the id of an item is its name, or its own `id=`."""
    captures: dict[str, capture] = field(default_factory=dict)
    tap: tap | None = None
    flow_tap: flow_tap | None = None
    until_settled: until_settled | None = None
    sample: sample | None = None
    machine: machine | None = None
    repeat: repeat | None = None
    expects: tuple[expect, ...] = ()
    axes: tuple[Axis, ...] = ()
    """The axes in the order in which the file made them, one per name."""

    @property
    def question(self) -> str:
        """The first line of the docstring."""
        return self.docstring.strip().splitlines()[0].strip()

    def every_axis(self, name: str) -> list[Axis]:
        """The axes of this name: the file may have made it more than once."""
        found = _reached(self.roots()).values()
        return [part for part in found if isinstance(part, Axis) and part.name == name]

    def roots(self) -> list[Any]:
        """Everything of which a run is made."""
        parts: list[Any] = [self.link, *self.items.values(), *self.captures.values()]
        single = (self.tap, self.flow_tap, self.until_settled, self.sample, self.machine, self.repeat)
        return parts + [p for p in single if p is not None]


def load(path: Path | str) -> Experiment:
    """Run and check an experiment file."""
    shown = str(path)
    source = _read(Path(path), shown)
    code = _compile(source, shown)
    _forget()
    module = _execute(code, Path(path), shown)
    docstring = module.__doc__
    if not docstring or not docstring.strip():
        raise SpecError(
            "the experiment has no question",
            where=f"{shown}:1",
            remedy='begin the file with it: """Does FQ-CoDel keep working latency low when …?"""',
        )
    _check_words(module, source, shown)
    return _collect(vars(module), shown, docstring)


def made(name: str, question: str, parts: Callable[[], Mapping[str, Any]]) -> Experiment:
    """The experiment of the objects that `parts` makes, by the names that a file would give them. The place
    of an error in one of them is the experiment's name."""
    _forget()
    try:
        named = parts()
    except SpecError as error:
        error.where = name if error.where == caller() else error.where
        raise
    for each in created:
        each.where = name
    return _collect(named, name, question)


def _forget() -> None:
    for made_before in (created, copied, created_axes):
        made_before.clear()


def _read(path: Path, shown: str) -> str:
    if not _STEM.fullmatch(path.stem):
        raise SpecError(
            f"the name {path.stem!r} cannot name results",
            where=shown,
            remedy="letters, digits, '-', '_' and '.' only",
        )
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SpecError("this is not a text file", where=shown, remedy="an experiment is Python") from None
    except OSError as error:
        siblings = [p.name for p in path.parent.glob("*.py")] if path.parent.is_dir() else []
        close = nearest(path.name, siblings)
        remedy = f"did you mean {path.with_name(close)}?" if close else "give the path of an experiment file"
        raise SpecError(f"cannot read the experiment: {error.strerror}", where=shown, remedy=remedy) from None


def _compile(source: str, shown: str) -> types.CodeType:
    try:
        return compile(source, shown, "exec", dont_inherit=True)
    except SyntaxError as error:
        line = (error.text or "").strip()
        raise SpecError(
            f"not Python: {error.msg}", where=f"{shown}:{error.lineno or 1}", remedy=f"look at: {line}"
        ) from None
    except ValueError as error:
        raise SpecError(f"not Python: {error}", where=shown) from None


def _execute(code: types.CodeType, path: Path, shown: str) -> types.ModuleType:
    """Run the file as a module. Files beside it can be imported, and are imported again each time."""
    module = types.ModuleType(_MODULE)
    module.__file__ = shown
    folder = str(path.resolve().parent)
    before = set(sys.modules)
    sys.path.insert(0, folder)
    sys.modules[_MODULE] = module
    try:
        exec(code, module.__dict__)
    except NarrowsError as error:
        if error.where is None:
            error.where = of_traceback(error.__traceback__, shown)
        raise SpecError(error.message, where=error.where or shown, remedy=error.remedy) from None
    except (Exception, SystemExit) as error:
        raise _raised(error, shown) from None
    finally:
        sys.path.remove(folder)
        for name in set(sys.modules) - before:
            origin = getattr(sys.modules[name], "__file__", None)
            if name == _MODULE or (origin and str(Path(origin).resolve().parent) == folder):
                del sys.modules[name]
    return module


def _raised(error: BaseException, shown: str) -> SpecError:
    where = of_traceback(error.__traceback__, shown) or shown
    if isinstance(error, ImportError) and error.name and error.name.split(".")[0] == "narrows":
        match = re.match(r"cannot import name '(\w+)' from '([\w.]+)'", str(error))
        if match:
            known = getattr(sys.modules.get(match[2]), "__all__", ())
            close = nearest(match[1], known)
            remedy = f"did you mean {close}?" if close else "names: " + ", ".join(known)
            return SpecError(f"{match[2]} has no {match[1]}", where=where, remedy=remedy)
    if isinstance(error, NameError) and error.name:
        known = getattr(sys.modules.get("narrows.spec"), "__all__", ())
        if error.name in known:
            remedy = f"import it: from narrows.spec import {error.name}"
        else:
            close = nearest(error.name, known)
            remedy = f"did you mean {close}?" if close else "every name must be imported or assigned first"
        return SpecError(f"{error.name} is not defined", where=where, remedy=remedy)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    line = _line_of(where)
    remedy = f"the line is: {line}" if line else "look at this line of the experiment"
    return SpecError(f"the experiment raised {what}", where=where, remedy=remedy)


def _line_of(where: str) -> str | None:
    file, _, number = where.rpartition(":")
    try:
        return Path(file).read_text(encoding="utf-8").splitlines()[int(number) - 1].strip()
    except (OSError, ValueError, IndexError):
        return None


def _check_words(module: types.ModuleType, source: str, shown: str) -> None:
    """`repeat = 10` is not `repeat(10)`: a word of the language that holds a plain value would be ignored."""
    for name in getattr(sys.modules.get("narrows.spec"), "__all__", ()):
        value = vars(module).get(name)
        if name not in vars(module) or callable(value) or isinstance(value, (SpecObject, Axis)):
            continue
        lines = [
            node.lineno
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        ]
        raise SpecError(
            f"{name} = {value!r} has no effect",
            where=f"{shown}:{lines[0]}" if lines else shown,
            remedy=f"call it: {name}({value!r}); a constant of your own needs another name",
        )


# ---- collecting ------------------------------------------------------------------------------------------


def _collect(namespace: Mapping[str, Any], shown: str, docstring: str) -> Experiment:
    patterns = {id(each) for each in copied}
    names = [(name, each) for name, each in _named(namespace) if id(each) not in patterns]
    links = _distinct([(n, v) for n, v in names if is_link(v)])
    if not links:
        raise SpecError(
            "the experiment has no link",
            where=shown,
            remedy='link = Link(rate="100 Mbit/s", queue=fq_codel())',
        )
    if len(links) > 1:
        (first, _), (second, other) = links[:2]
        raise SpecError(
            f"two links: {first} and {second}",
            where=other.where,
            remedy="an experiment has one; sweep with axis(), and start the names of parts with '_'",
        )
    experiment = Experiment(name=Path(shown).stem, path=shown, docstring=docstring, link=links[0][1])
    _collect_items(names, experiment)
    _collect_others(names, experiment)
    reached = _reached(experiment.roots())
    _check_unused(namespace, reached)
    experiment.axes = _axes(reached)
    if not experiment.items:
        raise SpecError(
            "the experiment has no traffic", where=shown, remedy='flow = bulk(cca="cubic", duration="10 s")'
        )
    return experiment


def _named(namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Public names and what they hold; lists and mappings of items count one by one."""
    for name, value in namespace.items():
        if name.startswith("_"):
            continue
        if isinstance(value, (list, tuple)) and any(is_traffic(each) for each in value):
            yield from ((f"{name}-{index}", each) for index, each in enumerate(value))
        elif isinstance(value, dict) and any(is_traffic(each) for each in value.values()):
            yield from ((f"{name}-{key}", each) for key, each in value.items())
        elif isinstance(value, (SpecObject, Axis)):
            yield name, value


def _distinct(named: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    seen: dict[int, tuple[str, Any]] = {}
    for name, value in named:
        seen.setdefault(id(value), (name, value))
    return list(seen.values())


def _collect_items(names: list[tuple[str, Any]], experiment: Experiment) -> None:
    held_by: dict[int, str] = {}
    made = {id(each): position for position, each in enumerate(created)}

    def first_made(named: tuple[str, Any]) -> int:
        """Items come in the order in which the file makes them, whatever names existed before."""
        return min(made.get(id(each), 0) for each in _items_of(named[1]))

    for name, value in sorted(_distinct([(n, v) for n, v in names if is_traffic(v)]), key=first_made):
        for each in _items_of(value):
            if id(each) in held_by:
                raise SpecError(
                    f"{type(each).__name__} is an item of its own ({held_by[id(each)]}) and also in {name}",
                    where=each.where,
                    remedy="write it inside the axis, or start its own name with '_'",
                )
            held_by[id(each)] = name
        experiment.items[name] = value


def _items_of(value: Any) -> Iterator[Traffic]:
    if isinstance(value, Axis):
        for each in value.values.values():
            yield from _items_of(each)
    elif isinstance(value, Traffic):
        yield value


def _place_name(each: capture, taken: set[str]) -> str:
    """The name of a capture that has none: its place. An interface of the bottleneck sees both directions,
    which its name says."""
    place = each["at"]
    plain = place.replace(":", "-") if isinstance(place, str) else "capture"
    plain += "-both" if plain.startswith("bottleneck-") else ""
    plain = f"capture-{plain}" if plain in taken and plain in ("client", "server") else plain
    number = 1
    while (plain if number == 1 else f"{plain}-{number}") in taken:
        number += 1
    return plain if number == 1 else f"{plain}-{number}"


def _collect_others(names: list[tuple[str, Any]], experiment: Experiment) -> None:
    assigned = {id(value): name for name, value in names}
    experiment.expects = tuple(each for each in created if isinstance(each, expect))
    for each in list(created):
        if not isinstance(each, (capture, tap, flow_tap, until_settled, sample, machine, repeat)):
            continue
        if isinstance(each, capture):
            taken = {*assigned.values(), *experiment.items, *experiment.captures}
            experiment.captures[assigned.get(id(each)) or _place_name(each, taken)] = each
            continue
        kind = type(each).__name__
        if getattr(experiment, kind) is not None:
            raise SpecError(
                f"a second {kind}()",
                where=each.where,
                remedy="an experiment has one; use axis() for its options",
            )
        setattr(experiment, kind, each)


def _reached(roots: list[Any]) -> dict[int, Any]:
    """Everything that can become part of a run, by identity."""
    found: dict[int, Any] = {}
    pending = list(roots)
    while pending:
        value = pending.pop()
        if id(value) in found or not isinstance(value, (SpecObject, Axis)):
            continue
        found[id(value)] = value
        pending.extend(value.values.values() if isinstance(value, Axis) else value.parts())
    return found


def _check_unused(namespace: Mapping[str, Any], reached: dict[int, Any]) -> None:
    """Traffic and axes that nothing uses are mistakes, unless a name (with '_' too) holds the traffic."""
    held = list(namespace.values())
    for value in namespace.values():
        if isinstance(value, (list, tuple, dict)):
            held.extend(value.values() if isinstance(value, dict) else value)
    kept = _reached(held)
    for each in created:
        if isinstance(each, Traffic) and id(each) not in reached and id(each) not in kept:
            raise SpecError(
                f"{type(each).__name__}() is made but never used",
                where=each.where,
                remedy=f"assign it to a name, which becomes its id: flow = {type(each).__name__}(…)",
            )
    for axis in created_axes:
        if id(axis) not in reached:
            raise SpecError(
                f"the axis {axis.name} is never used, so nothing would be swept",
                where=axis.where,
                remedy="pass it where a value belongs, or remove it",
            )


def keep_labels(experiment: Experiment, kept: Mapping[str, Sequence[str]]) -> None:
    """Leave only these labels of these axes, so that no other run is planned; each must keep one."""
    for part in _reached(experiment.roots()).values():
        if isinstance(part, Axis) and part.name in kept:
            part.values = {label: part.values[label] for label in part.labels if label in kept[part.name]}


def _axes(reached: dict[int, Any]) -> tuple[Axis, ...]:
    by_name: dict[str, Axis] = {}
    for axis in sorted((v for v in reached.values() if isinstance(v, Axis)), key=lambda a: a.order):
        first = by_name.setdefault(axis.name, axis)
        if first.labels != axis.labels:
            raise SpecError(
                f"two axes are called {axis.name}, with different labels",
                where=axis.where,
                remedy=f"the other is at {first.where}; give them the same labels, or two names",
            )
    return tuple(by_name.values())
