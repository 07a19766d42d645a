"""Three sshd in network namespaces stand for three hosts, with keys made for the test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from narrows.engine.ssh import doctor
from narrows.engine.ssh.hosts import INTERFACES

GOOD = """ssh_config = "ssh_config"
[client]
host = "client"
interfaces = ["data0"]
[router]
host = "router"
interfaces = ["data0", "data1"]
[server]
host = "server"
interfaces = ["data0"]
"""


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@dataclass(frozen=True)
class Lab:
    """A namespace to call from, and one for each host."""

    prefix: str
    directory: Path

    def inside(self, name: str, *words: str) -> str:
        return run("ip", "netns", "exec", f"{self.prefix}{name}", *words)

    def state(self) -> list[str]:
        """All that a host has of links, addresses, routes, qdiscs, sysctls and offloads."""
        words = (
            ("ip", "addr"), ("ip", "route", "show", "table", "all"), ("tc", "qdisc"),
            ("sysctl", "-a", "-r", "^net.ipv4.(conf|tcp|ip)"),
            *([("ethtool", "-k", "data0")] if shutil.which("ethtool") else []),
        )  # fmt: skip
        told = "".join(self.inside(role, *each) for role in INTERFACES for each in words)
        return told.splitlines()

    def doctor(self, hosts: str = GOOD) -> dict[str, doctor.Check]:
        file = self.directory / "hosts.toml"
        file.write_text(hosts)
        told = subprocess.run(
            ["ip", "netns", "exec", f"{self.prefix}lab", sys.executable, "-m", "narrows.cli.main", "doctor",
             "--hosts", str(file), "--json"],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert told.returncode in (0, 1), told.stderr
        found = [doctor.Check(**json.loads(line)) for line in told.stdout.splitlines()]
        return {one.name: one for one in found}


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    if os.geteuid() != 0:
        pytest.skip("needs root on this host: makes network namespaces")
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    assert sshd, "apt-get install openssh-server"
    directory = tmp_path_factory.mktemp("lab")
    made = Lab(f"three{os.getpid()}-", directory)
    Path("/run/sshd").mkdir(exist_ok=True)
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / "key"))
    servers: list[subprocess.Popen[bytes]] = []
    known, config = "", f"UserKnownHostsFile {directory}/known\nIdentityFile {directory}/key\nUser root\n"
    config += "IdentitiesOnly yes\nGlobalKnownHostsFile none\n"
    names = ("lab", *INTERFACES)
    try:
        for name in names:
            run("ip", "netns", "add", f"{made.prefix}{name}")
            # IPv6 takes seconds to settle its addresses, and a state that settles is not equal to itself.
            made.inside(name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
            made.inside(name, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
            made.inside(name, "ip", "link", "set", "lo", "up")
        for number, role in enumerate(INTERFACES):
            address = f"10.9.{number}.2"
            made.inside(
                "lab", "ip", "link", "add", f"to{number}", "type", "veth", "peer", "name", "mgmt", "netns",
                f"{made.prefix}{role}",
            )  # fmt: skip
            made.inside("lab", "ip", "addr", "add", f"10.9.{number}.1/24", "dev", f"to{number}")
            made.inside("lab", "ip", "link", "set", f"to{number}", "up")
            made.inside(role, "ip", "addr", "add", f"{address}/24", "dev", "mgmt")
            made.inside(role, "ip", "link", "set", "mgmt", "up")
            key = directory / f"host_{role}"
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
            known += f"{address} {key.with_suffix('.pub').read_text()}"
            config += f"Host {role}\n  HostName {address}\n"
            server = directory / f"sshd_{role}"
            server.write_text(
                f"HostKey {key}\nListenAddress {address}\nAuthorizedKeysFile {directory}/key.pub\nUsePAM no\n"
                f"StrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nPidFile none\n"
            )
            servers.append(
                subprocess.Popen(
                    ["ip", "netns", "exec", f"{made.prefix}{role}", sshd, "-D", "-e", "-f", str(server)],
                    stderr=(directory / f"sshd_{role}.log").open("wb"),
                )
            )
        for one, other, there in (("client", "router", "data0"), ("server", "router", "data1")):
            made.inside(
                one, "ip", "link", "add", "data0", "type", "veth", "peer", "name", there, "netns",
                f"{made.prefix}{other}",
            )  # fmt: skip
            made.inside(one, "ip", "link", "set", "data0", "up")
            made.inside(other, "ip", "link", "set", there, "up")
        (directory / "known").write_text(known)
        (directory / "ssh_config").write_text(
            "\n".join(line for line in config.splitlines() if line.strip()) + "\n"
        )
        for role in INTERFACES:
            while b"Server listening" not in (directory / f"sshd_{role}.log").read_bytes():
                assert all(server.poll() is None for server in servers), "an sshd has ended"
        # The kernel tells a link's state up to a second late.
        while any("NO-CARRIER" in made.inside(name, "ip", "link") for name in names) or any(
            " DOWN " in made.inside(name, "ip", "-br", "link") for name in names
        ):
            time.sleep(0.05)
        yield made
    finally:
        for server_process in servers:
            server_process.terminate()
            server_process.wait()
        for name in names:
            subprocess.run(["ip", "netns", "del", f"{made.prefix}{name}"], check=False)
