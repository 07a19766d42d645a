"""Makes the plans of an experiment file: loads it, expands its axes, lowers each run. Later parts call this.

The same file gives the same plans on every machine and from every directory.
"""

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path

from narrows.errors import SpecError
from narrows.plan import (
    calibration,
    capacity,
    l4s,
    linux,
    media,
    moving,
    never,
    observers,
    super_packets,
    sysctls,
    uplink,
)
from narrows.plan.expand import ResolvedRun, expand
from narrows.plan.items import TrafficItem
from narrows.plan.lowering import CCA
from narrows.plan.model import Capture, LinkSummary, Machine, Needs, Node, Plan, Sampler, TimerLatency
from narrows.plan.modules import asked_kernel, modules
from narrows.plan.node_settings import node_settings
from narrows.plan.settling import until_settled
from narrows.plan.timing import Timetable
from narrows.plan.topology import Topology, dumbbell, home, many_senders
from narrows.plan.traffic import lower
from narrows.spec.dumbbell import Dumbbell
from narrows.spec.home import Home
from narrows.spec.load import Experiment, load
from narrows.units import NS_PER_S

WALL_CLOCK_NS = 1_767_225_600 * NS_PER_S
"""2026-01-01 00:00:00 UTC: every guest boots then, so that no output depends on the day."""


MEMORY_BYTES = 512 * capacity.MIB
"""The memory of a machine that is not given another; many flows, long paths and deep queues may need more."""


LIMIT_SLACK_NS = 30 * NS_PER_S


@dataclasses.dataclass(frozen=True)
class Plans:
    """An experiment and all its runs."""

    experiment: Experiment
    plans: tuple[Plan, ...]
    expected_end_ns: tuple[int, ...]
    """When each run will have ended, as far as can be known."""

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """The labels of every axis of the key, `seed` included, in order."""
        return {name: tuple(dict.fromkeys(p.key[name] for p in self.plans)) for name in self.plans[0].key}


def plan_file(path: Path | str) -> Plans:
    """All plans of an experiment file. Everything wrong with it is raised here, before anything starts."""
    return plan_experiment(load(path))


def plan_experiment(experiment: Experiment) -> Plans:
    """All plans of a loaded experiment."""
    plans: list[Plan] = []
    ends: list[int] = []
    choices = topology = None
    for run in expand(experiment):
        if topology is None or run.choices is not choices:
            choices, topology = run.choices, _topology(run)
            plan, end_ns = _plan(experiment, run, topology)
        else:
            plan, end_ns = _another_repetition(plans[-1], run, topology)
        plans.append(plan)
        ends.append(end_ns)
    return Plans(experiment, tuple(plans), tuple(ends))


def keys_of(experiment: Experiment) -> list[tuple[dict[str, str], Callable[[], Plan]]]:
    """The key of every run, with what plans it alone, for readers that need few plans of many."""
    return [(run.key, partial(_alone, experiment, run)) for run in expand(experiment)]


def _alone(experiment: Experiment, run: ResolvedRun) -> Plan:
    return _plan(experiment, run, _topology(run))[0]


def _topology(run: ResolvedRun) -> Topology:
    if isinstance(run.link, Dumbbell):
        return many_senders(run.link.senders(), run.link["receivers"])
    if isinstance(run.link, Home):
        return home(len(run.link.members()))
    return dumbbell(run.link["services"], run.link["services"])


def _another_repetition(plan: Plan, run: ResolvedRun, topology: Topology) -> tuple[Plan, int]:
    """The plan of a run that differs from this one in its seed alone: only random starts depend on it here.

    Planning takes a millisecond, most of it for the set-up, and an experiment may have ten thousand runs.
    """
    times = Timetable(run)
    traffic, learnt = lower(run, topology, times)
    changes: dict[str, object] = {
        "key": run.key,
        "seed": run.seed,
        "limit_ns": _limit_ns(times),
        "until_settled": until_settled(run, times, traffic),
        "traffic": traffic,
        "composites": tuple(learnt.composites),
        "contents": tuple(learnt.contents.values()),
    }
    return plan.model_copy(update=changes), times.expected_end_ns()


