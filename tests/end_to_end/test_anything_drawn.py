"""Three hundred homes and links drawn over all options: each is refused before it starts, in one line, or
what the kernel keeps of it is what was asked. Of those that are planned some run, through calibration,
traffic and conservation."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest

import drawn
import lab
from narrows.engine.uml import UmlEngine
from narrows.errors import NarrowsError
from narrows.plan.model import Plan
from narrows.store import agent_result, kept

SEEDS = range(300)
RUNS = 36
"""As many as take a minute on two cores."""


@cache
def planned(place: Path) -> dict[int, Plan]:
    """By seed, what is not refused; any other exception is a defect."""
    found = {}
    for seed in SEEDS:
        try:
            found[seed] = lab.plan(place, drawn.experiment(seed), f"drawn{seed}")
        except NarrowsError:
            continue
    return found


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Plan]:
    return planned(tmp_path_factory.mktemp("drawn"))


def test_half_of_what_is_drawn_can_be_planned_and_is_asked_of_the_kernel(plans: dict[int, Plan]) -> None:
    assert 100 < len(plans) < len(SEEDS)
    assert all(plan.asked for plan in plans.values())


@pytest.mark.kernel
@pytest.mark.slow
def test_the_kernel_keeps_what_all_of_them_ask(plans: dict[int, Plan], tmp_path: Path) -> None:
    """In one guest: the queues of each at interfaces of their own."""
    steps, asked = [], []
    for seed, plan in plans.items():
        devices: dict[tuple[str, str], str] = {}
        for each in plan.asked:
            if each.kind in ("netem", "matchall", "own_qdisc"):
                continue
            dev = devices.setdefault((each.node, each.iface), f"d{seed}x{len(devices)}")
            asked.append({**each.model_dump(mode="json"), "node": "router", "iface": dev})
        for dev in devices.values():
            steps += [("ip", ("link", "add", dev, "type", "ifb")), ("ip", ("link", "set", dev, "up"))]
        for step in plan.setup:
            dev = devices.get((step.node, step.args[3])) if step.tool == "tc" else None
            if dev is not None and "ffff:" not in step.args:
                steps.append(("tc", (*step.args[:3], dev, *step.args[4:])))
    one = lab.plan(tmp_path, lab.SMALL)
    more = [
        {"node": "router", "tool": tool, "args": args} for tool, args in sorted(steps, key=lambda s: s[0])
    ]
    both = lab.edited(one, setup=[*one.to_dict()["setup"], *more], asked=asked)
    found = kept.compare(both, agent_result.read(lab.carry(both, tmp_path / "run").ok().raw / "result.json"))
    assert found.compared > 1500
    assert [each.line() for each in found.others] == []


@pytest.mark.kernel
@pytest.mark.slow
def test_those_that_run_are_as_asked_and_lose_no_packet_from_sight(
    plans: dict[int, Plan], tmp_path: Path
) -> None:
    engine, chosen = UmlEngine(), {}
    for seed, plan in plans.items():
        try:
            engine.check([plan])
        except NarrowsError:
            continue  # more memory than this machine has free
        chosen[seed] = plan
        if len(chosen) == RUNS:
            break
    made = lab.make(list(chosen.values()), tmp_path / "out", engine=engine, jobs=2)
    failed = {
        f"{seed}: {drawn.experiment(seed)}": one.manifest["error"]["line"]
        for seed, one in zip(chosen, made, strict=True)
        if one.manifest["status"] != "ok"
    }
    assert failed == {}, "\n\n".join(f"{what}{why}" for what, why in failed.items())
    for one in made:
        assert one.manifest["read_back"]["compared"] > 5
        assert all(hop["ok"] for hop in one.manifest["conservation"])


if __name__ == "__main__":  # python tests/end_to_end/test_anything_drawn.py SEED: the experiment
    print(drawn.experiment(int(sys.argv[1])))
