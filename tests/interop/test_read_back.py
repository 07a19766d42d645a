"""What is asked of the kernel is what it keeps: every queue and shaper with every option at its lowest and
highest, each set up on an interface of its own in one guest and read back; a value that it cuts is seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lab
from declared import LIMITS, OF
from narrows.errors import SpecError
from narrows.plan.bottleneck import DirectionSpec, queue_asked, queue_steps
from narrows.plan.model import Asked, Plan
from narrows.spec import Link, shapers
from narrows.store import agent_result, kept
from narrows.tc.qdisc import Qdisc
from narrows.units import Duration, Rate

REQUIRED: dict[str, dict[str, Any]] = {
    "bfifo": {"limit": "100 KB"},
    "red": {"limit": "400 KB"},
    "choke": {"limit": 1000},
    "tbf": {"burst": "15 KB"},
}
WITH: dict[tuple[str, str], dict[str, Any]] = {
    ("tbf", "peakrate"): {"mtu": "1514 B"},
    ("tbf", "mtu"): {"peakrate": "2 Gbit/s"},
    ("sfq", "limit"): {"flows": 65408, "divisor": 65536},
    ("sfq", "flows"): {"divisor": 65536, "limit": 65536},
    ("sfq", "probability"): {"redflowlimit": "100 KB"},
    ("fq_codel", "ce_threshold_selector"): {"ce_threshold": "1 ms"},
}
"""What an option needs beside it."""


def direction(queue: Qdisc, shaper: shapers.Shaper | None) -> DirectionSpec:
    link = Link(rate="1 Gbit/s", base_rtt="10 ms", queue=queue, shaper=shaper)
    return DirectionSpec(link, queue, shaper, Rate(10**9), Duration(10**7), 1500)


def on_interfaces(one: Plan, directions: list[DirectionSpec]) -> Plan:
    """The plan with more interfaces at the router, which nothing passes, each with a queue of its own."""
    steps, asked = [], []
    for number, each in enumerate(directions):
        dev = f"v{number}"
        steps += [("ip", ("link", "add", dev, "type", "ifb")), ("ip", ("link", "set", dev, "up"))]
        steps += [("tc", words) for words in queue_steps(dev, each)]
        asked += queue_asked("router", dev, each)
    # All of ip, then all of tc: two processes.
    more = [
        {"node": "router", "tool": tool, "args": args} for tool, args in sorted(steps, key=lambda s: s[0])
    ]
    whole = one.to_dict()
    return lab.edited(
        one,
        setup=[*whole["setup"], *more],
        asked=[*whole["asked"], *(each.model_dump(mode="json") for each in asked)],
    )


def carried(one: Plan, place: Path) -> kept.ReadBack:
    """What the guest's kernel kept of what the plan asks."""
    return kept.compare(one, agent_result.read(lab.carry(one, place).ok().raw / "result.json"))


def at_both_ends() -> Iterator[DirectionSpec]:
    for kind, options in LIMITS.items():
        for name, limit in options.items():
            if kind == "dualpi2":
                continue  # Debian 12's tc sets none of its options
            for number in (limit.lowest, limit.highest):
                given = REQUIRED.get(kind, {}) | WITH.get((kind, name), {}) | {name: limit.value(number)}
                try:
                    made = OF[kind](**given)
                    each = (
                        direction(made, None) if isinstance(made, Qdisc) else direction(OF["pfifo"](), made)
                    )
                    queue_steps("v", each)
                except SpecError:
                    continue  # not without another option
                yield each


def switches() -> Iterator[DirectionSpec]:
    """Every option that is no number, with every value that it takes."""
    for kind in OF:
        if kind == "dualpi2" or not issubclass(OF[kind], Qdisc):
            continue
        constructor = OF[kind]
        for name, option in constructor.options.items():
            words = (True, False, "atm", "ptm", "noatm", "besteffort", "precedence", "diffserv3", "diffserv4",
                     "diffserv8", "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost",
                     "dual-dsthost", "triple-isolate", "0x01/0x03", "0x02/0x03", "0x03/0x03")  # fmt: skip
            for value in words:
                try:
                    option.parser(value)
                    given = REQUIRED.get(kind, {}) | WITH.get((kind, name), {}) | {name: value}
                    each = direction(constructor(**given), None)
                    queue_steps("v", each)
                except Exception:
                    continue
                yield each


@pytest.mark.kernel
@pytest.mark.slow
def test_the_kernel_keeps_every_option_at_its_lowest_and_highest(tmp_path: Path) -> None:
    many = [*at_both_ends(), *switches()]
    assert len(many) > 200
    one = on_interfaces(lab.plan(tmp_path, lab.SMALL), many)
    found = carried(one, tmp_path / "run")
    assert found.compared > 2000
    assert [each.line() for each in found.others] == []


def test_every_option_that_is_asked_has_its_place() -> None:
    for each in (*at_both_ends(), *switches()):
        for asked in queue_asked("router", "v", each):
            assert set(asked.options) <= set(kept.places(asked.what, asked.kind)), asked


@pytest.mark.kernel
def test_a_value_that_the_kernel_cuts_fails_the_run_with_both_values(tmp_path: Path) -> None:
    one = lab.plan(tmp_path, lab.SMALL)
    steps = [
        step.model_copy(update={"args": tuple("100" if w == "1514" else w for w in step.args)})
        if "fq_codel" in step.args else step for step in one.setup
    ]  # fmt: skip
    assert steps != list(one.setup)

    def of(asked: Asked) -> Asked:
        cut = {"quantum": 100} if asked.kind == "fq_codel" else {}
        return asked.model_copy(update={"options": asked.options | cut})

    (made,) = lab.make(
        [one.model_copy(update={"setup": tuple(steps), "asked": tuple(map(of, one.asked))})], tmp_path / "out"
    )
    assert made.manifest["status"] == "failed"
    line = made.manifest["error"]["line"]
    assert "fq_codel: quantum: asked 100 B, the kernel kept 256 B" in line
    assert [(o["option"], o["asked"], o["kept"]) for o in made.manifest["read_back"]["others"]] == [
        ("quantum", "100 B", "256 B"), ("quantum", "100 B", "256 B")
    ]  # fmt: skip


@pytest.mark.kernel
def test_a_sysctl_of_which_the_kernel_keeps_more_fails_the_set_up(tmp_path: Path) -> None:
    text = 'link = Link(rate="10 Mbit/s", sysctls={"server": {"net.ipv4.tcp_rmem": "4096 131072"}})\n'
    (made,) = lab.make(lab.plans(tmp_path, text + 'flow = bulk(duration="300 ms")\n'), tmp_path / "out")
    error = made.manifest["error"]
    assert (made.manifest["status"], error["stage"], error["node"]) == ("failed", "setup", "server")
    assert "net.ipv4.tcp_rmem: asked 4096 131072, the kernel kept 4096 131072 " in error["message"]
