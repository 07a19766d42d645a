"""`narrows paths --live` on this host's loopback: packets become tables, and an interrupt ends it well."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import lab
from narrows.paths import tables
from narrows.paths.live import read_live
from narrows.paths.read import Settings

pytestmark = [pytest.mark.root, pytest.mark.needs("tcpdump")]
BYTES = 400_000


@contextmanager
def a_server() -> Iterator[int]:
    """Sends so many bytes to the first who connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with server.accept()[0] as connection:
                connection.sendall(bytes(BYTES))

        threading.Thread(target=serve, daemon=True).start()
        yield int(server.getsockname()[1])


def fetch(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as client:
        while client.recv(65_536):
            pass


def test_a_connection_on_the_loopback_is_in_the_tables(tmp_path: Path) -> None:
    def begin(_: str) -> None:
        # tcpdump needs a moment until it sees packets.
        threading.Timer(1.5, fetch, [port]).start()

    with a_server() as port:
        outcome, dropped = read_live("lo", tmp_path, Settings(min_duration_ns=0), duration_s=4, started=begin)
    assert outcome.error is None
    assert dropped == 0
    rows = tables.load(tmp_path, "connections").filter(server_port=port).to_dicts()
    assert [row["payload_bytes"] for row in rows] == [BYTES]
    assert rows[0]["log"].startswith("lo ")
    assert rows[0]["log"] == outcome.name


def test_an_interrupt_writes_the_tables_and_ends_well_also_from_the_background(tmp_path: Path) -> None:
    # A loopback of its own: on the machine's, others may talk.
    alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    words = [*alone, str(lab.NARROWS), "paths", "--live", "lo", "--out", "out"]
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # As a shell starts what ends in &.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    ) as process:
        try:
            assert process.stderr is not None
            assert "capturing until Ctrl-C" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, said
    assert "0 of TCP" in said
    assert len(list((tmp_path / "out" / "logs").glob("lo_*.json"))) == 1
