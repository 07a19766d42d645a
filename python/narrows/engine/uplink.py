"""What this host does for a live service: it forwards what comes from the lab, and masquerades it.

Everything is undone when the run ends; what a killed run left is undone by the next one. No interface is made
here: the plan's set-up makes it. It would go with its namespace, but some time after the run has ended.
"""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from narrows.errors import EngineError
from narrows.plan.model import Uplink
from narrows.plan.uplink import HOST_IFACE

TABLE = ("ip", "narrows_uplink")
FORWARD = Path("/proc/sys/net/ipv4/ip_forward")
LEFT = Path("/run/narrows-uplink.json")
"""What the host was like before; there only while a run goes on, or after one that was killed."""


@contextlib.contextmanager
def opened(uplink: Uplink | None, path: str) -> Iterator[None]:
    """The way out for the time of a run; nothing where the plan asks for none. An EngineError where this host
    cannot."""
    if uplink is None:
        yield
        return
    undo(path)
    LEFT.write_text(json.dumps({"ip_forward": FORWARD.read_text().strip()}))
    try:
        chain = ("{", "type", "nat", "hook", "postrouting", "priority", "100", ";", "}")
        _nft(path, "add", "table", *TABLE)
        _nft(path, "add", "chain", *TABLE, "out", *chain)
        _nft(path, "add", "rule", *TABLE, "out", "ip", "saddr", uplink.address, "masquerade")
        FORWARD.write_text("1")
        yield
    finally:
        undo(path)


def undo(path: str) -> None:
    """Gives the host back as it was; does nothing where no run left anything."""
    if not LEFT.exists():
        return
    for words in (("nft", "delete", "table", *TABLE), ("ip", "link", "delete", HOST_IFACE)):
        subprocess.run(words, env={"PATH": path}, capture_output=True, check=False)
    with contextlib.suppress(OSError, ValueError, KeyError):
        FORWARD.write_text(json.loads(LEFT.read_text())["ip_forward"])
    LEFT.unlink(missing_ok=True)


def _nft(path: str, *words: str) -> None:
    done = subprocess.run(("nft", *words), env={"PATH": path}, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[0]
        raise EngineError(
            f"nft {' '.join(words)}: {said}",
            remedy="live services need a host that can masquerade (nf_tables, nf_nat), and nftables",
        )
