"""Runs `ip`, `tc` and their like on this host, and reads what they say. Decides nothing."""

import json
import shutil
import subprocess
from typing import Any

from narrows.errors import EngineError

PACKAGES = {"tc": "iproute2", "ip": "iproute2", "ethtool": "ethtool", "unshare": "util-linux"}


def call(*words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a program."""
    if shutil.which(words[0]) is None:
        package = PACKAGES.get(words[0], words[0])
        raise EngineError(f"{words[0]} is not installed", remedy=f"apt-get install {package}")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr.strip()


def do(words: tuple[str, ...]) -> None:
    """Run what must succeed."""
    code, _, said = call(*words)
    if code:
        raise EngineError(f"{' '.join(words)}: {said.splitlines()[-1] if said else f'exit {code}'}")


def qdiscs(iface: str) -> str:
    """`tc qdisc show` of an interface, without counters; empty where there is no such interface."""
    code, text, _ = call("tc", "qdisc", "show", "dev", iface)
    return text if code == 0 else ""


def links() -> tuple[str, ...]:
    """The names of all interfaces."""
    return tuple(each["ifname"].partition("@")[0] for each in _json("ip", "-j", "link", "show"))


def default_route_links() -> tuple[str, ...]:
    """The interfaces of the default routes."""
    found = [
        *_json("ip", "-j", "route", "show", "default"),
        *_json("ip", "-6", "-j", "route", "show", "default"),
    ]
    return tuple(dict.fromkeys(each["dev"] for each in found if "dev" in each))


def backlogs(iface: str) -> int:
    """Packets in the root qdisc of an interface."""
    rows = _json("tc", "-s", "-j", "qdisc", "show", "dev", iface)
    return sum(int(row.get("qlen", 0)) for row in rows if row.get("root"))


def kernel_can(*words: str) -> str | None:
    """Try a command in a namespace that is gone afterwards; None: it worked, else what was said."""
    code, _, said = call("unshare", "-n", *words)
    return None if code == 0 else said or f"exit {code}"


def _json(*words: str) -> list[dict[str, Any]]:
    code, text, _ = call(*words)
    if code or not text.strip():
        return []
    found: list[dict[str, Any]] = json.loads(text)
    return found
