"""One end of a call with aiortc, until SIGINT: what it says is what narrows' own client says.

The callee listens for the caller's offer (a line of JSON over TCP) and answers on the same connection.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from collections import deque
from fractions import Fraction

import aiortc.codecs.h264
import aiortc.codecs.vpx
import numpy as np
from aiortc import (
    MediaStreamTrack,
    RTCConfiguration,
    RTCPeerConnection,
    RTCRtpReceiver,
    RTCRtpSender,
    RTCSessionDescription,
)  # fmt: skip
from av import AudioFrame
from picture import Camera, luma, number_of, ssim

FRAMES_PER_S, CLOCK = 30, 90_000
TONE_HZ, SAMPLES_PER_S, PIECE = 440, 48_000, 960


def now_ms() -> float:
    """Of the wall clock."""
    return time.time_ns() / 1e6


def say(kind: str, **what: object) -> None:
    """A line."""
    print(json.dumps({"kind": kind, "at_ms": now_ms(), **what}), flush=True)


class Paced(MediaStreamTrack):
    """What comes a piece at a time."""

    def __init__(self, per_s: float) -> None:
        super().__init__()
        self.per_s, self.count, self.begun = per_s, -1, 0.0

    async def wait(self) -> int:
        """The number of the next piece, when it is due."""
        self.count += 1
        if not self.count:
            self.begun = time.monotonic()
        await asyncio.sleep(max(0.0, self.begun + self.count / self.per_s - time.monotonic()))
        return self.count


class Picture(Paced):
    """The camera."""

    kind = "video"

    def __init__(self, camera: Camera, pause: tuple[float, float] | None) -> None:
        super().__init__(FRAMES_PER_S)
        self.camera, self.pause, self.taken = camera, pause, []

    async def recv(self):
        """The next frame; none during a pause."""
        number = await self.wait()
        while self.pause and self.pause[0] <= time.monotonic() - self.begun < self.pause[1]:
            number = await self.wait()
        self.taken.append([number % self.camera.frames, now_ms()])
        frame = self.camera.frame(number)
        frame.pts, frame.time_base = number * CLOCK // FRAMES_PER_S, Fraction(1, CLOCK)
        return frame


class Tone(Paced):
    """A tone, so that there is something to hear."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__(SAMPLES_PER_S / PIECE)

    async def recv(self):
        """The next 20 ms."""
        number = await self.wait()
        at = (number * PIECE + np.arange(PIECE)) / SAMPLES_PER_S
        wave = (8000 * np.sin(2 * np.pi * TONE_HZ * at)).astype(np.int16)
        frame = AudioFrame.from_ndarray(wave.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = (
            SAMPLES_PER_S,
            number * PIECE,
            Fraction(1, SAMPLES_PER_S),
        )
        return frame


class Shown:
    """What came out of the decoder, and when: aiortc has no screen."""

    def __init__(self, camera: Camera, sample_ms: float) -> None:
        self.camera, self.sample_ms, self.sampled = camera, sample_ms, -1e18
        self.frames, self.height, self.decoded = [], None, 0
        self.freezes, self.frozen_s, self.last = 0, 0.0, None
        self.gaps: deque[float] = deque(maxlen=30)

    def add(self, frame) -> None:
        """Freezes as W3C webrtc-stats counts them: at least max(3 d, d + 150 ms) of the last 30 intervals."""
        at = now_ms()
        if self.last is not None:
            gap = at - self.last
            self.gaps.append(gap)
            usual = sum(self.gaps) // len(self.gaps)
            if len(self.gaps) >= 5 and gap >= max(3 * usual, usual + 150):
                self.freezes += 1
                self.frozen_s += gap / 1e3
        self.last, self.height, self.decoded = at, frame.height, self.decoded + 1
        picture = luma(frame)
        number = number_of(picture)
        self.frames.append([number, at, frame.height])
        if self.sample_ms and number is not None and at >= self.sampled + self.sample_ms:
            self.sampled = at
            if picture.shape == (self.camera.height, self.camera.width):
                say(
                    "quality",
                    number=number,
                    height=frame.height,
                    ssim=ssim(self.camera.luma(number), picture),
                )


class Counts:
    """What aiortc does not count itself."""

    def __init__(self) -> None:
        self.bytes = self.packets = self.nacks = self.plis = self.again = 0

    def of_receiver(self, receiver: RTCRtpReceiver) -> None:
        """Hear what it gets and asks for."""
        heard, nack, pli = receiver._handle_rtp_packet, receiver._send_rtcp_nack, receiver._send_rtcp_pli

        async def on_packet(packet, arrival_time_ms):
            self.packets += 1
            self.bytes += len(packet.payload) + 12
            await heard(packet, arrival_time_ms)

        async def on_nack(*args):
            self.nacks += 1
            await nack(*args)

        async def on_pli(*args):
            self.plis += 1
            await pli(*args)

        receiver._handle_rtp_packet, receiver._send_rtcp_nack, receiver._send_rtcp_pli = (
            on_packet,
            on_nack,
            on_pli,
        )

    def of_sender(self, sender: RTCRtpSender) -> None:
        """Count what it sends again."""
        send = sender._retransmit

        async def on_retransmit(*args):
            self.again += 1
            await send(*args)

        sender._retransmit = on_retransmit


class End:
    """The end."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked, self.camera = asked, Camera(asked.camera)
        self.peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.shown = Shown(self.camera, asked.sample)
        self.got, self.gave, self.before = Counts(), Counts(), (0.0, 0, 0)
        self.picture = self.sender = self.receiver = None
        self.tasks: list[asyncio.Task[None]] = []
        self.peer.on("track", self.on_track)
        self.peer.on("connectionstatechange", lambda: say("connection", state=self.peer.connectionState))
        self.peer.on("iceconnectionstatechange", lambda: say("ice", state=self.peer.iceConnectionState))

    def on_track(self, track: MediaStreamTrack) -> None:
        """Take what it brings."""
        self.tasks.append(asyncio.ensure_future(self.take(track)))

    async def take(self, track: MediaStreamTrack) -> None:
        """All of its frames."""
        try:
            while True:
                frame = await track.recv()
                if track.kind == "video":
                    self.shown.add(frame)
        except aiortc.mediastreams.MediaStreamError:
            return

    def begin(self) -> None:
        """Tracks, or none."""
        if self.asked.sends:
            pause = None if self.asked.pause == "-" else tuple(map(float, self.asked.pause.split("-")))
            self.picture = Picture(self.camera, pause)
            self.sender = self.peer.addTrack(self.picture)
            self.gave.of_sender(self.sender)
            if self.asked.audio:
                self.peer.addTrack(Tone())
        elif self.asked.role == "caller":
            for kind in ("video", "audio") if self.asked.audio else ("video",):
                self.peer.addTransceiver(kind, direction="recvonly")
        wanted = f"video/{self.asked.codec}"
        for each in self.peer.getTransceivers():
            if each.kind == "video":
                self.receiver = each.receiver
                self.got.of_receiver(self.receiver)
                known = RTCRtpSender.getCapabilities("video").codecs
                each.setCodecPreferences([one for one in known if one.mimeType in (wanted, "video/rtx")])

    def mine(self) -> bytes:
        """The description, for the other end."""
        here = self.peer.localDescription
        return json.dumps({"type": here.type, "sdp": here.sdp}).encode() + b"\n"

    async def call(self) -> None:
        """Offer, and hear the answer."""
        self.begin()
        await self.peer.setLocalDescription(await self.peer.createOffer())
        host, _, port = self.asked.at.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=2**20)
        writer.write(self.mine())
        await self.peer.setRemoteDescription(RTCSessionDescription(**json.loads(await reader.readline())))

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hear the offer, and answer; a connection that says nothing was a look whether anybody listens."""
        line = await reader.readline()
        if not line:
            return
        await self.peer.setRemoteDescription(RTCSessionDescription(**json.loads(line)))
        self.begin()
        await self.peer.setLocalDescription(await self.peer.createAnswer())
        writer.write(self.mine())

    async def state(self) -> dict[str, object]:
        """What is known now."""
        said: dict[str, object] = {"received": None, "sent": None, "heard": None, "rtt_ms": None}
        at, decoded = now_ms(), self.shown.decoded
        for stats in (await self.peer.getStats()).values():
            if stats.type == "inbound-rtp" and stats.kind == "video" and self.got.packets:
                took_s = (at - self.before[0]) / 1e3
                rate = (decoded - self.before[1]) / took_s if self.before[0] and took_s > 0 else None
                said["received"] = {
                    "codec": self.asked.codec, "height": self.shown.height, "frame_rate": rate,
                    "bytes": self.got.bytes, "packets": self.got.packets, "lost": stats.packetsLost,
                    "nacks": self.got.nacks, "plis": self.got.plis, "decoded": decoded,
                    "freezes": self.shown.freezes, "frozen_s": self.shown.frozen_s,
                }  # fmt: skip
            if stats.type == "outbound-rtp" and stats.kind == "video":
                encoder = getattr(self.sender, "_RTCRtpSender__encoder", None)
                said["sent"] = {
                    "codec": self.asked.codec, "height": self.camera.height, "bytes": stats.bytesSent,
                    "packets": stats.packetsSent, "again": self.gave.again,
                    "target_bps": None if encoder is None else encoder.target_bitrate,
                }  # fmt: skip
            if stats.type == "remote-inbound-rtp" and stats.kind == "video":
                said["rtt_ms"] = None if stats.roundTripTime is None else 1e3 * stats.roundTripTime
        self.before = (at, decoded, 0)
        return said

    async def report(self) -> None:
        """Once a second."""
        while True:
            await asyncio.sleep(1)
            say("state", **await self.state())
            taken = self.picture.taken if self.picture else []
            say("frames", shown=self.shown.frames, taken=list(taken))
            self.shown.frames = []
            taken.clear()


async def main() -> None:
    """Until SIGINT."""
    parser = argparse.ArgumentParser()
    for name in ("at", "role", "camera", "codec", "pause"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("height", "most", "audio", "sends", "sample"):
        parser.add_argument(f"--{name}", type=int, required=True)
    asked = parser.parse_args()
    for codec in (aiortc.codecs.vpx, aiortc.codecs.h264):
        # It begins with its default, and goes no lower than its minimum.
        codec.MAX_BITRATE = asked.most
        codec.MIN_BITRATE, codec.DEFAULT_BITRATE = (
            min(asked.most, bps) for bps in (codec.MIN_BITRATE, codec.DEFAULT_BITRATE)
        )
    done = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, done.set)
    end = End(asked)
    say("camera", height=asked.height)
    if asked.role == "callee":
        host, _, port = asked.at.rpartition(":")
        await asyncio.start_server(end.answer, host, int(port), limit=2**20)
    else:
        await end.call()
    reporting = asyncio.ensure_future(end.report())
    await asyncio.wait([reporting, asyncio.ensure_future(done.wait())], return_when=asyncio.FIRST_COMPLETED)
    if reporting.done() and (fault := reporting.exception()):
        print(f"{type(fault).__name__}: {fault}", file=sys.stderr, flush=True)
        os._exit(1)
    say("end", state=await end.state(), browser="aiortc 1.16.0")
    # Closing waits for goodbyes; the other end is told to end too.
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
