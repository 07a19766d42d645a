"""Connections to real hosts by the system's OpenSSH: one a host, over which everything goes.

The person's own configuration, jump hosts and agents work. Nothing is ever asked, and no unknown key is
taken.
"""

import json
import shlex
import shutil
import subprocess
import tempfile
import weakref
from pathlib import Path

from narrows.engine.ssh.hosts import Host, Hosts
from narrows.errors import EngineError

CONNECT_S = 10
ALIVE_S = 5
PERSIST_S = 60
COPY_S = 300
AGENTS = '"${XDG_CACHE_HOME:-$HOME/.cache}/narrows"'
"""Where a host keeps the agent, by its hash."""

# What ssh says, and what mends it; HOST stands for the host.
SAID = (
    (
        "Host key verification failed",
        "its key is not known or has changed: ssh HOST, compare the key, say yes",
    ),
    ("Permission denied", "it asks for a password, or refuses the key: ssh-copy-id HOST, or ssh-add"),
    ("Could not resolve", "no host of that name: see hosts.toml and ssh_config"),
    ("Connection refused", "no sshd listens there: systemctl start ssh"),
    ("ssh: not found", "apt-get install openssh-client"),
    ("timed out", "no answer: is it on, is the address right, does a firewall drop it?"),
)


def remedy_for(host: Host, stderr: str) -> str:
    """What mends what ssh complains of."""
    return next((text for word, text in SAID if word in stderr), "ssh HOST true").replace("HOST", host.host)


def ssh_argv(hosts: Hosts, host: Host, *command: str, control: Path | None = None) -> list[str]:
    """A call of the system's ssh that never asks anything and never takes an unknown key.

    With `control`, calls share one connection.
    """
    config = [] if hosts.ssh_config is None else ["-F", str(hosts.ssh_config)]
    options = [
        "BatchMode=yes",
        "StrictHostKeyChecking=yes",
        f"ConnectTimeout={CONNECT_S}",
        f"ServerAliveInterval={ALIVE_S}",
        "ServerAliveCountMax=3",
    ]
    if control is not None:
        options += [f"ControlPath={control}/%C"]
    return ["ssh", *config, "-T", *(w for o in options for w in ("-o", o)), "--", host.host, *command]


class Connections:
    """One connection to each host, closed with this object."""

    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts
        # A socket's path has at most 108 bytes, and %C has 40 of them.
        self.control = Path(tempfile.mkdtemp(prefix="nrw", dir="/tmp"))
        self._end = weakref.finalize(self, _close, hosts, self.control)

    def open(self, host: Host) -> str | None:
        """Connect; returns what ssh says if it cannot. The connection keeps none of our descriptors open."""
        words = ssh_argv(self.hosts, host, control=self.control)
        own = ["-f", "-N", "-o", "ControlMaster=yes", "-o", f"ControlPersist={PERSIST_S}"]
        log = self.control / f"{host.role}.log"
        with log.open("wb") as file:
            try:
                code = subprocess.run(
                    [words[0], *own, *words[1:]],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file, check=False,
                    timeout=2 * CONNECT_S,
                ).returncode  # fmt: skip
            except subprocess.TimeoutExpired:
                return "timed out"
            except FileNotFoundError:
                return "ssh: not found"
        return log.read_text(errors="replace").strip() or f"ssh ended with status {code}" if code else None

    def argv(self, host: Host, *command: str) -> list[str]:
        """A call over the host's connection."""
        return ssh_argv(self.hosts, host, *command, control=self.control)

    def close(self) -> None:
        self._end()

    def put_agent(self, host: Host, agent: Path, digest: str) -> str:
        """Copy the agent to a host that has not got it, checked by its hash, and give its path there."""
        place = f"{AGENTS}/agent-{digest}"
        known = f'f={place}; [ "$(sha256sum "$f" 2>/dev/null | cut -c1-64)" = {digest} ] && echo "$f"'
        there = self._shell(host, known)
        hashed = f'[ "$(sha256sum "$f.$$" | cut -c1-64)" = {digest} ]'
        if there.returncode == 0:
            return there.stdout.decode().strip()
        copy = (
            f'umask 077; mkdir -p {AGENTS} && f={place} && cat >"$f.$$" && '
            f'{hashed} && chmod 700 "$f.$$" && mv "$f.$$" "$f" && echo "$f"'
        )
        done = self._shell(host, copy, agent.read_bytes())
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            why = said[-1] if said else "its hash is wrong there"
            raise EngineError(
                f"{host.role} ({host.host}): the agent cannot be copied: {why}",
                remedy=f"on {host.host}: df -h ~/.cache",
            )
        return done.stdout.decode().strip()

    def _shell(self, host: Host, script: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                self.argv(host, "sh", "-c", shlex.quote(script)),
                input=data, capture_output=True, check=False, timeout=COPY_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise EngineError(
                f"{host.role} ({host.host}): no answer within {COPY_S} s", remedy=f"ssh {host.host} true"
            ) from None

    def undo(self, host: Host, agent: str, sudo: tuple[str, ...]) -> list[str]:
        """Put back what runs left that were killed with their guardians; returns what could not be."""
        done = self._shell(host, shlex.join([*sudo, agent, "undo"]))
        try:
            return list(json.loads(done.stdout)["restored"])
        except (ValueError, KeyError, TypeError):
            said = done.stderr.decode(errors="replace").strip().splitlines()
            return [said[-1] if said else f"the agent ended with status {done.returncode}"]

    def lacking_programs(self, host: Host, programs: set[str]) -> set[str]:
        """Those of some programs that the host has not got."""
        if not programs:
            return set()
        names = " ".join(shlex.quote(name) for name in sorted(programs))
        script = (
            "PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; "
            f'for p in {names}; do command -v "$p" >/dev/null || echo "$p"; done'
        )
        return set(self._shell(host, script).stdout.decode().split())

    def lacking_qdiscs(
        self, host: Host, probes: set[tuple[str, ...]], sudo: tuple[str, ...]
    ) -> dict[str, str]:
        """Kind → what tc says, of those that the host refuses. Each is tried in a namespace of its own."""
        lacking = {}
        for probe in sorted(probes):
            where = () if probe[0] in ("ingress", "clsact") else ("root",)
            words = [*sudo, "unshare", "--net", "tc", "qdisc", "add", "dev", "lo", *where, *probe]
            done = self._shell(host, f"PATH=$PATH:/usr/sbin:/sbin; {shlex.join(words)}")
            if done.returncode:
                said = done.stderr.decode(errors="replace").strip().splitlines()
                lacking[probe[0]] = said[0] if said else f"exit status {done.returncode}"
        return lacking


def _close(hosts: Hosts, control: Path) -> None:
    for host in hosts.hosts:
        config = [] if hosts.ssh_config is None else ["-F", str(hosts.ssh_config)]
        words = ["ssh", *config, "-o", f"ControlPath={control}/%C", "-O", "exit", "--", host.host]
        subprocess.run(words, capture_output=True, check=False)
    shutil.rmtree(control, ignore_errors=True)
