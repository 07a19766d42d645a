"""Runs the agent's identify client on this host, without root, and hands back what it wrote."""

import ipaddress
import re
import socket
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from narrows.engine import agent_binary
from narrows.errors import NarrowsError, UsageError

PORT = 24603
START = "start one there: narrows-agent identify-server --listen 0.0.0.0:24603 --token WORD"
STOP_S = 5.0
COST = {"whole": 30.0, "quick": 8.0}
"""Seconds of the link's rate that one way costs at most: the phases' lengths times their excess, the fill
made three times and the gentle phase twice, as other traffic may make necessary."""


class ProbeError(NarrowsError):
    """The server or the path refused; the message is one line."""


def address(server: str) -> str:
    """`HOST`, `HOST:PORT` or `[IPv6]:PORT` as the agent wants it: an address and a port."""
    match = re.fullmatch(r"(?:\[([^\]]+)\]|([^:\[\]]+))(?::(\d+))?", server)
    bare = match[1] or match[2] if match else server
    port = int(match[3]) if match and match[3] else PORT
    if match is None:
        try:
            ipaddress.ip_address(server)
        except ValueError:
            raise UsageError(f"{server!r} is no server", remedy="HOST, HOST:PORT, or [IPv6]:PORT") from None
    if not 0 < port < 65536:
        raise UsageError(f"{server}: no port {port}", remedy="a port from 1 to 65535")
    try:
        found = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ProbeError(f"{bare}: {reason}", remedy="is the name right, and is there a network?") from None
    ip = found[0][4][0]
    return f"[{ip}]:{port}" if ":" in str(ip) else f"{ip}:{port}"


def cost_text(mode: str, ways: int) -> str:
    """What it costs, said before anything is sent."""
    seconds = COST[mode] * ways
    return (
        f"costs at most {seconds:.0f} s of the link's rate: {seconds * 10 / 8:.0f} MB for each 10 Mbit/s"
        f" ({'both ways' if ways == 2 else 'one way'}), mostly less than half of it"
    )


def run(
    server: str, mode: str, ways: list[str], token: str | None, most_mbit: int, tell: Callable[[str], None]
) -> str:
    """The client's report. Ctrl-C ends it and leaves nothing behind."""
    agent, _ = agent_binary.find()
    with tempfile.TemporaryDirectory(prefix="narrows-identify-") as folder:
        out = Path(folder) / "report.json"
        words = [str(agent), "identify-client", "--server", address(server), "--mode", mode]
        words += ["--ways", ",".join(ways), "--most-mbit", str(most_mbit), "--out", str(out)]
        words += [] if token is None else ["--token", token]
        with subprocess.Popen(words, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
            last = ""
            try:
                assert process.stderr is not None
                for line in process.stderr:
                    last = line.strip()
                    if not last.startswith("identify-client:"):
                        tell(last)
                process.wait()
            except BaseException:
                process.terminate()
                try:
                    process.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                raise
        if process.returncode:
            message = last.removeprefix("identify-client: ") or f"the client ended with {process.returncode}"
            raise ProbeError(message, remedy=_remedy(message))
        return out.read_text()


def _remedy(message: str) -> str | None:
    if "nothing listens" in message or "no connection within" in message or "no route" in message.lower():
        return START
    if "token" in message:
        return "ask whoever runs the server"
    if "no narrows identify" in message:
        return f"another service has that port; {START}"
    return None
