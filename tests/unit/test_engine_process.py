"""A child of the engine: what it prints, what it may write, how it ends. Children are small shell scripts."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from narrows.engine import elf, guest_disk, landlock, process
from narrows.engine.types import Limits, Progress
from narrows.engine.uml import fault

SH = "/bin/sh"
LONG = Limits(wall_s=60, stall_s=60)


def carry(
    directory: Path,
    script: str,
    *,
    limits: Limits = LONG,
    stop: threading.Event | None = None,
    writable: tuple[str, ...] | None = None,
    cpu: int | None = None,
    readable: tuple[str | tuple[str, int, int], ...] | None = None,
) -> tuple[process.Ended, list[Progress], str]:
    seen: list[Progress] = []
    job = process.Job(
        argv=(SH, "-c", script),
        env={"PATH": "/usr/bin:/bin"},
        cwd=directory,
        cpu=cpu,
        writable_dirs=(str(directory),) if writable is None else writable,
        writable_files=guest_disk.DEVICES,
        readable=readable,
    )
    ended = process.carry(job, directory / "console.log", limits, stop or threading.Event(), seen.append)
    return ended, seen, (directory / "console.log").read_text()


def test_progress_lines_go_to_the_view_and_all_else_to_the_console(tmp_path: Path) -> None:
    ended, seen, console = carry(
        tmp_path,
        'echo boot; echo \'@narrows {"t_ns": -5, "phase": "setup", "note": "a"}\'; echo "@narrows nonsense"; '
        'echo \'@narrows {"t_ns": 1000, "phase": "traffic", "note": ""}\'; printf "no newline"',
    )
    assert seen == [Progress(-5, "setup", "a"), Progress(1000, "traffic", "")]
    assert console == "boot\n@narrows nonsense\nno newline\n"
    assert (ended.reason, ended.exit_code, ended.last_t_ns) == ("exit", 0, 1000)


def test_the_exit_status_and_the_signal_that_killed_are_told(tmp_path: Path) -> None:
    assert carry(tmp_path, "exit 3")[0].exit_code == 3
    assert carry(tmp_path, "kill -SEGV $$")[0].exit_code == -signal.SIGSEGV


def test_a_child_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    ended, _, _ = carry(tmp_path, "sleep 1000", limits=Limits(wall_s=0.5, stall_s=60))
    assert (ended.reason, ended.exit_code) == ("wall", -signal.SIGKILL)


def test_a_child_that_stands_still_in_virtual_time_is_ended(tmp_path: Path) -> None:
    script = 'while :; do echo \'@narrows {"t_ns": 7, "phase": "traffic"}\'; sleep 0.1; done'
    ended, _, _ = carry(tmp_path, script, limits=Limits(wall_s=60, stall_s=0.14))
    assert ended.reason == "stall"
    assert ended.last_t_ns == 7


def test_a_child_that_waits_for_a_processor_does_not_stand_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a machine whose other programs have it all.
    monkeypatch.setattr(process, "_waited_for_processor_s", lambda _: time.monotonic())
    ended, _, _ = carry(tmp_path, "sleep 1.5", limits=Limits(wall_s=60, stall_s=0.06))
    assert ended.reason == "exit"


def test_the_time_for_which_we_stood_still_ourselves_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a container that was paused for a day after the first look.
    looks = itertools.count()
    real = time.monotonic
    monkeypatch.setattr(process.time, "monotonic", lambda: real() + (86400 if next(looks) > 3 else 0))
    ended, _, _ = carry(tmp_path, "sleep 1", limits=Limits(wall_s=60, stall_s=30))
    assert ended.reason == "exit"
    assert next(looks) > 4


def test_how_long_a_process_waited_for_a_processor_is_read_of_the_host() -> None:
    first = process._waited_for_processor_s(os.getpid())
    assert 0 <= first <= process._waited_for_processor_s(os.getpid())
    assert process._waited_for_processor_s(2**22 + 1) == 0  # no such process


def test_a_child_that_moves_is_left_alone(tmp_path: Path) -> None:
    script = """for i in 1 2 3 4 5 6 7 8; do
  echo "@narrows {\\"t_ns\\": $i, \\"phase\\": \\"traffic\\"}"; sleep 0.2; done"""
    ended, seen, _ = carry(tmp_path, script, limits=Limits(wall_s=60, stall_s=0.24))
    assert ended.reason == "exit"
    assert len(seen) == 8


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def gone(pid: int) -> bool:
    for _ in range(100):
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False


def test_stopping_ends_the_child_and_its_children(tmp_path: Path) -> None:
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    ended, _, console = carry(tmp_path, "sleep 1000 & echo $!; wait", stop=stop)
    assert ended.reason == "stopped"
    assert gone(int(console.split()[0]))


def test_children_that_outlive_the_child_are_ended_too(tmp_path: Path) -> None:
    _, _, console = carry(tmp_path, "sleep 1000 & echo $!; exit 0")
    assert gone(int(console.split()[0]))


def test_the_child_dies_when_its_parent_is_killed(tmp_path: Path) -> None:
    """The parent is a Python that carries a sleep; nothing but the kernel can end the child after kill -9."""
    script = f"""
