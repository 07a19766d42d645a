"""The plan, and what the agent writes back, have one shape in Python and in Rust: field by field, both ways.

crates/schema.json is the shape of the Rust types; `cargo test` in crates/ keeps it so (agent/src/result.rs).
Compared are names, types, null, and what a field is where it is absent. Whoever reads may leave a part unread
(`Value` in Rust, `Any` in Python), take a word of a list as any string, and allow null where there is none.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from narrows.plan.model import Plan
from narrows.store.agent_result import AgentResult

SCHEMA = Path(__file__).parents[2] / "crates/schema.json"
MODELS: dict[str, type[BaseModel]] = {"Plan": Plan, "RunResult": AgentResult}
FILES = {
    "Plan": ("python/narrows/plan", "crates/plan/src"),
    "RunResult": ("python/narrows/store/agent_result.py", "crates/agent/src/result.rs"),
}
RUST, PYTHON = 1, 0
READER = {"Plan": RUST, "RunResult": PYTHON}
Json = dict[str, Any]


class Side:
    """One language's types; `shape` says of one what both can say, with the references inside it followed."""

    def __init__(self, definitions: Json) -> None:
        self.definitions = definitions

    def shape(self, schema: Json | bool) -> tuple[str, Any, bool]:
        """The kind of a value, what is inside, and whether null is one too."""
        if isinstance(schema, bool) or not schema.keys() - {"title", "description", "default"}:
            return "any", None, False
        if "$ref" in schema:
            return self.shape(self.definitions[schema["$ref"].rpartition("/")[2]])
        of = schema.get("anyOf") or schema.get("oneOf")
        if of:
            kinds = [self.shape(each) for each in of if each.get("type") != "null"]
            nullable = len(kinds) < len(of) or any(null for *_, null in kinds)
            if {kind for kind, *_ in kinds} == {"word"}:
                return "word", set().union(*(words for _, words, _ in kinds)), nullable
            if len(kinds) == 1:
                return kinds[0][0], kinds[0][1], nullable
            if {kind for kind, *_ in kinds} <= {"object", "union"}:
                parts: Json = {}
                for kind, inside, _ in kinds:
                    parts |= inside if kind == "union" else {_called(inside): inside}
                return "union", parts, nullable
            return "any", None, nullable
        types = schema.get("type")
        nullable = isinstance(types, list) and "null" in types
        kind = next(each for each in types if each != "null") if isinstance(types, list) else str(types)
        if kind == "string" and ("enum" in schema or "const" in schema):
            return "word", set(schema.get("enum") or [schema["const"]]), nullable
        if kind == "array":
            return "list", schema.get("items", True), nullable
        if kind == "object" and "properties" not in schema:
            return "map", schema.get("additionalProperties", True), nullable
        return kind, schema if kind == "object" else None, nullable


def _called(schema: Json) -> str:
    """An alternative: by its kind, or else by its fields."""
    kind = schema["properties"].get("kind", {})
    return str(kind.get("const") or ", ".join(sorted(schema["properties"])))


