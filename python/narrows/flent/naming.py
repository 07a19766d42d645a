"""Which of Flent's tests a run is most like, and what that test calls its series.

Flent draws a file by the definition of the test that it names, and finds series by their names. So a run of
`rrul()` is Flent's rrul, of `rrul_be()` its rrul_be or rrul_be_nflows; flows both ways are rrul_be_nflows,
one way tcp_ndown or tcp_nup, probes alone ping.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from narrows.flent.rates import Flow

UDP_CLASSES = {0: "BE", 8: "BK", 40: "CS5", 46: "EF"}
"""Flent's names of what its UDP probes are marked with; others are named by their DSCP."""
WAYS = {"down": "download", "up": "upload"}
FLOWS_OF_RRUL = 4
ICMP = "Ping (ms) ICMP"


@dataclass(frozen=True)
class Naming:
    """A test of Flent's with the names of its series. `summed` are the flows in its averages and sums, by
    direction; `averaged` the probes in "Ping (ms) avg", if the test has one."""

    test: str
    flows: dict[str, str]
    """By the flow's label."""
    probes: dict[str, str]
    """By the item's id."""
    summed: dict[str, list[str]] = field(default_factory=dict)
    averaged: list[str] = field(default_factory=list)
    fair: bool = False
    """Whether the test has Jain's fairness index."""

    def parameters(self) -> dict[str, str]:
        """What Flent asks for to know how many series there are."""
        if self.test not in ("rrul_be_nflows", "tcp_ndown", "tcp_nup"):
            return {}
        return {f"{WAYS[way]}_streams": str(len(names)) for way, names in self.summed.items() if names}

    def missing(self) -> list[str]:
        """Series that plots of the test ask for and the run has no probe for."""
        wanted = {"rrul_be_nflows": [ICMP, "Ping (ms) UDP BE"], "tcp_ndown": [ICMP], "tcp_nup": [ICMP]}
        return [name for name in wanted.get(self.test, []) if name not in self.probes.values()]


def name(flows: Sequence[Flow], plan: Mapping[str, Any]) -> Naming:
    """The test, and the name of each flow and probe."""
    probes = [item for item in plan["traffic"] if item["kind"] in ("icmp_echo", "udp_probe")]
    composite = _rrul(flows, plan)
    if composite is not None:
        return _as_rrul(composite, flows, probes, plan)
    ways = {flow.direction for flow in flows}
    if not flows:
        return Naming("ping", {}, _probes(probes))
    both = len(ways) == 2
    prefix = {way: f"TCP {WAYS[way]}{' BE' if both else ''}" for way in ways}
    names: dict[str, str] = {}
    summed: dict[str, list[str]] = defaultdict(list)
    for flow in flows:
        summed[flow.direction].append(f"{prefix[flow.direction]}::{len(summed[flow.direction]) + 1}")
        names[flow.label] = summed[flow.direction][-1]
    called = _probes(probes)
    if both:
        plain = [each for each in called.values() if ":" not in each]  # Flent's `Ping (ms)*` stops at a colon
        return Naming("rrul_be_nflows", names, called, dict(summed), plain)
    return Naming("tcp_ndown" if "down" in ways else "tcp_nup", names, called, dict(summed), fair=True)


def _rrul(flows: Sequence[Flow], plan: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The run's only RRUL with as many flows as Flent's own, all of which carried data."""
    tests = [each for each in plan["composites"] if each["tool"] in ("rrul", "rrul_be")]
    if len(tests) != 1 or tests[0]["options"]["flows"] != FLOWS_OF_RRUL:
        return None
    owned = [flow for flow in flows if _part(flow, tests[0], plan) is not None]
    return tests[0] if len(owned) == 2 * FLOWS_OF_RRUL else None


def _part(flow: Flow, test: Mapping[str, Any], plan: Mapping[str, Any]) -> str | None:
    """The part of the test that a flow is of: it goes to that part's port."""
    receiver = flow.label.rpartition(">")[2]
    for item in plan["traffic"]:
        if item["kind"] == "tcp_bulk" and item["id"] in test["parts"]:
            ends = (
                f"{item['receiver_address']}:{item['port']}",
                f"[{item['receiver_address']}]:{item['port']}",
            )
            if receiver in ends:
                return str(item["id"])
    return None


def _as_rrul(
    test: Mapping[str, Any],
    flows: Sequence[Flow],
    probes: Sequence[Mapping[str, Any]],
    plan: Mapping[str, Any],
) -> Naming:
    names: dict[str, str] = {}
    summed: dict[str, list[str]] = defaultdict(list)
    beside: dict[str, int] = defaultdict(int)
    for flow in flows:
        part, way = _part(flow, test, plan), flow.direction
        if part is None:  # other traffic of the run: no part of the test's sums
            beside[way] += 1
            names[flow.label] = f"TCP {WAYS[way]} beside::{beside[way]}"
            continue
        class_ = part.rpartition("-")[2]
        number = len(summed[way]) + 1
        if test["tool"] == "rrul_be" and number > 1:
            class_ += str(number)
        names[flow.label] = f"TCP {WAYS[way]} {class_}"
        summed[way].append(names[flow.label])
    own = [item for item in probes if item["id"] in test["parts"]]
    called = {
        item["id"]: ICMP if item["kind"] == "icmp_echo" else f"Ping (ms) UDP {item['id'].rpartition('-')[2]}"
        for item in own
    }
    averaged = list(called.values())
    called |= _probes([item for item in probes if item not in own], called.values(), " beside")
    return Naming(str(test["tool"]), names, called, dict(summed), averaged)


def _probes(
    items: Iterable[Mapping[str, Any]], taken: Iterable[str] = (), suffix: str = ""
) -> dict[str, str]:
    names: dict[str, str] = {}
    for item in items:
        if item["kind"] == "icmp_echo":
            plain = ICMP if not item["dscp"] else f"{ICMP} DSCP {item['dscp']}"
        else:
            plain = f"Ping (ms) UDP {UDP_CLASSES.get(item['dscp'], 'DSCP ' + str(item['dscp']))}"
        names[item["id"]] = _free(plain + suffix, {*taken, *names.values()})
    return names


def _free(plain: str, taken: set[str]) -> str:
    number = 1
    while (plain if number == 1 else f"{plain}::{number}") in taken:
        number += 1
    return plain if number == 1 else f"{plain}::{number}"
