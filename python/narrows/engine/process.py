"""Carries one child process: reads what it prints, watches its time, and ends it with all its children.

The child runs in a session of its own; ending it means ending its process group. Knows nothing of kernels.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from narrows.engine.types import Limits, Progress, ProgressSink

PROGRESS = "@narrows "
CONSOLE_MAX_BYTES = 8 * 1024 * 1024
TAIL_LINES = 40
POLL_S = 0.25
GRACE_S = 10.0
LONGEST_LOOK_S = 10.0
LINES_ARE_RARE = 5
"""Who says its time in lines alone says it once a second of that time, which may take minutes."""
LAUNCHER = Path(__file__).with_name("launch.py")


@dataclass(frozen=True)
class Job:
    """What to run and what it may do."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: Path
    cpu: int | None
    writable_dirs: tuple[str, ...]
    writable_files: tuple[str, ...]
    stop_signal: signal.Signals = signal.SIGKILL
    """Asked to end by this, also when narrows itself dies. A guest leaves nothing; what works on the host
    must undo what it made, and is killed only after `GRACE_S`.
    """
    clock_at: int | None = None
    """Where in its memory the child keeps 64 bits that change as its time goes on."""
    readable: tuple[str | tuple[str, int, int], ...] | None = None
    """As `landlock.restrict` takes it; None: whatever its user can read."""


@dataclass(frozen=True)
class Ended:
    """How a child ended. `reason`: "exit", "stopped" (asked to), "wall" (too long), "stall" (stood still)."""

    reason: str
    exit_code: int | None
    """Negative: killed by that signal."""
    wall_s: float
    cpu_s: float
    max_rss_bytes: int | None
    last_t_ns: int | None
    tail: tuple[str, ...]
    last_note: str = ""
    """What it last said of itself: while there is traffic, the items that run."""


def launcher_argv(job: Job, *, new_session: bool = True) -> list[str]:
    """Command line of the launcher that becomes the job."""
    text = json.dumps(
        {
            "parent_pid": os.getpid(),
            "argv": job.argv,
            "env": job.env,
            "cpu": job.cpu,
            "writable_dirs": job.writable_dirs,
            "writable_files": job.writable_files,
            "readable": job.readable,
            "new_session": new_session,
            "stop_signal": int(job.stop_signal),
        }
    )
    return [sys.executable, "-I", "-S", str(LAUNCHER), text]


class _Watched:
    """Seconds for which we watched: of the time between two looks no more than `LONGEST_LOOK_S` counts.
    Where a container or a whole machine is paused, the child stands still too.
    """

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._sum_s = 0.0

    def __call__(self) -> float:
        now = time.monotonic()
        self._sum_s += min(now - self._last, LONGEST_LOOK_S)
        self._last = now
        return self._sum_s


