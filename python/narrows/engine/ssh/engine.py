"""Engine `ssh`: client, router and server are three real Linux hosts, each with an agent, in real time.

Refuses, naming the host and what mends it, whatever `narrows doctor --hosts` calls bad, and what the
plans need and a host has not. Nothing of a host is touched but the interfaces that it lends, and those
are given back whatever happens.
"""

import shlex
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from narrows.engine import agent_binary, layout
from narrows.engine.doctor import Check
from narrows.engine.ssh import doctor
from narrows.engine.ssh.connection import Connections
from narrows.engine.ssh.hosts import Host, Hosts
from narrows.engine.ssh.merge import merge
from narrows.engine.ssh.parts import Part, parts_of
from narrows.engine.ssh.session import Agent, Session, SessionError
from narrows.engine.types import Carried, EngineInfo, OneKernel, RunFault, RunRequest, Slot
from narrows.errors import EngineError
from narrows.plan.items import Content
from narrows.plan.model import Plan

HALVES = "halves"
ISOLATION = {"landlock_abi": None, "landlock": "off: agents work on real hosts as root"}
NEEDED_FIRST = ("architecture", "rights", "disk")
"""Without these no agent can be put there."""
NOT_ASKED = ("qdiscs",)
"""Checks of the doctor's that depend on the plan, and are made for it."""
LINK_PATIENCE_S = 5.0
"""A link that was just given back comes up when both ends agree: a card takes seconds for that."""


