"""perf over aioquic's streams: an end sends as much as it is asked for, and counts what comes."""

import json
import time

from aioquic.asyncio import QuicConnectionProtocol
from aioquic.quic.events import ConnectionTerminated, StreamDataReceived

CHUNK = 1 << 20


class End(QuicConnectionProtocol):
    """Keeps a chunk ahead on each stream. A client says `done()` when its stream or the connection ends."""

    def __init__(self, *args, done, ends, **more):
        super().__init__(*args, **more)
        self.done, self.got, self.begun, self.last = done, 0, 0.0, 0.0
        self.heads, self.left = {}, {}
        ends.append(self)

    def ask(self, asks, sends):
        self._quic.send_stream_data(0, asks.to_bytes(8, "big"), end_stream=not sends)
        self.left, self.begun = {0: sends} if sends else {}, time.monotonic()
        self.fill()

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            data, stream, self.last = event.data, event.stream_id, time.monotonic()
            self.begun = self.begun or self.last
            if not self._quic.configuration.is_client:
                head = self.heads.get(stream, b"")
                self.heads[stream], data = head + data[: 8 - len(head)], data[8 - len(head) :]
            self.got += len(data)
            if event.end_stream and stream in self.heads:
                self.left[stream] = int.from_bytes(self.heads[stream], "big")
                self.fill()
            elif event.end_stream:
                self.done()
        elif isinstance(event, ConnectionTerminated):
            self.done()
            used = type(self._quic._loss._cc).__module__.rpartition(".")[2]
            said = {"kind": "end", "cca": used, "received_bytes": self.got}
            print(json.dumps(said | {"seconds": max(0.0, self.last - self.begun)}), flush=True)

    def fill(self):
        for stream, left in list(self.left.items()):
            if len(self._quic._streams[stream].sender._buffer) < CHUNK:
                part = min(CHUNK, left)
                self._quic.send_stream_data(stream, bytes(part), end_stream=part == left)
                self.left[stream] -= part
                if part == left:
                    del self.left[stream]
        self.transmit()

    def datagram_received(self, data, addr):
        super().datagram_received(data, addr)
        if self.left:
            self.fill()
