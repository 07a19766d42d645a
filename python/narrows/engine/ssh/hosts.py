"""The file that names real hosts: `hosts.toml`, one table a role.

ssh_config = "lab.ssh"       # optional: for ssh -F; else the person's own configuration

[client]
host = "me@10.1.0.1"         # as ssh takes it: an alias of its configuration, or user@address
interfaces = ["eth1"]        # toward the router
[router]
host = "router"
interfaces = ["eth1", "eth2"]  # toward the client, toward the server
[server]
host = "server"
interfaces = ["eth1"]
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrows.errors import UsageError, did_you_mean

INTERFACES = {"client": 1, "router": 2, "server": 1}
"""How many interfaces of each role a run uses."""
KEYS = ("host", "interfaces")
INTERFACE = re.compile(r"[A-Za-z0-9_.@-]{1,15}")


@dataclass(frozen=True)
class Host:
    """One real host in its role."""

    role: str
    host: str
    interfaces: tuple[str, ...]


@dataclass(frozen=True)
class Hosts:
    """All hosts of a file. `ssh_config`: a file for `ssh -F`, None for the person's own."""

    hosts: tuple[Host, ...]
    ssh_config: Path | None


def read(path: Path) -> Hosts:
    """The hosts that a file names. UsageError, with the place, for what is missing, unknown or misspelt."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"the hosts' file cannot be read: {why}", where=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"not TOML: {error}", where=str(path)) from None
    config = data.pop("ssh_config", None)
    if config is not None and not isinstance(config, str):
        raise UsageError("ssh_config is not a path", where=str(path), remedy='ssh_config = "lab.ssh"')
    for role in data:
        if role not in INTERFACES:
            raise UsageError(
                f"no role {role}", where=str(path), remedy=did_you_mean(role, [*INTERFACES, "ssh_config"])
            )
    missing = [role for role in INTERFACES if role not in data]
    if missing:
        raise UsageError(
            f"no table for {', '.join(missing)}", where=str(path),
            remedy=f'[{missing[0]}] with host = "…" and interfaces = […]',
        )  # fmt: skip
    hosts = tuple(_host(role, data[role], f"{path}: [{role}]") for role in INTERFACES)
    return Hosts(hosts, None if config is None else (path.parent / config).absolute())


def _host(role: str, table: Any, where: str) -> Host:
    if not isinstance(table, dict):
        raise UsageError("not a table", where=where, remedy=f'[{role}] with host = "…"')
    for name in table:
        if name not in KEYS:
            raise UsageError(f"no key {name}", where=where, remedy=did_you_mean(name, KEYS))
    host, interfaces = table.get("host"), table.get("interfaces")
    # A word that begins with a dash would be an option of ssh.
    if not isinstance(host, str) or not host or host.startswith("-") or any(c.isspace() for c in host):
        raise UsageError(f"host is {host!r}", where=where, remedy='as ssh takes it: host = "me@10.1.0.1"')
    count = INTERFACES[role]
    if not (
        isinstance(interfaces, list)
        and len(interfaces) == len(set(map(str, interfaces))) == count
        and all(isinstance(one, str) and INTERFACE.fullmatch(one) for one in interfaces)
    ):
        raise UsageError(
            f"interfaces is {interfaces!r}", where=where,
            remedy=f"{count} different names, such as {['eth1', 'eth2'][:count]}",
        )  # fmt: skip
    return Host(role, host, tuple(interfaces))
