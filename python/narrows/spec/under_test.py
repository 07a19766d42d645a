"""The speed tests that `narrows calibrate` compares, each with its usual parameters and some variations.

`test = under_test()` in an experiment file is an axis `tool` over all of them, so a scenario is an experiment
like any other. Which tools, and whether with variations, is chosen around the loading of the file. What their
answers mean is in `narrows.calibrate.readings`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from narrows.errors import SpecError, UsageError, did_you_mean
from narrows.spec.axis import Axis, axis
from narrows.spec.traffic import Traffic
from narrows.tools.bulk.spec import bulk
from narrows.tools.capacity_test.spec import capacity_test
from narrows.tools.cloudflare.spec import cloudflare
from narrows.tools.iperf3.spec import iperf3
from narrows.tools.ndt7.spec import ndt7
from narrows.tools.rpm.spec import rpm
from narrows.tools.rrul.spec import rrul, rrul_be
from narrows.tools.udp_capacity.spec import udp_capacity
from narrows.tools.web_speed.spec import web_speed

TOOL = "tool"
"""The axis' name."""
DEFAULT_START = "5 s"
VARIED = "+"
"""`iperf3+P4` is iperf3 with the variation P4."""


@dataclass(frozen=True)
class Tool:
    """A speed test: its constructor with its usual parameters, and what its variations change."""

    make: type[Traffic]
    usual: Mapping[str, Any] = field(default_factory=dict)
    variations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def item(self, changes: Mapping[str, Any], start: str) -> Traffic:
        """The item, starting then."""
        return self.make(**{**self.usual, **changes, "start": start})


TOOLS: dict[str, Tool] = {
    "ndt7": Tool(ndt7, variations={"cubic": {"cca": "cubic"}}),
    "iperf3": Tool(
        iperf3,
        {"duration": "10 s", "interval": "1 s"},
        {
            "P4": {"flows": 4},
            "P8": {"flows": 8},
            "O3": {"omit": "3 s"},
            "30s": {"duration": "30 s"},
            "P4-O3": {"flows": 4, "omit": "3 s"},
        },
    ),
    "capacity_test": Tool(
        capacity_test,
        variations={
            "P1": {"connections": 1},
            "P8": {"connections": 8},
            "O0": {"omit": "0 s"},
            "30s": {"duration": "30 s"},
        },
    ),
    "rpm": Tool(
        rpm,
        variations={"08": {"variant": "draft-08"}, "go": {"variant": "go"}, "parallel": {"parallel": True}},
    ),
    "udp_capacity": Tool(
        udp_capacity,
        variations={"T0": {"tolerated": 0}, "20s": {"test_length": "20 s"}, "5s": {"test_length": "5 s"}},
    ),
    "cloudflare": Tool(cloudflare, variations={"bbr": {"cca": "bbr"}}),
    "ookla_model": Tool(web_speed, {"model": "ookla"}, {"5s": {"test_length": "5 s"}, "bbr": {"cca": "bbr"}}),
    "librespeed_model": Tool(
        web_speed, {"model": "librespeed"}, {"5s": {"test_length": "5 s"}, "bbr": {"cca": "bbr"}}
    ),
    "rrul_be": Tool(
        rrul_be, {"duration": "20 s", "delay": "2 s"}, {"60s": {"duration": "60 s"}, "16": {"flows": 16}}
    ),
    "rrul": Tool(rrul, {"duration": "20 s", "delay": "2 s"}, {"60s": {"duration": "60 s"}}),
    "bulk": Tool(
        bulk,
        {"duration": "10 s", "flows": 4, "start_spread": "100 ms", "sample": "50 ms"},
        {"1": {"flows": 1}, "16": {"flows": 16}, "30s": {"duration": "30 s"}},
    ),
}
"""Every tool by its label. `bulk` is a load of plain flows beside which the scenario's own ping is read."""


@dataclass(frozen=True)
class Selection:
    """Which tools a scenario is for: names, or `name+variation`; with all variations of them, or without."""

    tools: tuple[str, ...] | None = None
    varied: bool = False


_selection: ContextVar[Selection | None] = ContextVar("tools under test", default=None)


@contextlib.contextmanager
def selected(tools: Sequence[str] | None = None, varied: bool = False) -> Iterator[None]:
    """Experiments loaded inside are for these tools; None: all."""
    for name in tools or ():
        find(name)
    token = _selection.set(Selection(None if tools is None else tuple(tools), varied))
    try:
        yield
    finally:
        _selection.reset(token)


def find(label: str) -> tuple[Tool, Mapping[str, Any]]:
    """A tool and the changes of its variation by label."""
    name, _, variation = label.partition(VARIED)
    if name not in TOOLS:
        raise UsageError(f"no tool {name}", remedy=did_you_mean(name, TOOLS))
    tool = TOOLS[name]
    if not variation:
        return tool, {}
    if variation not in tool.variations:
        known = did_you_mean(variation, tool.variations)
        raise UsageError(f"the tool {name} has no variation {variation}", remedy=known)
    return tool, tool.variations[variation]


def labels(selection: Selection) -> list[str]:
    """The labels of the axis, each tool before its variations."""
    chosen: list[str] = []
    for label in TOOLS if selection.tools is None else selection.tools:
        chosen.append(label)
        if selection.varied and VARIED not in label:
            chosen += [f"{label}{VARIED}{each}" for each in TOOLS[label].variations]
    return list(dict.fromkeys(chosen))


def under_test(start: str = DEFAULT_START) -> Axis:
    """The tool under test, an axis over the speed tests that are compared; `start` holds for each."""
    if not isinstance(start, str):
        raise SpecError("under_test: the start is a time for all tools", remedy='start="5 s"')
    items = {}
    for label in labels(_selection.get() or Selection()):
        tool, changes = find(label)
        items[label] = tool.item(changes, start)
    made: Axis = axis(TOOL, items)
    return made
