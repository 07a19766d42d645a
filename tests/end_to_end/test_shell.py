"""`narrows shell`: the topology by hand. What a person would type, typed at a terminal of its own."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

import lab

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

PATIENCE_S = 120
"""Only for a guest that says nothing any more: nothing is said of how long anything takes."""


class Terminal:
    """A terminal with `narrows shell` in it."""

    def __init__(self, *words: str | Path, cwd: Path) -> None:
        ours, theirs = pty.openpty()
        self._fd = ours
        self.said = ""
        self.process = subprocess.Popen(
            [str(lab.NARROWS), *map(str, words)],
            cwd=cwd,
            env=lab.environment(),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def until(self, words: str) -> str:
        """What it says up to these words, from where was read before."""
        deadline, said = time.monotonic() + PATIENCE_S, ""
        while words not in said:
            left = deadline - time.monotonic()
            assert left > 0, f"never said {words!r}:\n{self.said}"
            if not select.select([self._fd], [], [], left)[0]:
                continue
            try:
                got = os.read(self._fd, 65536).decode(errors="replace").replace("\r\n", "\n")
            except OSError:  # nobody holds the other end any more
                got = ""
            assert got, f"ended before it said {words!r}:\n{self.said}"
            said += got
            self.said += got
        return said

    def type(self, line: str) -> None:
        os.write(self._fd, line.encode() + b"\n")

    def end(self) -> int:
        """The exit status."""
        try:
            return self.process.wait(PATIENCE_S)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
            os.close(self._fd)


def test_a_shell_stands_in_the_client_and_reaches_every_node(tmp_path: Path) -> None:
    lab.experiment(tmp_path, lab.SMALL.replace("fq_codel()", 'axis("queue", [fq_codel(), pfifo(limit=77)])'))
    terminal = Terminal("shell", "tiny.py", "--only", "queue=pfifo", cwd=tmp_path)
    assert "topology of queue=pfifo" in terminal.until("exit ends it")
    terminal.until("[client]")
    # Typed words come back as an echo; what is waited for is said by the programs alone.
    terminal.type("ip -4 -br address show eth0; ping -c 2 -i 0.2 10.0.2.1; echo over $((6 * 7))")
    told = terminal.until("over 42")
    assert "10.0.0.1/24" in told
    assert " 0% packet loss" in told
    rtts_ms = [float(line.split("time=")[1].split()[0]) for line in told.splitlines() if "time=" in line]
    assert len(rtts_ms) == 2
    assert min(rtts_ms) >= 20
    terminal.type("node router tc -s qdisc show dev eth0; echo over $((6 * 8))")
    assert "limit 77p" in terminal.until("over 48")
    terminal.type("exit")
    assert terminal.end() == 0
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.py"], "a shell leaves nothing behind"


def test_without_a_terminal_a_shell_says_so(tmp_path: Path) -> None:
    lab.experiment(tmp_path, lab.SMALL)
    called = lab.narrows("shell", "tiny.py", cwd=tmp_path).failed(2)
    assert "a shell needs a terminal" in called.err
    assert "narrows run" in called.err
