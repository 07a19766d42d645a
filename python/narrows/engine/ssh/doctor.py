"""Whether real hosts could carry a run: one connection to each, one script there that changes nothing."""

import importlib.resources
import platform
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from narrows.engine.doctor import Check
from narrows.engine.ssh.connection import Connections, remedy_for, ssh_argv
from narrows.engine.ssh.hosts import Host, Hosts

WHOLE_S = 60
FREE_KIB = 256 * 1024
CLOCK_BAD_S, CLOCK_NOTE_S = 60.0, 0.001
PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "sysctl": "procps",
    "unshare": "util-linux",
}
DEFAULT_QDISCS = ("noqueue", "pfifo_fast", "fq_codel", "mq", "fq", "pfifo", "noop")
"""What a host gives an interface by itself; another one was put there by someone."""


@dataclass(frozen=True)
class Answer:
    """What a host said. `clock_s`: its clock less ours, within `clock_within_s`."""

    lines: tuple[tuple[str, ...], ...]
    clock_s: float | None
    clock_within_s: float

    def all(self, key: str) -> list[tuple[str, ...]]:
        """Values of the lines with this key."""
        return [line[1:] for line in self.lines if line[0] == key]

    def one(self, key: str) -> str:
        """The value of the line with this key, empty if there is none."""
        return " ".join(next(iter(self.all(key)), ()))


def checks(hosts: Hosts) -> Iterator[Check]:
    """All checks of all hosts, which are asked at the same time."""
    with ThreadPoolExecutor(len(hosts.hosts)) as pool:
        for host, found in zip(hosts.hosts, pool.map(lambda one: ask(hosts, one), hosts.hosts), strict=True):
            yield from [found] if isinstance(found, Check) else judge(host, found)


def ask(hosts: Hosts, host: Host, over: Connections | None = None) -> Answer | Check:
    """The host's answer, or why there is none. `over`: by the connection that is there."""
    script = importlib.resources.files("narrows.engine.ssh").joinpath("probe.sh").read_text()
    name = f"{host.role}: reached"
    words = ("sh", "-s", "--", *host.interfaces)
    before = time.time()
    if over and (refused := over.open(host)):
        said = refused.splitlines()
        return Check(name, False, f"{host.host}: {said[-1]}", remedy_for(host, refused))
    try:
        done = subprocess.run(
            over.argv(host, *words) if over else ssh_argv(hosts, host, *words),
            input=script, capture_output=True, text=True, errors="replace", check=False, timeout=WHOLE_S,
        )  # fmt: skip
    except FileNotFoundError:
        return Check(name, False, "ssh is not installed here", "apt-get install openssh-client")
    except subprocess.TimeoutExpired:
        return Check(name, False, f"{host.host}: no answer within {WHOLE_S} s", f"ssh {host.host} true")
    lines = tuple(tuple(line.split()) for line in done.stdout.splitlines() if line.strip())
    if done.returncode or ("end",) not in lines:
        said = done.stderr.strip().splitlines()
        last = said[-1] if said else f"ssh ended with status {done.returncode}"
        return Check(name, False, f"{host.host}: {last}", remedy_for(host, done.stderr))
    return _answer(lines, before, time.time())


def _answer(lines: tuple[tuple[str, ...], ...], before: float, after: float) -> Answer:
    answer = Answer(lines, None, (after - before) / 2)
    try:
        there = float(answer.one("now"))
    except ValueError:
        return answer
    return Answer(lines, there - (before + after) / 2, (after - before) / 2)


def judge(host: Host, answer: Answer) -> Iterator[Check]:
    """What a host's answer means for a run."""

    def check(what: str, ok: bool | None, found: str, remedy: str) -> Check:
        return Check(f"{host.role}: {what}", ok, found, None if ok else remedy)

    yield check("reached", True, f"{host.host}, Linux {answer.one('kernel').partition(' ')[0]}", "")
    machine = answer.one("machine")
    remedy = f"the agent is built for {platform.machine()}: use such a host"
    yield check("architecture", machine == platform.machine(), machine, remedy)
    root = answer.one("root")
    found = {"yes": "root", "sudo": "sudo without a password"}.get(
        root, "neither root nor sudo without a password"
    )
    yield check(
        "rights", root in ("yes", "sudo"), found, f"on {host.host}: a line NOPASSWD for the user in visudo"
    )
    lacks = [tool for (tool,) in answer.all("lacks")]
    packages = " ".join(sorted({PACKAGES[tool] for tool in lacks if tool in PACKAGES}))
    yield check(
        "tools", not lacks, f"lacks {', '.join(lacks)}" if lacks else "all there",
        f"on {host.host}: apt-get install {packages}",
    )  # fmt: skip
    free = answer.one("free_kib")
    room = f"{int(free) / 1024:.0f} MiB free in /tmp" if free.isdigit() else "room in /tmp is not known"
    yield check("disk", free.isdigit() and int(free) >= FREE_KIB, room, f"on {host.host}: free some of /tmp")
    yield _clock(host, answer)
    lacking = [f"{kind} ({' '.join(said)})" for kind, *said in answer.all("no_qdisc")]
    if root == "no":
        yield check("qdiscs", False, "not tried: it needs root", f"on {host.host}: see rights")
    else:
        yield check(
            "qdiscs", not lacking, f"lacks {'; '.join(lacking)}" if lacking else "htb, netem, fq_codel",
            f"on {host.host}: modprobe the module sch_…, or a kernel that has it",
        )  # fmt: skip
    for name in host.interfaces:
        yield _interface(host, answer, name)


def _clock(host: Host, answer: Answer) -> Check:
    name, off = f"{host.role}: clock", answer.clock_s
    if off is None:
        return Check(name, None, "not known", "one-way delays between hosts would be left out")
    # What the connection took is all that we know of the way there: the clock may be off by as much.
    clock = f"{off:+.3f} s from this machine's (± {answer.clock_within_s:.3f} s)"
    if abs(off) - answer.clock_within_s > CLOCK_BAD_S:
        return Check(name, False, clock, f"on {host.host}: timedatectl set-ntp true")
    if abs(off) - answer.clock_within_s > CLOCK_NOTE_S:
        return Check(name, None, clock, "one-way delays between hosts mean nothing; timedatectl set-ntp true")
    return Check(name, True, clock)


def _interface(host: Host, answer: Answer, iface: str) -> Check:
    name = f"{host.role}: {iface}"
    states = {found[0]: found[1] for found in answer.all("interface")}
    if iface not in states:
        return Check(name, False, "no such interface", f"ssh {host.host} ip -br link")
    if (iface,) in answer.all("default"):
        return Check(
            name, False, "it has the default route", "name the interface between the hosts in hosts.toml"
        )
    if (iface,) in answer.all("control"):
        remedy = "name another interface, or reach the host by another address: what is shaped may cut ssh"
        return Check(name, False, "this very connection comes by it", remedy)
    if states[iface] == "down":
        return Check(name, False, "it is down", f"on {host.host}: ip link set {iface} up")
    for found, with_ in answer.all("part_of"):
        if found == iface:
            return Check(
                name,
                False,
                f"it is part of {with_}",
                f"on {host.host}: take it out of {with_}, or name another",
            )
    busy = [kind for found, kind in answer.all("qdisc") if found == iface and kind not in DEFAULT_QDISCS]
    if busy:
        return Check(
            name, False, f"busy: someone put the qdisc {busy[0]} there",
            f"on {host.host}: tc qdisc del dev {iface} root",
        )  # fmt: skip
    return Check(name, True, f"{states[iface]}, no qdisc of anyone's")