def _plan(experiment: Experiment, run: ResolvedRun, topology: Topology) -> tuple[Plan, int]:
    times = Timetable(run)
    traffic, learnt = lower(run, topology, times)
    l4s_ports = tuple(sorted(learnt.l4s_ports))
    never.check(run, times, traffic)
    changes, summaries = linux.changes(topology, run.link)
    summary = linux.summary(topology, run.link, moving.described(run.link) + summaries)
    values, usual = node_settings(run, topology, traffic, learnt.sysctls, summary)
    hops = observers.hops(run, topology, summary)
    samplers = observers.samplers(run, topology, hops)
    captures = observers.captures(run, topology)
    _check_ids(run, traffic, samplers, captures)
    latency = run.machine["timer_latency"]
    rig = calibration.calibration(run, topology, summary)
    plan = Plan(
        experiment=experiment.name,
        question=experiment.question,
        key=run.key,
        seed=run.seed,
        wall_clock_ns=WALL_CLOCK_NS,
        epoch_monotonic_ns=calibration.epoch_ns(summary, rig.echoes),
        limit_ns=_limit_ns(times),
        machine=Machine(
            memory_bytes=_memory_bytes(run, summary, traffic, topology),
            timer_latency=None
            if latency is None
            else TimerLatency(min_ns=latency[0].ns, max_ns=latency[1].ns),
            modules=modules(run.machine),
            kernel=asked_kernel(run.machine),
        ),
        nodes=tuple(Node(name=n.name, role=n.role) for n in topology.nodes),
        link=summary,
        sysctls=sysctls.otherwise(values, usual),
        needs=Needs(
            qdiscs=linux.qdiscs(topology, run.link) + l4s.qdiscs(l4s_ports),
            default_ccas=tuple(sorted({own[CCA] for own in values.values() if CCA in own})),
        ),
        setup=(
            *linux.setup_steps(topology, run.link, values),
            *l4s.steps(topology, l4s_ports),
            *(uplink.steps(topology, run.link) if learnt.needs_uplink else ()),
        ),
        asked=linux.setup_asked(topology, run.link),
        changes=changes,
        moving=moving.moving_rates(topology, run.link, times.latest_end_ns()),
        media=media.media(topology, run.link),
        hops=hops,
        flow_tap=observers.flow_tap(run, traffic),
        until_settled=until_settled(run, times, traffic),
        calibration=rig,
        traffic=traffic,
        composites=tuple(learnt.composites),
        samplers=samplers,
        captures=captures,
        contents=tuple(learnt.contents.values()),
        uplink=uplink.uplink(topology) if learnt.needs_uplink else None,
    )
    capacity.check(plan, run.link.where)
    super_packets.check(plan, run.link.where)
    return plan, times.expected_end_ns()


def _limit_ns(times: Timetable) -> int:
    latest_ns = times.latest_end_ns()
    return latest_ns + latest_ns // 2 + LIMIT_SLACK_NS


def _memory_bytes(
    run: ResolvedRun, link: LinkSummary, traffic: tuple[TrafficItem, ...], topology: Topology
) -> int:
    given = run.machine["memory"]
    held = sum(item.holds_bytes() for item in run.items.values())
    needed = capacity.memory_needed(link, traffic, len(topology.nodes), held)
    if given is None:
        return max(MEMORY_BYTES, needed, capacity.programs_need(traffic))
    if held and needed > given.bytes:
        run.machine.fail(
            f"memory: programs may keep {held // capacity.MIB} MiB of their data, so the machine may need "
            f"{needed // capacity.MIB} MiB, and has {given}",
            f'memory="{needed // capacity.MIB} MiB", a smaller window, or leave memory out',
        )
    return int(given.bytes)


def _check_ids(
    run: ResolvedRun,
    traffic: tuple[TrafficItem, ...],
    samplers: tuple[Sampler, ...],
    captures: tuple[Capture, ...],
) -> None:
    """Ids name files, so no two parts of a run may share one."""
    seen: dict[str, str] = {}
    parts = [("an item", i.id) for i in traffic] + [("a sampler", s.id) for s in samplers]
    for what, name in [*parts, *(("a capture", c.id) for c in captures)]:
        if name in seen:
            blame = run.items.get(name) or run.captures.get(name)
            raise SpecError(
                f"{name} is the name of {seen[name]} and of {what}",
                where=blame.where if blame is not None else None,
                remedy="rename one of them",
            )
        seen[name] = what