class Compared:
    """Both sides' types of one document, `root`, which `reader` reads and the other writes."""

    def __init__(self, root: str, model: type[BaseModel], rust: Json) -> None:
        self.python = model.model_json_schema(by_alias=True)
        self.sides = Side(self.python.get("$defs", {})), Side(rust)
        self.files, self.reader = FILES[root], READER[root]
        self.rust = rust[root]

    def differences(self) -> list[str]:
        return list(self._fields(self.python, self.rust, ""))

    def _types(self, own: Json | bool, other: Json | bool, at: str) -> Iterator[str]:
        shapes = self.sides[0].shape(own), self.sides[1].shape(other)
        (kind, inside, _), (kind2, inside2, _) = shapes
        reads, writes = shapes[self.reader], shapes[1 - self.reader]
        if reads[0] == "any" or (reads[0], writes[0]) == ("string", "word"):
            return
        if kind != kind2 or (writes[2] and not reads[2]):
            words = [
                f"{k}{' or null' if n else ''} in {f}"
                for (k, _, n), f in zip(shapes, self.files, strict=True)
            ]
            yield f"{at}: {', '.join(words)}"
        elif kind == "word" and inside != inside2:
            yield f"{at}: {sorted(inside)} in {self.files[0]}, {sorted(inside2)} in {self.files[1]}"
        elif kind in ("list", "map"):
            yield from self._types(inside, inside2, at + "[]")
        elif kind == "object":
            yield from self._fields(inside, inside2, at)
        elif kind == "union":
            for name in sorted(inside.keys() ^ inside2.keys()):
                yield f"{at}: {name} only in {self.files[name in inside2]}"
            for name in sorted(inside.keys() & inside2.keys()):
                yield from self._fields(inside[name], inside2[name], f"{at} {name}".strip())

    def _fields(self, ours: Json, theirs: Json, at: str) -> Iterator[str]:
        own, other = ours["properties"], theirs["properties"]
        for name in sorted(own.keys() | other.keys()):
            here = f"{at}.{name}".strip(".")
            if name not in own or name not in other:
                yield f"{here}: in {self.files[name not in own]}, missing in {self.files[name in own]}"
                continue
            yield from self._types(own[name], other[name], here)
            absent = [_absent(ours, name), _absent(theirs, name)]
            if self.reader == RUST:
                # What Rust does not read needs no default of its own there, only to be allowed to be absent.
                unread = self.sides[1].shape(other[name])[0] == "any" and "required" not in absent
                if absent[0] != absent[1] and not unread and "const" not in own[name]:
                    yield f"{here}: absent is {absent[0]} in {self.files[0]}, {absent[1]} in {self.files[1]}"
            elif name not in theirs.get("required", ()) and absent[0] == "required":
                yield f"{here}: required in {self.files[0]}, {self.files[1]} may leave it out"


def _absent(schema: Json, name: str) -> str:
    """What it means that a field is not there. serde takes any `Option` as null then; a plan has them all."""
    field = schema["properties"][name]
    return json.dumps(field["default"]) if isinstance(field, dict) and "default" in field else "required"


def rust_types() -> Json:
    found: Json = json.loads(SCHEMA.read_text())
    return found


@pytest.mark.parametrize(("root", "model"), MODELS.items())
def test_both_languages_have_the_same_fields(root: str, model: type[BaseModel]) -> None:
    assert Compared(root, model, rust_types()).differences() == []


def forget(types: Json, of: str, name: str) -> None:
    del types[of]["properties"][name]


def add(types: Json, of: str, name: str) -> None:
    types[of]["properties"][name] = {"type": "integer"}


def retype(types: Json, of: str, name: str) -> None:
    types[of]["properties"][name] = {"type": "boolean"}


def default(types: Json, of: str, name: str) -> None:
    types[of]["properties"][name]["default"] = 7


PLAN, RESULT = "python/narrows/plan", "python/narrows/store/agent_result.py"


@pytest.mark.parametrize(
    ("change", "root", "of", "name", "told"),
    [
        (forget, "Plan", "Plan", "seed", f"seed: in {PLAN}, missing in crates/plan/src"),
        (forget, "Plan", "Hop", "tap", f"hops[].tap: in {PLAN}, missing in crates/plan/src"),
        (add, "Plan", "Capture", "new", f"captures[].new: in crates/plan/src, missing in {PLAN}"),
        (retype, "Plan", "FlowWindow", "start_ns",
         f"flow_tap.window.start_ns: integer in {PLAN}, boolean in crates/plan/src"),
        (default, "Plan", "Hop", "tap_interval_ns",
         f"hops[].tap_interval_ns: absent is 10000000 in {PLAN}, 7 in crates/plan/src"),
        (forget, "RunResult", "HopResult", "tap",
         f"hops[].tap: in {RESULT}, missing in crates/agent/src/result.rs"),
        (add, "RunResult", "TapTotals", "new",
         f"hops[].tap.new: in crates/agent/src/result.rs, missing in {RESULT}"),
        (retype, "RunResult", "Report", "quiet_ns",
         f"calibration.quiet_ns: integer or null in {RESULT}, boolean in crates/agent/src/result.rs"),
    ],
)  # fmt: skip
def test_a_field_that_differs_on_one_side_is_named_with_both_files(
    change: Callable[[Json, str, str], None], root: str, of: str, name: str, told: str
) -> None:
    types = copy.deepcopy(rust_types())
    change(types, of, name)
    assert Compared(root, MODELS[root], types).differences() == [told]