class _Output:
    """Takes the child's lines apart: progress to the sink, all else to the console file."""

    def __init__(self, console: Path, sink: ProgressSink) -> None:
        self._file = console.open("wb")
        self._left = CONSOLE_MAX_BYTES
        self._rest = b""
        self._sink = sink
        self.tail: deque[str] = deque(maxlen=TAIL_LINES)
        self.last_t_ns: int | None = None
        self.last_note = ""

    def feed(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > CONSOLE_MAX_BYTES:  # no line is that long; keep memory bounded
            lines, self._rest = [*lines, self._rest], b""
        for line in lines:
            self._line(line)

    def close(self) -> None:
        if self._rest:
            self._line(self._rest)
        self._file.close()

    def _line(self, line: bytes) -> None:
        text = line.decode(errors="replace").rstrip("\r")
        if text.startswith(PROGRESS) and self._progress(text[len(PROGRESS) :]):
            return
        self.tail.append(text)
        if self._left > 0:
            self._left -= len(line) + 1
            self._file.write(line + b"\n")
            self._file.flush()

    def _progress(self, text: str) -> bool:
        try:
            value = json.loads(text)
            progress = Progress(int(value["t_ns"]), str(value["phase"]), str(value.get("note", "")))
        except (ValueError, KeyError, TypeError):
            return False
        if self.last_t_ns is None or progress.t_ns > self.last_t_ns:
            self.last_t_ns = progress.t_ns
        self.last_note = progress.note
        self._sink(progress)
        return True


def carry(job: Job, console: Path, limits: Limits, stop: threading.Event, sink: ProgressSink) -> Ended:
    """Run the job to its end. Blocks; to end it early, set `stop`."""
    started = time.monotonic()
    clock = _Watched()
    output = _Output(console, sink)
    child = subprocess.Popen(
        launcher_argv(job),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=job.cwd,
        env={},
    )
    assert child.stdout is not None
    os.set_blocking(child.stdout.fileno(), False)
    reason, status, usage = "exit", None, None
    asked_at: float | None = None
    max_rss_bytes = 0
    standstill = _Standstill(job, child.pid, clock)
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        is_open = True
        while True:
            max_rss_bytes = max(max_rss_bytes, _high_water_bytes(child.pid))
            if is_open and selector.select(POLL_S):
                is_open = _drain(child.stdout.fileno(), output)
                if not is_open:
                    selector.unregister(child.stdout)
            # Blocking is right once the pipe is closed: then the child is at its end.
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            now = clock()
            if asked_at is None:
                if stop.is_set():
                    reason = "stopped"
                elif now > limits.wall_s:
                    reason = "wall"
                elif standstill.seconds(output.last_t_ns) > limits.stall_s:
                    reason = "stall"
                if reason != "exit":
                    asked_at = now
                    _signal_group(child.pid, job.stop_signal)
            elif now - asked_at > GRACE_S:
                _signal_group(child.pid, signal.SIGKILL)
                asked_at = now
            if not is_open:
                time.sleep(0.01)
    # The child has been reaped (its number may be another's by now), but its group may still have members.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    if is_open:
        _drain(child.stdout.fileno(), output)
    child.stdout.close()
    output.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    return Ended(
        reason=reason,
        exit_code=child.returncode,
        wall_s=time.monotonic() - started,
        cpu_s=usage.ru_utime + usage.ru_stime,
        max_rss_bytes=max_rss_bytes or None,
        last_t_ns=output.last_t_ns,
        tail=tuple(output.tail),
        last_note=output.last_note,
    )


class _Standstill:
    """For how long the child's own time has stood still, but for what it waited for a processor.

    A guest that gets a thirtieth of a busy machine is slow, not hung. Its own time is read in its memory; a
    line that says it is as good.
    """

    def __init__(self, job: Job, pid: int, clock: _Watched) -> None:
        self._at, self._pid, self._clock = job.clock_at, pid, clock
        self._seen: tuple[int | None, int | None] = (None, None)
        self._now, self._waited = clock(), _waited_for_processor_s(pid)
        self._still_s = 0.0

    def seconds(self, said_ns: int | None) -> float:
        """Seconds since it moved; `said_ns`: what it last said of its time."""
        seen = _read_word(self._pid, self._at), said_ns
        now, waited = self._clock(), _waited_for_processor_s(self._pid)
        # A program that ended takes with it what it had waited.
        self._still_s += now - self._now - max(0.0, waited - self._waited)
        self._now, self._waited = now, waited
        if seen != self._seen:
            self._seen, self._still_s = seen, 0.0
        return self._still_s if seen[0] is not None else self._still_s / LINES_ARE_RARE


def _read_word(pid: int, address: int | None) -> int | None:
    """64 bits of a process' memory, None where the host does not give them."""
    if address is None:
        return None
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            return int.from_bytes(os.pread(memory.fileno(), 8, address), sys.byteorder)
    except OSError:
        return None


def _waited_for_processor_s(pid: int) -> float:
    """How long the process and its children have been ready to run while others did; 0 where the host does
    not say. A guest's programs are children of its kernel."""
    total = 0.0
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        children = []
    for one in (str(pid), *children):
        with contextlib.suppress(OSError, IndexError, ValueError):
            total += int(Path(f"/proc/{one}/schedstat").read_text().split()[1]) / 1e9
    return total


def _high_water_bytes(pid: int) -> int:
    """Most memory the process had resident so far; 0 where that cannot be read (any more).

    Not wait4's ru_maxrss: that keeps what the process was before exec, a copy of this Python.
    """
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def _drain(fd: int, output: _Output) -> bool:
    """Read what is there; False at the end of the file."""
    while True:
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return True
        if not data:
            return False
        output.feed(data)


def _signal_group(pid: int, number: signal.Signals) -> None:
    """Signal the child and all of its group; before it made its group, the child alone."""
    for send in (os.killpg, os.kill):
        try:
            send(pid, number)
            return
        except (ProcessLookupError, PermissionError):
            continue
