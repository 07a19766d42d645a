"""The speed tests that `narrows calibrate` compares, each with its usual parameters and some variations.

`test = under_test()` in an experiment file is an axis `tool` over all of them, so a scenario is an experiment
like any other. Which tools, and whether with variations, is chosen around the loading of the file. Each
tool's `spec.py` says what there is of it, its `readings.py` what its answers mean.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from narrows.errors import SpecError, UsageError, did_you_mean
from narrows.spec.axis import Axis, axis
from narrows.spec.base import only_copy
from narrows.spec.traffic import Traffic
from narrows.tools import folder, registry

TOOL = "tool"
"""The axis' name."""
DEFAULT_START = "5 s"
VARIED = "+"
"""`iperf3+P4` is iperf3 with the variation P4."""


@dataclass(frozen=True)
class UnderTest:
    """A speed test: its constructor with its usual parameters, and what its variations change."""

    make: type[Traffic]
    usual: Mapping[str, Any] = field(default_factory=dict)
    variations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def item(self, changes: Mapping[str, Any], start: str) -> Traffic:
        """The item, starting then."""
        return self.make(**{**self.usual, **changes, "start": start})


@cache
def known() -> dict[str, UnderTest]:
    """Every tool that comes with narrows, by label."""
    found: dict[str, UnderTest] = {}
    for spec in registry.parts(registry.SPEC):
        found |= getattr(spec, "UNDER_TEST", {})
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class Selection:
    """Which tools a scenario is for: names, or `name+variation`; with all variations of them, or without."""

    tools: tuple[str, ...] | None = None
    varied: bool = False


_selection: ContextVar[Selection | None] = ContextVar("tools under test", default=None)


@contextlib.contextmanager
def selected(tools: Sequence[str] | None = None, varied: bool = False) -> Iterator[None]:
    """Experiments loaded inside are for these tools; None: all."""
    token = _selection.set(Selection(None if tools is None else tuple(tools), varied))
    try:
        yield
    finally:
        _selection.reset(token)


def find(label: str, tools: Mapping[str, UnderTest]) -> tuple[UnderTest, Mapping[str, Any]]:
    """A tool and the changes of its variation by label."""
    name, _, variation = label.partition(VARIED)
    if name not in tools:
        raise UsageError(f"no tool {name}", remedy=did_you_mean(name, tools))
    tool = tools[name]
    if not variation:
        return tool, {}
    if variation not in tool.variations:
        others = did_you_mean(variation, tool.variations)
        raise UsageError(f"the tool {name} has no variation {variation}", remedy=others)
    return tool, tool.variations[variation]


def labels(selection: Selection, tools: Mapping[str, UnderTest]) -> list[str]:
    """The labels of the axis, each tool before its variations."""
    chosen: list[str] = []
    for label in tools if selection.tools is None else selection.tools:
        chosen.append(label)
        if selection.varied and VARIED not in label:
            chosen += [f"{label}{VARIED}{each}" for each in find(label, tools)[0].variations]
    return list(dict.fromkeys(chosen))


def under_test(*own: Traffic, start: str = DEFAULT_START) -> Axis:
    """The tool under test, an axis over the speed tests that are compared, and those of one's own:
    `under_test(tool("my_service"))`; `start` holds for each."""
    if not isinstance(start, str):
        raise SpecError("under_test: the start is a time for all tools", remedy='start="5 s"')
    tools = dict(known())
    for item in own:
        if not isinstance(item, Traffic) or folder.of(type(item)) is None:
            raise SpecError(
                f"under_test: {item!r} is no tool of your own", remedy='under_test(tool("my_service"))'
            )
        only_copy(item)  # the axis has its own, made with the start of all
        kind = type(item)
        options = {name: item.values[name] for name in item.given if name != "start"}
        tools[kind.__name__] = UnderTest(kind, options, dict(getattr(kind, "variations", {})))
    items = {}
    for label in labels(_selection.get() or Selection(), tools):
        made, changes = find(label, tools)
        items[label] = made.item(changes, start)
    found: Axis = axis(TOOL, items)
    return found
