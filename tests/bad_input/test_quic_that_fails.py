"""A QUIC stack that does not do what it should is told in one line, and other runs are whole."""

from __future__ import annotations

from pathlib import Path

import pytest

import lab

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

LINK = 'link = Link(rate="10 Mbit/s", base_rtt="10 ms", queue=fq_codel())\ntap("off")\n'
AGENT_SERVER = "@agent quic-server --listen @at"
AGENT_CLIENT = "@agent quic-client --server @at"
WRITES = "while :; do cat /dev/zero || sleep 1; done >@own/huge.qlog 2>/dev/null"
CASES = {
    "a program that is missing": (
        'server="no-such-srv @at", client="true"',
        ("not installed: no-such-srv (for mine-server)", "PATH"),
    ),
    "a stack whose package is missing": (
        'server=["sh", "-c", "exec true"], client="no-such-cli @at"',
        ("not installed: no-such-cli (for mine)",),
    ),
    "never listens": (
        'server="sleep 100", client="true"',
        ("has no socket bound to 10.0.2.1:4433", "no UDP socket"),
    ),
    "ignores its address": (
        f'server="@agent quic-server --listen 10.0.2.1:4444", client="{AGENT_CLIENT}"',
        ("has no socket bound to 10.0.2.1:4433", "bound are the UDP ports 4444"),
    ),
    "a server that ends at once": (
        f'server=["sh", "-c", "echo no such switch >&2; exit 2"], client="{AGENT_CLIENT}"',
        ("mine-server", "exited with 2 before it was ready", "no such switch"),
    ),
    "a client that speaks another ALPN": (
        f'server="@agent h3-server --listen @at --places /=/usr/share/", client="{AGENT_CLIENT}"',
        ("mine", "exited with 1", "peer doesn't support any known protocol"),
    ),
    "a server that crashes in mid-transfer": (
        f'server=["sh", "-c", "(sleep 1; kill -ABRT $$) & exec {AGENT_SERVER}"], client="{AGENT_CLIENT}"',
        ("mine-server", "exited with 134"),
    ),
    "a client that breaks off": (
        f'server="{AGENT_SERVER}", '
        f'client=["sh", "-c", "timeout 1 {AGENT_CLIENT}; echo half way >&2; exit 0"]',
        ("mine", "exited with 0, but is to run until it is stopped", "half way"),
    ),
    "another congestion control than it says": (
        f'server="{AGENT_SERVER} --cca reno", client="{AGENT_CLIENT}", cca="bbr"',
        ("mine-server is to use bbr, and says that it used reno",),
    ),
    "a library that is not there": (
        f'server=["sh", "-c", "LD_PRELOAD= exec /bin/sh -c \\"libours.so\\""], client="{AGENT_CLIENT}"',
        ("mine-server", "exited with 127 before it was ready", "libours.so"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_bad_stack_is_told_and_leaves_the_others_whole(tmp_path: Path, case: str) -> None:
    bad, told = CASES[case]
    lab.experiment(
        tmp_path,
        LINK + 'what = axis("what", {"good": quic("quinn", duration="2 s", id="mine"), '
        f'"bad": quic({bad}, duration="2 s", id="mine")}})\n',
    )
    called = lab.narrows("run", "tiny.py", "--out", "out", cwd=tmp_path).failed(1)
    (good,) = lab.run_dirs(tmp_path / "out")
    (failed,) = lab.failed_dirs(tmp_path / "out")
    assert lab.manifest(good)["key"]["what"] == "good"
    line = lab.message(failed)
    for word in told:
        assert word in line
    assert "Traceback" not in called.text


def test_a_log_without_end_is_bounded_and_the_transfer_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some kilobytes stand for half a gigabyte, by the same words."""
    from narrows.tools.quic import lower

    monkeypatch.setattr(lower, "MOST_FILE_BYTES", 512 * 200)
    (tmp_path / "out").mkdir()
    plan = lab.plan(
        tmp_path,
        LINK
        + f'mine = quic(server=["sh", "-c", "({WRITES}) & exec {AGENT_SERVER}"], client="{AGENT_CLIENT}", '
        'duration="1 s")\n',
    )
    raw = lab.carry(plan, tmp_path / "carried").ok()
    assert (raw.raw / "mine-server" / "huge.qlog").stat().st_size == 512 * 200


def test_a_program_that_is_missing_is_named_before_anything_starts(tmp_path: Path) -> None:
    lab.experiment(tmp_path, LINK + 'mine = quic(server="no-such-srv @at", client="true", duration="1 s")\n')
    called = lab.narrows("run", "tiny.py", "--out", "out", cwd=tmp_path).failed(1)
    assert "no-such-srv (for mine-server)" in called.err
