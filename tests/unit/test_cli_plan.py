"""`narrows plan`: what it prints, and that errors are one message with the right exit code."""

import json
import subprocess
import sys
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden" / "plan_example.py"


def narrows(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "narrows.cli.main", *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_plan_prints_the_runs_and_touches_nothing(tmp_path: Path) -> None:
    result = narrows("plan", str(GOLDEN), cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "Do speed tests under cross traffic tell what the queue does?" in result.stdout
    assert "1 run, " in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_plan_with_v_prints_the_exact_commands_and_the_timeline(tmp_path: Path) -> None:
    out = narrows("plan", str(GOLDEN), "-v", cwd=tmp_path).stdout
    assert "tc qdisc add dev eth0 root handle 1: htb default 11\n" in out
    assert "sysctl -w 'net.ipv4.tcp_rmem=4096 131072 33554432'\n" in out
    assert "at 12 s, router: tc class change dev eth0" in out
    assert "test-server (before t = 0, until the end): server: @agent ndt7-server" in out
    assert "cross (from 0.001152 s, until test ends)" in out


def test_plan_as_json_is_one_plan_per_line(tmp_path: Path) -> None:
    out = narrows("plan", str(GOLDEN), "--json", cwd=tmp_path).stdout
    (plan,) = [json.loads(line) for line in out.splitlines()]
    assert plan == json.loads(GOLDEN.with_suffix(".json").read_text())


def test_what_may_end_before_its_time_is_told_with_its_rule(tmp_path: Path) -> None:
    (tmp_path / "rule.py").write_text(
        '"""Q?"""\nfrom narrows.spec import *\nlink = Link(rate="10 Mbit/s", queue=pfifo())\n'
        'flow = bulk(flows=2, duration="1 min")\nflow_tap(warm_up="2 s")\n'
        'until_settled("jain", window="10 s")\n'
    )
    out = narrows("plan", "rule.py", cwd=tmp_path).stdout
    assert "when jain moved less than 1 % in 10 s, not before 12 s" in out
    assert "≤ 60.0 s" in out
    assert "at most 60.0 s of virtual time" in out


def test_an_error_is_one_message_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text('"""Q?"""\nfrom narrows.spec import *\nlink = Link(rate=100)\n')
    result = narrows("plan", "bad.py", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == (
        'error: bad.py:3: Link: rate: 100 has no unit, a rate is needed\n  → write the unit: "100 Mbit/s"\n'
    )


def test_a_wrong_filter_is_a_wrong_call(tmp_path: Path) -> None:
    result = narrows("plan", str(GOLDEN), "--only", "rat=100Mbit", cwd=tmp_path)
    assert result.returncode == 2
    assert "did you mean rate?" in result.stderr


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m narrows.cli.main plan {GOLDEN} -v | head -n 1"
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
