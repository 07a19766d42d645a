"""One run on real hosts: an agent on each, spoken to over its connection, brought to one beginning and one
end.

Agents never speak to each other: what one says of an item is passed on to the others. Each counts time
from an instant of its own clock; how well those instants agree is known only within half a round trip of
its connection, unless all hosts are one machine (then they are the same instant). Nothing here reads what
was measured.
"""

import contextlib
import json
import queue
import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from narrows.engine.ssh.parts import Part
from narrows.engine.types import Limits, Progress, ProgressSink, RunFault
from narrows.plan.model import Calibration

PROGRESS = b"@narrows "
BEAT_S = 1.0
PINGS = 15
TRAINS = 4
BEFORE_EPOCH_NS = 500_000_000
GRACE_S = 45.0
"""In which an agent that was asked to end, or has ended, gives its host back."""
SILENT_S = 120.0
POLL_S = 0.25


class SessionError(Exception):
    """The run cannot go on, with why."""

    def __init__(self, fault: RunFault) -> None:
        super().__init__(fault.line())
        self.fault = fault


@dataclass
class Agent:
    """One host's agent and what it has said so far."""

    part: Part
    host: str
    child: subprocess.Popen[bytes]
    directory: Path
    """Where its files go."""
    hello: dict[str, Any] = field(default_factory=dict)
    offset_ns: int = 0
    """Its monotonic clock less ours."""
    within_ns: int = 0
    unwritable: str | None = None
    """Why a file of its could not be kept here."""
    restored: list[str] | None = None
    closed: bool = False
    ended: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, message: dict[str, Any]) -> None:
        """Send a line; a host that is gone shows when it is listened to."""
        assert self.child.stdin is not None
        with self.lock, contextlib.suppress(OSError, ValueError):
            self.child.stdin.write(json.dumps(message).encode() + b"\n")
            self.child.stdin.flush()


Message = tuple[Agent, dict[str, Any]]


@dataclass(frozen=True)
class Clocks:
    """What is known of the hosts' clocks. `are_one`: all hosts are one machine."""

    are_one: bool
    offsets_ns: dict[str, int]
    within_ns: dict[str, int]


