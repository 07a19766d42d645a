"""What the line does: its rate each way against a server, and the round trip meanwhile.

The load is TCP by iperf3, or UDP by narrows' own UDP capacity. Only TCP can tell whether the queue has moved
on the way down: UDP fills the ISP's queue whatever stands behind it.
"""

import json
import os
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from narrows.engine import agent_binary
from narrows.errors import EngineError, StoreError
from narrows.headers import ETHERNET_MTU, TCP_IPV4_HEADERS_BYTES
from narrows.line.tune import system

PORTS = {"udp": 24601, "iperf3": 5201}
FLOWS = 4
UDP_PACKET_BYTES = 1250
"""At the IP layer; the header with timestamps."""
PING_EVERY_S = 0.05
LOOK_EVERY_S = 0.1
LOST_S = 2.0
WAYS = {"down": "download", "up": "upload"}


@dataclass
class Echoes:
    """ICMP echo of a while: round trips in ms; what is not answered in time is lost."""

    rtt_ms: list[float] = field(default_factory=list)
    lost: int = 0


@dataclass
class Loaded:
    """One way under load."""

    rate_bps: float
    echoes: Echoes
    queued: dict[str, float] = field(default_factory=dict)
    """Share of the looks at which something waited in the qdisc of an interface."""


@dataclass
class Measured:
    """One look at the line."""

    idle: Echoes
    down: Loaded
    up: Loaded


@dataclass(frozen=True)
class Server:
    """What measures, and where."""

    tool: str
    """iperf3 or udp"""
    address: str
    port: int

    @property
    def packet_bytes(self) -> int:
        """Bytes of IP of a packet of the load."""
        return ETHERNET_MTU if self.tool == "iperf3" else UDP_PACKET_BYTES

    @property
    def remedy(self) -> str:
        """What has to run there."""
        if self.tool == "iperf3":
            return f"on the server: iperf3 -s -p {self.port}"
        return f"on the server: narrows-agent udp-capacity server --listen 0.0.0.0:{self.port}"

    def words(self, way: str, seconds: int) -> list[str]:
        """The client of one way."""
        if self.tool == "iperf3":
            flags = ["-R"] if way == "down" else []
            length = ["-t", str(seconds), "-O", "1", "-P", str(FLOWS)]
            return ["iperf3", "-J", "-c", self.address, "-p", str(self.port), *length, *flags]
        agent, _ = agent_binary.find()
        at = f"{self.address}:{self.port}"
        tests = ["--tests", WAYS[way], "--duration-s", str(seconds)]
        return [str(agent), "udp-capacity", "client", "--server", at, *tests]

    def rate_bps(self, text: str) -> float:
        """What the client's output says, at the IP layer. KeyError, StoreError: it says nothing."""
        if self.tool == "iperf3":
            payload = float(json.loads(text)["end"]["sum_received"]["bits_per_second"])
            return payload * ETHERNET_MTU / (ETHERNET_MTU - TCP_IPV4_HEADERS_BYTES)
        # Slow to import, and not needed with iperf3.
        from narrows.tools.udp_capacity.parse import parse

        figures = {f.name: f.value for f in parse(text, epoch_ns=0, where=self.address).metrics}
        return float(figures["udp_capacity_bps"])


def server(text: str) -> Server:
    """What `--server` names: iperf3://HOST[:PORT], or HOST[:PORT] of UDP capacity."""
    tool, rest = ("iperf3", text.removeprefix("iperf3://")) if text.startswith("iperf3://") else ("udp", text)
    host, _, port = rest.rpartition(":") if ":" in rest else (rest, "", str(PORTS[tool]))
    if not port.isdecimal() or not 0 < int(port) < 65536 or not host:
        raise EngineError(
            f"--server {text}: not HOST, HOST:PORT or iperf3://HOST", remedy="such as iperf3://192.0.2.7"
        )
    if tool == "iperf3" and shutil.which("iperf3") is None:
        raise EngineError("iperf3 is not installed", remedy="apt-get install iperf3")
    try:
        address = socket.getaddrinfo(host, int(port), socket.AF_INET, socket.SOCK_DGRAM)[0][4][0]
    except OSError as error:
        raise EngineError(
            f"--server {text}: {error.strerror}", remedy="an address, or a name that resolves"
        ) from None
    return Server(tool, str(address), int(port))


