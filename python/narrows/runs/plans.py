"""Reads the plan of a stored run. It is the one place that does, whichever format the plan was written in."""

from collections.abc import Callable
from functools import cache
from json import JSONDecoder
from json.scanner import c_make_scanner  # type: ignore[attr-defined]
from pathlib import Path
from typing import Annotated, Any

from pydantic import TypeAdapter

from narrows.engine import layout
from narrows.plan.model import Plan

Part = tuple[str, Any]
"""A part of a plan as it is written, and what it is."""


def read_plan(folder: Path) -> Plan:
    """The plan of the run in this folder; PlanError if there is none, or none that can be understood."""
    return Plan.read(folder / layout.PLAN)


class PlanReader:
    """Reads many plans that are much alike, as those of a shard are, each a few KB of canonical JSON.

    Every part is checked as `Plan.from_json` does, but one that is written the same in several plans once:
    parts are frozen, so plans share them.
    """

    def __init__(self) -> None:
        self._known: dict[Part, Any] = {}
        self._last: dict[str, Part] = {}

    def plan(self, text: str, where: str) -> Plan:
        """The plan; PlanError if it cannot be understood. `where` is for that."""
        try:
            parts = self._parts(text)
        except (ValueError, IndexError, KeyError, StopIteration):
            parts = {}
        if not parts.keys() >= _required():
            return Plan.from_json(text, where=where)
        return Plan.model_construct(**parts)

    def _parts(self, text: str) -> dict[str, Any]:
        parts: dict[str, Any] = {}
        at = 0
        while text[at] in "{,":
            end = text.index('":', at)
            name, at = text[at + 2 : end], end + 2
            written, value = self._last.get(name, ("", None))
            if written and text.startswith(written, at) and text[at + len(written)] in ",}":
                at += len(written)
            else:
                _, end = _scan(text, at)
                written, at = text[at:end], end
                what = (name, written)
                if what not in self._known:
                    self._known[what] = _reader_of(name).validate_json(written, strict=True)
                value = self._known[what]
                self._last[name] = (written, value)
            parts[name] = value
        if text[at:] != "}":
            raise ValueError("not one object")
        return parts


_scan: Callable[[str, int], tuple[Any, int]] = c_make_scanner(JSONDecoder())


@cache
def _reader_of(name: str) -> TypeAdapter[Any]:
    field = Plan.model_fields[name]
    kind: Any = field.annotation
    return TypeAdapter(Annotated[kind, *field.metadata] if field.metadata else kind)


@cache
def _required() -> frozenset[str]:
    return frozenset(name for name, field in Plan.model_fields.items() if field.is_required())
