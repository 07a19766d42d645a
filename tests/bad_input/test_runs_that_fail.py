"""A run that fails says why in one line, with its id; the other runs of the sweep are whole, and the next
call makes only what is missing.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import lab

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

LINK = 'link = Link(rate="10 Mbit/s", base_rtt="10 ms", queue=fq_codel())\n'
BASE = LINK + 'flow = bulk(duration="500 ms")\ntap("off")\n'
HOG = "head -c 2000000000 /dev/zero | tail"


def sweep(bad: str, more: str = "") -> str:
    """Two runs: one with nothing special, one with what is bad."""
    return BASE + more + f'what = axis("what", {{"good": command("true"), "bad": {bad}}})\n'


CASES = {
    "a tool that exits with 3": (
        'command(["sh", "-c", "echo it went wrong >&2; exit 3"])',
        ("what", "exited with 3", "it went wrong"),
    ),
    "a tool that dies of a signal": ('command(["sh", "-c", "kill -SEGV $$"])', ("what", "exited with 139")),
    "a server that is never ready": (
        'command("sleep 100", background=True, ready="@client:9", stop="50 s")',
        ("what", "was not ready", "flow", "never started"),
    ),
    "a server that ends at once": (
        'command("true", background=True, ready="@client:9")',
        ("what", "exited with 0 before it was ready"),
    ),
    "a program that does not end": ('command("sleep 1000", time_limit="1 s")', ("limit", "what")),
    "a program that prints no iperf3 report": (
        'command(["sh", "-c", "echo Segmentation fault"], tool="iperf3")',
        ("what", "iperf3"),
    ),
    "a program that prints half an iperf3 report": (
        """command(["echo", '{"start": {'], tool="iperf3")""",
        ("what", "iperf3"),
    ),
    "a program that prints no ndt7 report": (
        'command(["sh", "-c", "echo hello; head -c 1000 /dev/urandom"], tool="ndt7")',
        ("what.stdout:1", "hello"),
    ),
    "an iperf3 that finds no server": (
        'command("iperf3 -c @server -p 9 -t 1", tool="iperf3")',
        ("what", "exited with 1"),
    ),
    "a guest that powers off": (
        'command(["python3", "-c", "import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)"])',
        ("without a result",),
    ),
    "a guest whose memory is used up": (
        f'command(["sh", "-c", "{HOG}"])',
        ("memory: the guest's 128 MiB of memory were too little, and ", 'machine(memory="256 MiB")'),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_bad_run_is_told_and_leaves_the_others_whole(tmp_path: Path, case: str) -> None:
    bad, told = CASES[case]
    lab.experiment(tmp_path, sweep(bad, 'machine(memory="128 MiB")\n'))
    called = lab.narrows("run", "tiny.py", "--out", "out", cwd=tmp_path).failed(1)
    (good,) = lab.run_dirs(tmp_path / "out")
    (failed,) = lab.failed_dirs(tmp_path / "out")
    assert lab.manifest(good)["key"]["what"] == "good"
    assert lab.manifest(failed)["key"]["what"] == "bad"
    line = lab.message(failed)
    for word in told:
        assert word in line
    (shown,) = [each for each in called.out.splitlines() if failed.name in each and each.startswith("[")]
    assert line[:60] in shown, called.out
    assert f"narrows show {failed.name}" in called.out, "the remedy"
    detail = lab.narrows("show", failed.name, "--dir", "out", cwd=tmp_path)
    assert line[:60] in detail.text
    assert "Traceback" not in detail.text


def test_the_next_call_tries_only_what_failed(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    # Of the host: a guest sees it through another mount than its own /tmp.
    look = (
        f"mkdir /tmp/host; mount -r -t hostfs -o {tmp_path} none /tmp/host && test -e /tmp/host/{flag.name}"
    )
    lab.experiment(tmp_path, sweep(f'command(["sh", "-c", "{look}"])'))
    lab.narrows("run", "tiny.py", "--out", "out", cwd=tmp_path).failed(1)
    (good,) = lab.run_dirs(tmp_path / "out")
    before = (good / "manifest.json").stat()
    flag.touch()
    called = lab.narrows("run", "tiny.py", "--out", "out", cwd=tmp_path).ok()
    assert "1 to do" in called.out
    assert len(lab.run_dirs(tmp_path / "out")) == 2
    assert lab.failed_dirs(tmp_path / "out") == []
    after = (good / "manifest.json").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert "nothing to do" in lab.narrows("run", "tiny.py", "--out", "out", cwd=tmp_path).ok().out


@pytest.mark.parametrize(
    "program", [["sh", "-c", "while :; do :; done"], ["python3", "-c", "while True: pass"]]
)
def test_a_guest_that_hangs_is_ended_and_leaves_the_others_whole(tmp_path: Path, program: list[str]) -> None:
    lab.experiment(tmp_path, sweep(f"command({program!r})"))
    words = ("run", "tiny.py", "--out", "out", "--stall", "4", "--timeout", "60")
    called = lab.narrows(*words, cwd=tmp_path).failed(1)
    (good,) = lab.run_dirs(tmp_path / "out")
    (failed,) = lab.failed_dirs(tmp_path / "out")
    assert lab.manifest(good)["key"]["what"] == "good"
    line = lab.message(failed)
    assert re.search(r"watchdog: hung: .* for 4 s, .* while these ran: .*what", line), line
    assert failed.name in called.out
    assert guests(tmp_path) == []


def test_a_tool_that_is_not_installed_fails_its_own_runs_in_a_line_and_the_others_are_made(
    tmp_path: Path,
) -> None:
    lab.experiment(tmp_path, sweep('command("no-such-tool --fast")'))
    called = lab.narrows("run", "tiny.py", "--out", "out", cwd=tmp_path).failed(1)
    (good,) = lab.run_dirs(tmp_path / "out")
    (failed,) = lab.failed_dirs(tmp_path / "out")
    assert lab.manifest(good)["key"]["what"] == "good"
    assert lab.message(failed).startswith("machine: not installed: no-such-tool (for what) → ")
    (line,) = [line for line in called.out.splitlines() if "no-such-tool" in line]
    assert "PATH" in line
    # Where none can be made, nothing starts.
    called = lab.narrows("run", "tiny.py", "--out", "other", "--only", "what=bad", cwd=tmp_path).failed(1)
    assert "no-such-tool (for what)" in called.err
    assert lab.failed_dirs(tmp_path / "other") == []


def test_an_iperf3_that_is_missing_names_its_package(tmp_path: Path) -> None:
    lab.experiment(tmp_path, LINK + 'test = iperf3(duration="1 s")\n')
    empty = tmp_path / "bin"
    empty.mkdir()
    plan = lab.edited(lab.plan(tmp_path, LINK + 'test = iperf3(duration="1 s")\n'))
    from narrows.engine.uml import check_tools
    from narrows.errors import EngineError

    with pytest.raises(EngineError, match="not installed: iperf3") as caught:
        check_tools([plan], str(empty))
    assert "apt-get install iperf3" in str(caught.value.remedy)


def test_a_browser_that_is_missing_is_named_before_anything_starts(tmp_path: Path) -> None:
    plan = lab.edited(lab.plan(tmp_path, LINK + 'test = cloudflare(client="chromium")\n'))
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("node", "ip", "tc"):
        (directory / name).write_text("#!/bin/sh\n")
        (directory / name).chmod(0o755)
    from narrows.engine import uml
    from narrows.errors import EngineError

    with pytest.raises(EngineError, match=r"not installed: chromium \(for test\)") as caught:
        uml.check_tools([plan], str(directory))
    assert "apt-get install chromium" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("NARROWS_CACHE", "empty", ("has not been built", "narrows kernel build")),
        ("NARROWS_KERNEL", "empty", ("no whole kernel build", "narrows kernel build")),
        ("NARROWS_AGENT", "empty/none", ("NARROWS_AGENT", "make agent")),
    ],
)
def test_a_missing_part_is_named_with_its_remedy(
    tmp_path: Path, name: str, value: str, told: tuple[str, ...]
) -> None:
    (tmp_path / "empty").mkdir()
    lab.experiment(tmp_path, BASE)
    env = lab.environment()
    if name == "NARROWS_CACHE":
        env.pop("NARROWS_KERNEL", None)  # it goes before the cache
    env[name] = str(tmp_path / value)
    called = lab.narrows("run", "tiny.py", cwd=tmp_path, env=env).failed(1)
    for word in told:
        assert word in called.err


def test_an_agent_that_is_no_agent_fails_its_runs_clearly(tmp_path: Path) -> None:
    lab.experiment(tmp_path, BASE)
    env = lab.environment(NARROWS_AGENT="/bin/true")
    lab.narrows("run", "tiny.py", "--out", "out", cwd=tmp_path, env=env).failed(1)
    (failed,) = lab.failed_dirs(tmp_path / "out")
    assert "without a result" in lab.message(failed)


# ---- results that cannot be written -----------------------------------------------------------------------


@pytest.mark.parametrize("out", ["file/results", "/proc/narrows", "/sys/narrows"])
def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path, out: str) -> None:
    lab.experiment(tmp_path, BASE)
    (tmp_path / "file").touch()
    called = lab.narrows("run", "tiny.py", "--out", out, cwd=tmp_path).failed(1)
    assert out in called.err
    assert "--out DIR" in called.err


FILLER = """
what = axis("what", {
    "small": command("true"),
    "large": command(["sh", "-c", "head -c 450000000 /dev/zero > /run/narrows/raw/fill; true"]),
})
"""


@pytest.mark.root
def test_a_disk_that_fills_up_keeps_whole_runs_and_the_next_call_goes_on(tmp_path: Path) -> None:
    lab.experiment(tmp_path, BASE + FILLER)
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300m", "none", disk], check=True)
    try:
        out = disk / "out"
        lab.narrows("run", "tiny.py", "--out", out, "--only", "what=small", cwd=tmp_path).ok()
        called = lab.narrows("run", "tiny.py", "--out", out, cwd=tmp_path).failed(1)
        assert "the disk is full" in called.err or "No space left" in called.err, called.text
        assert str(out) in called.err
        assert "whole runs are kept" in called.err
        assert len(lab.run_dirs(out)) == 1
        assert [p.name for p in out.iterdir() if p.name.startswith(".tmp")] == []
        # Nearly full: not even begun.
        (disk / "ballast").write_bytes(bytes(100 << 20))
        called = lab.narrows("run", "tiny.py", "--out", out, cwd=tmp_path).failed(1)
        assert "the disk is full" in called.err
        # Space again (and on a larger disk, the large run fits).
        (disk / "ballast").unlink()
        subprocess.run(["mount", "-o", "remount,size=900m", disk], check=True)
        lab.narrows("run", "tiny.py", "--out", out, cwd=tmp_path).ok()
        assert len(lab.run_dirs(out)) == 2
    finally:
        subprocess.run(["umount", disk], check=True)


# ---- interrupted ------------------------------------------------------------------------------------------

LONG = """
link = Link(rate="50 Mbit/s", base_rtt="10 ms", queue=fq_codel())
flow = bulk(flows=20, duration="200 s")
tap("off")
sample(tcp_info="1 ms")
repeat(3)
"""
SHORT = BASE + 'slow = axis("slow", {"no": None, "yes": bulk(flows=20, duration="200 s", sample="1 ms")})\n'


def guests(out: Path) -> list[int]:
    """Processes of this machine that have to do with a directory."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if str(out).encode() in words:
            found.append(int(entry.name))
    return found