def measure(at: Server, seconds: int, looked_at: tuple[str, ...] = ()) -> Measured:
    """Alone, then each way under load."""
    idle = _echoes_while(at.address, lambda: time.sleep(2))
    if not idle.rtt_ms:
        raise EngineError(
            f"{at.address} answers no ICMP echo", remedy="a server that does: the check needs round trips"
        )
    return Measured(idle, _loaded(at, "down", seconds, looked_at), _loaded(at, "up", seconds, looked_at))


def _loaded(at: Server, way: str, seconds: int, looked_at: tuple[str, ...]) -> Loaded:
    words = at.words(way, seconds)
    busy = dict.fromkeys(looked_at, 0)
    looks = 0

    def load() -> str:
        nonlocal looks
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
            try:
                while client.poll() is None:
                    looks += 1
                    for name in looked_at:
                        busy[name] += system.backlogs(name) > 0
                    time.sleep(LOOK_EVERY_S)
                out, said = client.communicate()
            except BaseException:
                client.kill()
                raise
            if client.returncode:
                raise EngineError(
                    f"{at.address} measured nothing ({WAYS[way]}): {_why(out, said)}", remedy=at.remedy
                )
            return out

    outputs: list[str] = []
    echoes = _echoes_while(at.address, lambda: outputs.append(load()))
    try:
        rate = at.rate_bps(outputs[0])
    except (StoreError, KeyError, ValueError):
        raise EngineError(f"{at.address} measured no {WAYS[way]}", remedy=at.remedy) from None
    return Loaded(rate, echoes, {name: count / looks for name, count in busy.items()} if looks else {})


def _why(out: str, said: str) -> str:
    """The last words of a client that failed."""
    try:
        return str(json.loads(out)["error"])
    except (ValueError, KeyError, TypeError):
        return said.strip().splitlines()[-1] if said.strip() else "no answer"


def _echoes_while(address: str, work: Callable[[], object]) -> Echoes:
    """ICMP echo beside some work."""
    echoes, stop = Echoes(), threading.Event()
    thread = threading.Thread(target=_ping, args=(address, echoes, stop), daemon=True)
    thread.start()
    try:
        work()
    finally:
        stop.set()
        thread.join()
    return echoes


def _ping(address: str, echoes: Echoes, stop: threading.Event) -> None:
    ident = os.getpid() & 0xFFFF
    sent: dict[int, float] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as icmp:
        icmp.connect((address, 0))
        number, next_at = 0, time.monotonic()
        while not stop.is_set() or (sent and time.monotonic() < next_at + LOST_S):
            now = time.monotonic()
            if now >= next_at and not stop.is_set():
                number = (number + 1) & 0xFFFF
                sent[number] = now
                icmp.send(_echo(ident, number))
                next_at += PING_EVERY_S
            icmp.settimeout(max(0.001, min(next_at - now, PING_EVERY_S)))
            try:
                packet = icmp.recv(256)
            except TimeoutError:
                continue
            except OSError:
                break
            header = (packet[0] & 0xF) * 4
            kind, _, _, its, seq = struct.unpack_from("!BBHHH", packet, header)
            if kind == 0 and its == ident and seq in sent:
                echoes.rtt_ms.append((time.monotonic() - sent.pop(seq)) * 1e3)
    echoes.lost += len(sent)


def _echo(ident: int, number: int) -> bytes:
    body = struct.pack("!BBHHH", 8, 0, 0, ident, number) + bytes(48)
    words = sum(struct.unpack(f"!{len(body) // 2}H", body))
    words = (words & 0xFFFF) + (words >> 16)
    check = ~(words + (words >> 16)) & 0xFFFF
    return struct.pack("!BBHHH", 8, 0, check, ident, number) + bytes(48)
