"""`narrows identify` against a server that is not there, is another, or refuses: one clear line each."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import lab
from narrows.engine import agent_binary


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def server(*options: str) -> Iterator[str]:
    """A server on this host; its address."""
    at = f"127.0.0.1:{free_port()}"
    agent, _ = agent_binary.find()
    words = [str(agent), "identify-server", "--listen", at, *options]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(500):
                with socket.socket() as look:
                    if look.connect_ex(("127.0.0.1", int(at.rpartition(":")[2]))) == 0:
                        break
                time.sleep(0.02)
            yield at
        finally:
            process.kill()


@contextmanager
def odd_server(answer: bytes) -> Iterator[str]:
    """Accepts, and says something else, or nothing."""
    listening = socket.create_server(("127.0.0.1", 0))
    kept: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            kept.append(connection)
            if answer:
                connection.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.close()
        for each in kept:
            each.close()


def refused(*words: str) -> str:
    """What is said on stderr, which has one error and no traceback."""
    done = subprocess.run(
        [str(lab.NARROWS), "identify", *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode in (1, 2), done
    assert done.stderr.count("error:") == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_nobody_listens() -> None:
    assert "nothing listens there" in refused(f"127.0.0.1:{free_port()}")


def test_a_server_of_something_else_is_named_as_such() -> None:
    with odd_server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as at:
        assert "no narrows identify" in refused(at)


def test_a_server_that_answers_nothing_is_given_up() -> None:
    with odd_server(b"") as at:
        assert "no answer within 6 s" in refused(at)


def test_a_wrong_token_and_a_missing_one_are_told_apart() -> None:
    with server("--token", "right") as at:
        assert "the token is wrong" in refused(at, "--token", "wrong")
        assert "wants a token" in refused(at)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("nosuch.invalid",), "nosuch.invalid"),
        (("127.0.0.1:99999",), "no port 99999"),
        (("127.0.0.1", "--ways", "sideways"), "sideways"),
        (("127.0.0.1", "--most", "5"), "no unit"),
        (("127.0.0.1", "--most", "10 kbit/s"), "at least 1 Mbit/s"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sent(words: tuple[str, ...], part: str) -> None:
    assert part in refused(*words)


def test_a_directory_without_such_runs_and_a_file_that_is_no_report_are_refused(tmp_path: Path) -> None:
    assert "no run with identify()" in refused(str(tmp_path))
    (tmp_path / "x.json").write_text("{}")
    assert "not a report" in refused(str(tmp_path / "x.json"))


def test_a_report_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("mine")
    assert "holds a report already" in refused("127.0.0.1", "--out", str(tmp_path))
    assert (tmp_path / "report.json").read_text() == "mine"


def test_ctrl_c_ends_the_probes_and_leaves_nothing(tmp_path: Path) -> None:
    with server() as at:
        words = [str(lab.NARROWS), "identify", at, "--most", "5 Mbit/s", "--out", str(tmp_path / "out")]
        environment = os.environ | {"TMPDIR": str(tmp_path)}
        with subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
            start_new_session=True,
        ) as process:  # fmt: skip
            assert process.stderr is not None
            for line in process.stderr:
                if "ramp" in line:
                    break
            os.killpg(process.pid, signal.SIGINT)
            rest = process.stderr.read()
            assert process.wait(20) == 130, rest
        assert "Traceback" not in rest
        assert list(tmp_path.iterdir()) == []