def started(tmp_path: Path, text: str) -> subprocess.Popen[str]:
    """`narrows run` in the background, with a guest at work."""
    lab.experiment(tmp_path, text)
    words = [str(lab.NARROWS), "run", "tiny.py", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        words,
        cwd=tmp_path,
        env=lab.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not list((tmp_path / "out").glob(".tmp-*/raw/agent.jsonl")):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "no guest came to life"
        time.sleep(0.05)
    return process


def gone(out: Path) -> bool:
    """Whether all its processes end within a while."""
    deadline = time.monotonic() + 20
    while guests(out):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_call_cleans_up_and_says_how_to_go_on(tmp_path: Path, number: signal.Signals) -> None:
    process = started(tmp_path, LONG)
    process.send_signal(number)
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "interrupted" in told
    assert "goes on from here" in told
    assert "Traceback" not in told
    assert gone(tmp_path / "out"), "guests live on"
    assert [p.name for p in (tmp_path / "out").iterdir() if p.name.startswith(".tmp")] == []


def test_a_call_killed_outright_leaves_nothing_that_is_taken_for_whole(tmp_path: Path) -> None:
    process = started(tmp_path, SHORT)
    process.kill()
    process.communicate()
    assert gone(tmp_path / "out"), "guests live on after their parent"
    left = list((tmp_path / "out").glob(".tmp-*"))
    assert left, "nothing was under way"
    assert len(lab.run_dirs(tmp_path / "out")) <= 1
    listed = lab.narrows("list", "out", cwd=tmp_path)
    assert "Traceback" not in listed.text
    called = lab.narrows("run", "tiny.py", "--out", "out", "--only", "slow=no", cwd=tmp_path).ok()
    assert [p for p in left if p.exists()] == [], called.text
    assert [lab.manifest(p)["key"]["slow"] for p in lab.run_dirs(tmp_path / "out")] == ["no"]


def test_a_guest_killed_from_outside_fails_alone(tmp_path: Path) -> None:
    process = started(tmp_path, SHORT)
    deadline = time.monotonic() + 60
    killed = False
    while not killed:
        assert time.monotonic() < deadline
        for directory in (tmp_path / "out").glob(".tmp-*"):
            plan = (directory / "plan.json").read_text()
            if '"slow": "yes"' not in plan:
                continue
            for pid in guests(directory):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if b"time-travel=inf-cpu" in words and b"launch.py" not in b" ".join(words):
                    os.kill(pid, signal.SIGKILL)
                    killed = True
        time.sleep(0.05)
    told, _ = process.communicate(timeout=120)
    assert process.returncode == 1, told
    (failed,) = lab.failed_dirs(tmp_path / "out")
    assert "killed by signal 9" in lab.message(failed)
    assert failed.name in told
    (whole,) = lab.run_dirs(tmp_path / "out")
    assert lab.manifest(whole)["key"]["slow"] == "no"
    assert gone(tmp_path / "out")


def test_two_calls_do_not_work_in_one_directory(tmp_path: Path) -> None:
    process = started(tmp_path, LONG)
    try:
        called = lab.narrows("run", "tiny.py", "--out", "out", cwd=tmp_path).failed(1)
        assert f"process {process.pid}" in called.err
        assert "--out DIR" in called.err
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@pytest.mark.parametrize("spoil", ["manifest.json", "whole directory"])
def test_a_run_that_is_not_whole_is_made_again(tmp_path: Path, spoil: str) -> None:
    lab.experiment(tmp_path, BASE)
    lab.narrows("run", "tiny.py", "--out", "out", cwd=tmp_path).ok()
    (run,) = lab.run_dirs(tmp_path / "out")
    if spoil == "manifest.json":
        text = (run / spoil).read_text()
        (run / spoil).write_text(text[: len(text) // 2])
    else:
        for path in run.iterdir():
            if path.is_file():
                path.unlink()
    assert lab.run_dirs(tmp_path / "out") == []
    assert "Traceback" not in lab.narrows("list", "out", cwd=tmp_path).text
    assert "1 to do" in lab.narrows("run", "tiny.py", "--out", "out", cwd=tmp_path).ok().out
    assert lab.run_dirs(tmp_path / "out") == [run]