class SshEngine(OneKernel):
    """Three hosts; one run at a time. Connects at once, so that what is wrong shows before anything else."""

    def __init__(self, hosts: Hosts) -> None:
        self._agent, self._agent_id = agent_binary.find()
        self.hosts = hosts
        self._connections = Connections(hosts)
        self._answers = self._ask()
        self._undo()
        kernels = {role: answer.one("kernel") for role, answer in self._answers.items()}
        named = "; ".join(
            f"{host.role} {host.host} {' '.join(host.interfaces)}: {kernels[host.role]}"
            for host in hosts.hosts
        )
        self.info = EngineInfo(
            name="ssh",
            kernel_id=f"hosts {named}",
            agent_id=self._agent_id,
            kernel={"path": None},
            agent={"path": str(self._agent)},
            has_tap=False,
            has_own_links=False,
        )

    def _ask(self) -> dict[str, doctor.Answer]:
        with ThreadPoolExecutor(len(self.hosts.hosts)) as pool:
            said = list(pool.map(lambda h: doctor.ask(self.hosts, h, self._connections), self.hosts.hosts))
        if bad := [one for one in said if isinstance(one, Check)]:
            raise _refusal(bad)
        return {
            host.role: answer
            for host, answer in zip(self.hosts.hosts, said, strict=True)
            if isinstance(answer, doctor.Answer)
        }

    def _undo(self) -> None:
        """A host that an earlier run left in the middle is first put right; then it is asked again."""
        bad = [
            one for host in self.hosts.hosts for one in self._unfit(host) if one.name.endswith(NEEDED_FIRST)
        ]
        if bad:
            raise _refusal(bad)
        with ThreadPoolExecutor(len(self.hosts.hosts)) as pool:
            self._paths = dict(pool.map(self._put_right, self.hosts.hosts))
        end = time.monotonic() + LINK_PATIENCE_S
        self._answers = self._ask()
        while self._is_a_link_down() and time.monotonic() < end:
            time.sleep(LINK_PATIENCE_S / 10)
            self._answers = self._ask()

    def _is_a_link_down(self) -> bool:
        """Whether an interface of the run is down, by itself or because the other end is."""
        return any(
            (name, "down") in self._answers[host.role].all("interface")
            for host in self.hosts.hosts
            for name in host.interfaces
        )

    def _put_right(self, host: Host) -> tuple[str, str]:
        """Its role, and where it has the agent now."""
        path = self._connections.put_agent(host, self._agent, self._agent_id)
        if left := self._connections.undo(host, path, self._sudo(host)):
            raise EngineError(
                f"{host.role} ({host.host}): cannot put back what a run borrowed: {'; '.join(left)}",
                remedy=f"on {host.host}: look at ip netns and ip addr; a reboot forgets it all",
            )
        return host.role, path

    def _unfit(self, host: Host) -> list[Check]:
        checks = doctor.judge(host, self._answers[host.role])
        return [one for one in checks if one.ok is False and not one.name.endswith(NOT_ASKED)]

    def _sudo(self, host: Host) -> tuple[str, ...]:
        return ("sudo", "-n") if self._answers[host.role].one("root") == "sudo" else ()

    def check(self, plans: list[Plan]) -> None:
        """All that the doctor calls bad, and what the plans need of each host."""
        if bad := [one for host in self.hosts.hosts for one in self._unfit(host)]:
            raise _refusal(bad)
        macs: dict[tuple[str, str], str] = {}
        whole = [parts_of(plan, self.hosts, macs) for plan in plans]
        for host in self.hosts.hosts:
            parts = [part for each in whole for part in each if part.role == host.role]
            bad += self._lacks(host, plans, parts)
        if bad:
            raise _refusal(bad)

    def _lacks(self, host: Host, plans: list[Plan], parts: list[Part]) -> list[Check]:
        bad: list[Check] = []

        def lacks(what: str, found: str, remedy: str) -> None:
            bad.append(Check(f"{host.role}: {what}", False, found, f"on {host.host}: {remedy}"))

        programs = self._connections.lacking_programs(host, set().union(*(part.programs for part in parts)))
        if programs:
            names = " ".join(sorted(programs))
            lacks("programs", f"lacks {names}", f"apt-get install {names}")
        kinds = set().union(*(part.kinds for part in parts))
        probes = {probe for plan in plans for probe in plan.needs.qdiscs if probe[0] in kinds}
        for kind, said in self._connections.lacking_qdiscs(host, probes, self._sudo(host)).items():
            lacks("qdiscs", f"no {kind}: {said}", f"modprobe sch_{kind}, or another kernel")
        answer = self._answers[host.role]
        wanted = set().union(*(part.ccas for part in parts))
        default = set() if host.role == "router" else {c for plan in plans for c in plan.needs.default_ccas}
        allowed = set(answer.one("allowed_ccas").split())
        for cca in sorted(default - allowed if allowed else ()):
            lacks(
                "congestion control",
                f"no namespace may use {cca} by default",
                "add it to the sysctl net.ipv4.tcp_allowed_congestion_control, or give the link "
                'sysctls={"all": {"net.ipv4.tcp_congestion_control": "reno"}}',
            )
        for cca in sorted(wanted - set(answer.one("ccas").split())):
            lacks("congestion control", f"no {cca}", f"modprobe tcp_{cca}")
        return bad

    def make(self, content: Content) -> None:
        """Plans with content are refused before."""

    def slots(self, jobs: int | None) -> list[Slot]:
        """One: three hosts carry one run at a time."""
        if jobs is not None and jobs > 1:
            raise EngineError("three hosts carry one run at a time", remedy="--jobs 1, or --engine uml")
        return [Slot(0, None)]

    def _start(self, host: Host, part: Part, halves: Path) -> Agent:
        path = self._paths[host.role]
        directory = halves / host.role
        directory.mkdir(parents=True, exist_ok=True)
        child = subprocess.Popen(
            self._connections.argv(host, shlex.join([*self._sudo(host), path, "remote"])),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is ours to pass on
        )  # fmt: skip
        return Agent(part, host.host, child, directory)

    def run(self, request: RunRequest) -> Carried:
        """One run, in about as long as its virtual time."""
        plan, directory = request.plan, request.directory
        raw = directory / layout.RAW
        raw.mkdir(exist_ok=True)
        halves = directory / HALVES
        began = time.monotonic()
        agents: list[Agent] = []
        fault: RunFault | None = None
        try:
            macs = {
                (role, iface): mac
                for role, answer in self._answers.items()
                for iface, mac in (line for line in answer.all("mac") if len(line) == 2)
            }
            for host, part in zip(self.hosts.hosts, parts_of(plan, self.hosts, macs), strict=True):
                agents.append(self._start(host, part, halves))
            console = directory / layout.CONSOLE
            session = Session(
                agents, plan.calibration, request.limits, request.stop, request.progress, console
            )
            calibration, clocks = session.run()
            assert clocks is not None
            merge(plan, agents, clocks, calibration, raw)
        except SessionError as error:
            fault = error.fault
        except EngineError as error:
            fault = RunFault("host", f"{error.message} → {error.remedy}")
        finally:
            for one in agents:
                if one.child.poll() is None:
                    one.child.kill()
                    one.child.wait()
            shutil.rmtree(halves, ignore_errors=True)
        left = [f"the {one.part.role} ({one.host}): {what}" for one in agents for what in one.restored or ()]
        left += [
            f"the {one.part.role} ({one.host}) has not said that it is as it was"
            for one in agents
            if one.restored is None and one.hello
        ]
        if left:
            also = f" (after: {fault.line()})" if fault else ""
            fault = RunFault("host", f"not put back: {'; '.join(left)}{also}")
        return Carried(fault, time.monotonic() - began, isolation=ISOLATION)


def _refusal(bad: list[Check]) -> EngineError:
    first = bad[0]
    more = f" (and {len(bad) - 1} more: narrows doctor --hosts says them all)" if len(bad) > 1 else ""
    return EngineError(f"{first.name}: {first.found}{more}", remedy=first.remedy)
