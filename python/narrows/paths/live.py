"""Packets of an interface of this host, captured by tcpdump and read as they come.

Nothing is kept of the packets but what the tables say. It ends after a time, or when it is interrupted; then
the tables are written.
"""

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from narrows.errors import EngineError
from narrows.paths.read import STDIN, Outcome, Settings, core, outcome_of

SNAP_BYTES = 128
"""Ethernet, tags, IPv6 and TCP with all of its options."""
PROGRAM = "tcpdump"
INSTALL = "apt-get install tcpdump"
ALLOWED = "as root, or: setcap cap_net_raw+ep $(which tcpdump)"
PATIENCE_S = 10.0
_DROPPED = re.compile(r"^(\d+) packets? dropped by kernel", re.MULTILINE)
_CHATTER = re.compile(
    r"^(tcpdump: listening on |tcpdump: data link type |\d+ packets? |dropped privs )", re.MULTILINE
)


def read_live(
    interface: str,
    out: Path,
    settings: Settings,
    *,
    duration_s: float | None = None,
    started: Callable[[str], None] = lambda _: None,
) -> tuple[Outcome, int | None]:
    """Read until `duration_s` is over, or an interrupt. The outcome, and how many packets the kernel dropped
    before tcpdump had them (None: it did not say).

    Raises EngineError where the interface cannot be captured.
    """
    program = shutil.which(PROGRAM) or shutil.which(PROGRAM, path="/usr/sbin:/usr/bin:/sbin")
    if program is None:
        raise EngineError("a live capture needs tcpdump, which is not here", remedy=INSTALL)
    name = f"{interface} {time.strftime('%Y-%m-%dT%H:%M:%S%z')}"
    words = [program, "-i", interface, "-s", str(SNAP_BYTES), "-U", "-n", "-w", "-", "tcp"]
    # Both in sessions of their own: an interrupt of the terminal is ours to hand on.
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as capture:
        try:
            with subprocess.Popen(
                [*core(), "read", STDIN, "--out", str(out), "--name", name, *settings.arguments()],
                stdin=capture.stdout,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            ) as reader:
                try:
                    assert capture.stdout is not None
                    capture.stdout.close()  # the reader's alone: it sees the end
                    said = _until_the_end(capture, duration_s, lambda: started(name))
                    reading, _ = reader.communicate()
                finally:
                    reader.kill()
        finally:
            capture.kill()
    complaint = _complaint(said)
    if capture.returncode not in (0, -signal.SIGINT) and complaint:
        remedy = ALLOWED if "ermi" in complaint else "ip link lists the interfaces"
        raise EngineError(f"{interface} cannot be captured: {complaint}", remedy=remedy)
    lines = reading.splitlines()
    if not lines:
        raise EngineError("narrows-paths ended without a word", remedy="this is a defect; please report it")
    dropped = _DROPPED.search(said)
    return outcome_of(lines[-1]), None if dropped is None else int(dropped[1])


def _until_the_end(
    capture: subprocess.Popen[str], duration_s: float | None, started: Callable[[], None]
) -> str:
    """What tcpdump says, once it has ended by itself, by the time or by an interrupt."""
    assert capture.stderr is not None
    said = ""
    with _interruptible(), suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
        # Only then has it a file that it ends well, and who is told may interrupt at once.
        while "listening on" not in said and (line := capture.stderr.readline()):
            said += line
        started()
        capture.wait(duration_s)
    if capture.poll() is None:
        capture.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        capture.wait(PATIENCE_S)
    if capture.poll() is None:
        capture.kill()
    return said + capture.stderr.read()


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGINT and SIGTERM are a KeyboardInterrupt, also where a shell started us in the background and had the
    first ignored."""
    before = {which: signal.getsignal(which) for which in (signal.SIGINT, signal.SIGTERM)}
    for which in before:
        signal.signal(which, signal.default_int_handler)
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)


def _complaint(said: str) -> str:
    """The first line that is no chatter, without the program's name."""
    lines = [line for line in said.splitlines() if line.strip() and not _CHATTER.match(line)]
    return lines[0].removeprefix("tcpdump: ").strip() if lines else ""