import sys, threading
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from test_engine_process import carry
carry(Path({str(tmp_path)!r}), "echo $$; exec sleep 1000")
"""
    parent = subprocess.Popen([sys.executable, "-c", script])
    console = tmp_path / "console.log"
    for _ in range(200):
        if console.exists() and console.read_text().strip():
            break
        time.sleep(0.05)
    child = int(console.read_text())
    assert alive(child)
    parent.kill()
    parent.wait()
    assert gone(child)


def test_the_child_is_pinned_to_its_core(tmp_path: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    _, _, console = carry(tmp_path, "grep Cpus_allowed_list /proc/self/status", cpu=cpu)
    assert console.split()[-1] == str(cpu)


def test_the_child_leaves_no_core_dump(tmp_path: Path) -> None:
    assert carry(tmp_path, "ulimit -c; ulimit -Hc")[2].split() == ["0", "0"]


needs_landlock = pytest.mark.skipif(landlock.abi() is None, reason="this kernel has no Landlock")


@needs_landlock
@pytest.mark.parametrize(
    "attempt",
    [
        "echo x > {outside}/new",
        "echo x >> {outside}/there",
        "rm {outside}/there",
        "mv {outside}/there {inside}/",
        "ln {outside}/there {inside}/link && echo x >> {inside}/link",
        "mkdir {outside}/dir",
        "ln -s /etc/passwd {outside}/link",
        "mkfifo {outside}/fifo",
        "truncate -s 0 {outside}/there",
        "echo x > /tmp/narrows-escape-$$",
        "ln -s {outside} {inside}/door && echo x > {inside}/door/new",
    ],
)
def test_the_child_cannot_change_anything_outside_its_directory(tmp_path: Path, attempt: str) -> None:
    inside, outside = tmp_path / "run", tmp_path / "host"
    inside.mkdir()
    outside.mkdir()
    (outside / "there").write_text("untouched")
    ended, _, _ = carry(inside, attempt.format(inside=inside, outside=outside))
    assert ended.exit_code != 0
    assert [p.name for p in outside.iterdir()] == ["there"]
    assert (outside / "there").read_text() == "untouched"


@needs_landlock
def test_the_child_may_write_below_its_directory_and_to_devices(tmp_path: Path) -> None:
    ended, _, _ = carry(
        tmp_path, "mkdir a && echo x > a/b && mv a/b c && rm c && echo y > /dev/null && echo z > d"
    )
    assert ended.exit_code == 0
    assert (tmp_path / "d").read_text() == "z\n"


@needs_landlock
def test_the_child_can_gain_no_privileges(tmp_path: Path) -> None:
    assert carry(tmp_path, "grep NoNewPrivs /proc/self/status")[2].split()[-1] == "1"


def test_an_exec_that_fails_is_told_on_the_console(tmp_path: Path) -> None:
    job = process.Job(("/no/such/program",), {}, tmp_path, None, (), ())
    ended = process.carry(job, tmp_path / "console.log", LONG, threading.Event(), lambda _: None)
    assert ended.exit_code != 0
    assert "/no/such/program" in " ".join(ended.tail) or "No such file" in " ".join(ended.tail)


def ended_with(tail: tuple[str, ...], **changes: object) -> process.Ended:
    values = {
        "reason": "exit", "exit_code": 1, "wall_s": 1.0, "cpu_s": 1.0, "max_rss_bytes": 1, "last_t_ns": None,
        "tail": tail,
    } | changes  # fmt: skip
    return process.Ended(**values)  # type: ignore[arg-type]


def test_an_oops_is_told_with_its_place_and_modules_however_long_its_stack_is(tmp_path: Path) -> None:
    said = [
        "[    1.000000] sch_oops: loading out-of-tree module taints kernel.",
        "[    1.350000] Modules linked in: sch_oops(O)",
        "[    1.350000] Pid: 0, comm: swapper/0 Tainted: G           O        7.2.12",
        "[    1.350000] RIP: 0033:oops_dequeue+0x90/0xa0 [sch_oops]",
        "[    1.350000] RSP: 000000006065fd88  EFLAGS: 00010246",
        "[    1.350000] Kernel panic - not syncing: Segfault with no mm",
        "[    1.350000] Call Trace:",
        *["[    1.350000]  [<603050d4>] ? __qdisc_run+0x84/0x880"] * 100,
    ]
    (tmp_path / "console.log").write_text("\n".join(said))
    found = fault(ended_with(tuple(said[-40:])), tmp_path, LONG)
    assert found is not None
    assert found.line().endswith(
        "before its first sign of life: Kernel panic - not syncing: Segfault with no mm, "
        "in oops_dequeue+0x90/0xa0 [sch_oops], modules: sch_oops(O)"
    )
    assert found.stderr == "\n".join(said[-40:])


def test_the_time_of_a_child_is_read_in_its_memory(tmp_path: Path) -> None:
    """What prints nothing is left alone while its own time moves, and ended once that stands still."""
    source, program = tmp_path / "own.c", tmp_path / "own"
    source.write_text(
        "volatile unsigned long long own_time;\n"
        "int main(void) { for (unsigned i = 0; i < 15; i++) { own_time++; struct timespec t = {0, 100000000};"
        " nanosleep(&t, 0); } for (;;) pause(); }\n"
    )
    headers = ["-include", "time.h", "-include", "unistd.h"]
    subprocess.run(["cc", "-no-pie", *headers, "-o", program, source], check=True)
    job = process.Job((str(program),), {}, tmp_path, None, (), (), clock_at=elf.symbol(program, "own_time"))
    ended = process.carry(job, tmp_path / "console.log", Limits(60, 1.0), threading.Event(), lambda _: None)
    assert ended.reason == "stall"
    assert ended.wall_s > 2.0  # 15 × 0.1 s in which it moves, and 1 s in which it does not


def test_a_program_without_symbols_says_no_place(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("#!/bin/sh\n")
    assert elf.symbol(tmp_path / "text", "own_time") is None
    assert elf.symbol(Path(sys.executable).resolve(), "no_such_symbol") is None


def test_a_hung_guest_is_told_with_its_virtual_time(tmp_path: Path) -> None:
    found = fault(ended_with((), reason="stall", last_t_ns=1_500_000_000), tmp_path, LONG)
    assert found is not None
    assert "at t = 1.500 s" in found.line()
    assert "60 s" in found.line()


def test_a_watchdog_names_the_items_that_ran(tmp_path: Path) -> None:
    found = fault(ended_with((), reason="wall", last_t_ns=1_500_000_000, last_note="t probe"), tmp_path, LONG)
    assert found is not None
    assert "at t = 1.500 s, while these ran: t probe" in found.line()


def test_a_guest_with_a_result_is_the_stores_to_judge(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "result.json").write_text(json.dumps({}))
    assert fault(ended_with(()), tmp_path, LONG) is None


def test_what_works_on_the_host_may_undo_what_it_made_before_it_ends(tmp_path: Path) -> None:
    stop = threading.Event()
    script = 'trap "rm made; exit 0" TERM; touch made; echo ready > ready; while :; do sleep 0.05; done'
    job = process.Job((SH, "-c", script), {"PATH": "/usr/bin:/bin"}, tmp_path, None, (), (), signal.SIGTERM)

    def ask() -> None:
        while not (tmp_path / "ready").exists():
            time.sleep(0.01)
        stop.set()

    asking = threading.Thread(target=ask)
    asking.start()
    ended = process.carry(job, tmp_path / "console.log", LONG, stop, lambda _: None)
    asking.join()
    assert (ended.reason, ended.exit_code) == ("stopped", 0)
    assert not (tmp_path / "made").exists()