class Session:
    """The agents of one run."""

    def __init__(
        self,
        agents: list[Agent],
        calibration: Calibration,
        limits: Limits,
        stop: threading.Event,
        progress: ProgressSink,
        console: Path,
    ) -> None:
        self.agents, self.calibration = agents, calibration
        self._limits, self._stop, self._progress = limits, stop, progress
        self._inbox: queue.Queue[Message] = queue.Queue()
        self._kept: list[Message] = []
        self._began = self._heard = time.monotonic()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._read, args=(one, console), daemon=True) for one in agents
        ]
        self._threads += [threading.Thread(target=self._beat, daemon=True)]

    # ---- the whole of a run --------------------------------------------------------------------------------

    def run(self) -> tuple[dict[str, Any], Clocks | None]:
        """Carry it out; returns what calibration found, and the clocks. SessionError if it cannot go on."""
        for thread in self._threads:
            thread.start()
        found: dict[str, Any] = {}
        clocks = None
        try:
            self._all("hello", lambda one, said: one.hello.update(said["hello"]))
            for one in self.agents:
                one.tell(one.part.begin)
            self._all("set_up")
            clocks = self._agree_on_clocks()
            found = self._calibrate()
            self._say({"calibrated": True})
            self._all("ready")
            begin_ns = time.monotonic_ns() + BEFORE_EPOCH_NS
            for one in self.agents:
                one.tell({"epoch_mono_ns": begin_ns + one.offset_ns})
            self._all("ended", self._one_has_ended)
            self._say({"all_ended": True})
            self._all("finished")
        except SessionError as error:
            self._say({"stop": error.fault.message})
            raise
        finally:
            self._close()
        return found, clocks

    def _one_has_ended(self, one: Agent, said: dict[str, Any]) -> None:
        one.ended = True
        if said["ended"] is not None:
            for other in self.agents:
                if not other.ended:
                    other.tell({"stop": f"the {one.part.role} failed"})

    def _close(self) -> None:
        """Wait until every host is as it was; one that does not end is cut off, and its guardian does it."""
        deadline = time.monotonic() + GRACE_S
        while time.monotonic() < deadline and not all(one.closed for one in self.agents):
            time.sleep(0.02)
        self._over.set()
        for one in self.agents:
            if one.child.poll() is None:
                with contextlib.suppress(OSError), one.lock:
                    assert one.child.stdin is not None
                    one.child.stdin.close()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    one.child.wait(1)
                one.child.kill()
            one.child.wait()

    # ---- listening --------------------------------------------------------------------------------

    def _read(self, one: Agent, console: Path) -> None:
        out = one.child.stdout
        assert out is not None
        try:
            for line in out:
                if line.startswith(PROGRESS):
                    self._moved(one, line[len(PROGRESS) :])
                elif line.startswith(b"{"):
                    self._message(one, json.loads(line), out)
                elif line.strip():
                    with console.open("ab") as file:
                        file.write(f"{one.part.role}: ".encode() + line)
        except (ValueError, OSError, EOFError, KeyError):
            pass  # a line that was cut off: the end of the connection says it
        one.closed = True
        self._inbox.put((one, {"closed": True}))

    def _message(self, one: Agent, message: dict[str, Any], out: IO[bytes]) -> None:
        self._heard = time.monotonic()
        if "file" in message:
            name, left = Path(message["file"]).name, int(message["bytes"])
            try:
                with (one.directory / name).open("wb") as file:
                    while left > 0:
                        data = out.read(min(left, 1 << 20))
                        if not data:
                            raise EOFError
                        file.write(data)
                        left -= len(data)
            except OSError as error:  # this disk's, not the connection's
                one.unwritable = f"{error.strerror}: {one.directory / name}"
                raise
        elif "restored" in message:
            one.restored = list(message["restored"])
        elif "item" in message:
            for other in self.agents:
                if other is not one:
                    other.tell(message)
        elif "pong" in message:
            self._inbox.put((one, message | {"at_ns": time.monotonic_ns()}))
        else:
            self._inbox.put((one, message))

    def _moved(self, one: Agent, text: bytes) -> None:
        self._heard = time.monotonic()
        said = json.loads(text)
        if one.part.role == "client":
            self._progress(Progress(int(said["t_ns"]), str(said["phase"]), str(said.get("note", ""))))

    def _beat(self) -> None:
        while not self._over.wait(BEAT_S):
            self._say({"beat": True})

    def _say(self, message: dict[str, Any]) -> None:
        for one in self.agents:
            one.tell(message)

    def _next(self, wanted: Callable[[Agent, dict[str, Any]], bool]) -> Message:
        """The next message that is wanted; others are kept. SessionError once the run cannot go on."""
        while True:
            for position, (one, message) in enumerate(self._kept):
                if wanted(one, message):
                    return self._kept.pop(position)
            if self._stop.is_set():
                raise SessionError(RunFault("stopped", "interrupted"))
            now = time.monotonic()
            if now - self._began > self._limits.wall_s:
                raise SessionError(RunFault("watchdog", f"took longer than {self._limits.wall_s:.0f} s"))
            if now - self._heard > SILENT_S:
                raise SessionError(RunFault("watchdog", f"no host said anything for {SILENT_S:.0f} s"))
            try:
                one, message = self._inbox.get(timeout=POLL_S)
            except queue.Empty:
                continue
            error = message.get("failed") or (message.get("finished") if not one.ended else None)
            if error:
                raise SessionError(_fault(one, error))
            if "closed" in message:
                if wanted(one, message):
                    return one, message
                if not one.ended:
                    raise SessionError(self._gone(one))
                continue
            self._kept.append((one, message))

    def _gone(self, one: Agent) -> RunFault:
        if one.unwritable is not None:
            return RunFault(
                "host", f"what the {one.part.role} measured cannot be kept here: {one.unwritable}"
            )
        said = (
            one.child.stderr.read().decode(errors="replace").strip().splitlines() if one.child.stderr else []
        )
        why = said[-1] if said else "the connection ended, or the agent was killed"
        return RunFault("host", f"the {one.part.role} ({one.host}) is gone: {why}")

    def _all(self, key: str, each: Callable[[Agent, dict[str, Any]], None] | None = None) -> None:
        """Wait for a message with this key from every agent."""
        waiting = {id(one) for one in self.agents}
        while waiting:
            one, message = self._next(lambda one, said: id(one) in waiting and key in said)
            waiting.discard(id(one))
            if each is not None:
                each(one, message)

    def _of(self, one: Agent, key: str) -> dict[str, Any]:
        return self._next(lambda who, said: who is one and key in said)[1]

    # ---- before traffic ------------------------------------------------------------------------------------

    def _agree_on_clocks(self) -> Clocks:
        """Each clock against ours, by the quickest of some questions (NTP's way)."""
        for one in self.agents:
            best: tuple[int, int] | None = None
            for number in range(PINGS):
                asked_ns = time.monotonic_ns()
                one.tell({"ping": number})
                said = self._next(lambda who, m, n=number, o=one: who is o and m.get("pong") == n)[1]  # type: ignore[misc]
                took_ns = said["at_ns"] - asked_ns
                if best is None or took_ns < best[0]:
                    best = (took_ns, said["mono_ns"] - (asked_ns + took_ns // 2))
            assert best is not None
            one.within_ns, one.offset_ns = best[0] // 2, best[1]
        boots = {one.hello.get("boot_id") for one in self.agents}
        are_one = len(boots) == 1 and None not in boots and "" not in boots
        if are_one:
            middle = int(statistics.median(one.offset_ns for one in self.agents))
            for one in self.agents:
                one.offset_ns = middle
        return Clocks(
            are_one,
            {one.part.role: one.offset_ns for one in self.agents},
            {one.part.role: one.within_ns for one in self.agents},
        )

    def _calibrate(self) -> dict[str, Any]:
        """What the idle rig shows, as `calibration` of result.json."""
        plan = self.calibration
        client = self._with(plan.client)
        client.tell({"measure": "rtt"})
        found = dict(self._of(client, "measured")["measured"])
        found |= {"one_way_down_ns": None, "one_way_up_ns": None, "rate_down_bps": None, "rate_up_bps": None}
        problems = []
        if not found["rtt_samples"]:
            problems.append(f"no echo from {plan.server_address} came back")
        for what in ("min", "median"):
            value = found[f"rtt_{what}_ns"]
            if value is not None and abs(value - plan.rtt_ns) > plan.rtt_tolerance_ns:
                problems.append(
                    f"{what} RTT of the idle path is {value / 1e6:.3f} ms, the plan says "
                    f"{plan.rtt_ns / 1e6:.3f} ± {plan.rtt_tolerance_ns / 1e6:.3f} ms"
                )
        for direction, expected in (("down", plan.rate_down_bps), ("up", plan.rate_up_bps)):
            if expected is None or problems:
                continue
            rate = self._best_rate(direction, expected * (1 - plan.rate_tolerance))
            found[f"rate_{direction}_bps"] = rate
            if rate is None:
                problems.append(f"rate {direction}: too few packets of the train arrived")
                continue
            share = rate / expected - 1
            if share > plan.rate_tolerance or (-share > plan.rate_tolerance and not plan.rate_is_upper_bound):
                problems.append(
                    f"IP-layer rate {direction} is {rate / 1e6:.3f} Mbit/s, the plan says "
                    f"{expected / 1e6:.3f} Mbit/s ± {100 * plan.rate_tolerance:g} %"
                )
        if problems:
            raise SessionError(
                RunFault("calibration", f"the rig is not what the plan says: {'; '.join(problems)}")
            )
        return {**found, "ok": True, "problems": []}

    def _with(self, node: str) -> Agent:
        return next(one for one in self.agents if node in one.part.nodes)

    def _best_rate(self, direction: str, enough: float) -> float | None:
        """The highest of a few trains: a host that is busy for a moment only ever makes one slower."""
        best: float | None = None
        for _ in range(TRAINS):
            rate = self._rate(direction)
            best = rate if best is None or (rate is not None and rate > best) else best
            if best is not None and best >= enough:
                break
        return best

    def _rate(self, direction: str) -> float | None:
        ends = (self.calibration.server, self.calibration.client)
        sender, receiver = (self._with(node) for node in (ends if direction == "down" else ends[::-1]))
        receiver.tell({"measure": "receive", "direction": direction})
        self._of(receiver, "listening")
        sender.tell({"measure": "send", "direction": direction})
        self._of(sender, "measured")
        rate = self._of(receiver, "measured")["measured"]["bps"]
        return None if rate is None else float(rate)


def _fault(one: Agent, said: dict[str, Any]) -> RunFault:
    where = {name: said.get(name) for name in ("node", "item", "command", "stderr", "exit_code")}
    message = f"the {one.part.role} ({one.host}): {said.get('message')}"
    return RunFault(str(said.get("stage") or "agent"), message, **where)
