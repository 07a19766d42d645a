"""Makes packet logs whose truth is known: TCP downloads as a capture at the server sees them."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

MSS = 1000
SYN, RST, ACK = 2, 4, 16
MS = 1_000_000
ETHERNET = 1


def _tcp(source: int, target: int, seq: int, ack: int, flags: int, options: bytes, window: int) -> bytes:
    header = 20 + len(options)
    fields = (source, target, seq % 2**32, ack % 2**32, header // 4 << 4, flags, window, 0, 0)
    return struct.pack("!HHIIBBHHH", *fields) + options


def _address(text: str) -> bytes:
    return bytes(int(part) for part in text.split("."))


@dataclass
class Download:
    """One connection that `client` opens to `server`, which sends. Times are in nanoseconds."""

    client: str = "10.0.0.1"
    server: str = "10.0.2.1"
    port: int = 40_000
    window: int = 512
    scale: int = 7
    first: int = 0
    """Added to the server's sequence numbers, and as many to the client's."""
    tsval: int | None = None
    """The first timestamp of both ends, which grows by one a packet; None: no timestamps."""
    packets: list[tuple[int, bytes]] = field(default_factory=list)
    sent: int = 0

    def open(self, t_ns: int, rtt_ns: int) -> None:
        """The handshake."""
        options = struct.pack("!BBHBBBBB", 2, 4, MSS, 4, 2, 1, 3, 3) + bytes([self.scale])
        options = options.ljust(12, b"\1")
        self._put(t_ns, False, 99, 0, SYN, options, 65_000)
        self._put(t_ns, True, 999, 100, SYN | ACK, options, 65_000)
        self._put(t_ns + rtt_ns, False, 100, 1000, ACK)

    def burst(self, t_ns: int, segments: int, rtt_ns: int) -> None:
        """The server sends full segments at once, and one ACK comes back for all of them."""
        for _ in range(segments):
            self._put(t_ns, True, 1000 + self.sent, 100, ACK, payload=MSS)
            self.sent += MSS
        self._put(t_ns + rtt_ns, False, 100, 1000 + self.sent, ACK)

    def close(self, t_ns: int) -> None:
        """A reset ends it."""
        self._put(t_ns, True, 1000 + self.sent, 100, RST | ACK)

    def _put(
        self,
        t_ns: int,
        from_server: bool,
        seq: int,
        ack: int,
        flags: int,
        options: bytes = b"",
        window: int | None = None,
        payload: int = 0,
    ) -> None:
        ends = [(self.server, 443), (self.client, self.port)]
        (source, source_port), (target, target_port) = ends if from_server else ends[::-1]
        seq, ack = seq + self.first, ack + self.first
        if self.tsval is not None:
            options += b"\1\1" + struct.pack("!BBII", 8, 10, (self.tsval + len(self.packets)) % 2**32, 0)
        tcp = _tcp(
            source_port, target_port, seq, ack, flags, options, self.window if window is None else window
        )
        identification = (len(self.packets) + 1) % 2**16
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp) + payload, identification, 0x4000, 64, 6, 0)
        frame = bytes(12) + b"\x08\0" + ip + _address(source) + _address(target) + tcp + bytes(payload)
        self.packets.append((t_ns, frame))


def write_pcap(
    file: Path, packets: list[tuple[int, bytes]], snap: int = 96, *, in_order: bool = True
) -> None:
    """A pcap of Ethernet in nanoseconds, in the order of time unless the given one is to stay."""
    out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snap, ETHERNET)]
    for t_ns, frame in sorted(packets, key=lambda packet: packet[0]) if in_order else packets:
        kept = frame[:snap]
        out.append(struct.pack("<IIII", *divmod(t_ns, 10**9), len(kept), len(frame)) + kept)
    file.write_bytes(b"".join(out))
