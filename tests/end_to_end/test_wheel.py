"""narrows as two wheels: in an empty environment, used by an ordinary user where there is no checkout.

The kernel is the one of the cache, which its own wheel carries, so nothing is built twice. On the path are a
shell and what any Linux has to set up interfaces: no compiler, no browser, nothing of `make setup`.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import typer

from lab import CHECKOUT
from narrows.cli.main import build_app

pytestmark = [pytest.mark.kernel, pytest.mark.slow, pytest.mark.xdist_group("wheel")]

MOST_MB = 12
"""Of which the kept evidence is 5 at most (tests/unit/test_evidence.py)."""
ON_PATH = ("sh", "ip", "tc", "id")
NOBODY = 65534
SMALL = """'''What do two short downloads leave each other?'''

from narrows.spec import Link, bulk, capture, pairs, pfifo

link = Link(rate="8 Mbit/s", base_rtt="50 ms", queue=pfifo(limit=128), services=2)
first, second = pairs({"reno": bulk(cca="reno", stop="3 s"), "cubic": bulk(cca="cubic", stop="3 s")})
log = capture("server")
"""
FAR = """'''How far may the server be?'''

from narrows.spec import Link, axis, between, bulk, pfifo

link = Link(rate="8 Mbit/s", base_rtt=axis("rtt", between("10 ms", "80 ms")), queue=pfifo(limit=128))
flow = bulk(duration="2 s")
"""
CALLS: Sequence[tuple[str, int, str]] = (
    ("doctor", 0, "kernel"),
    ("kernel info", 0, "release"),
    ("plan hello", 0, "1 run"),
    ("run small.py", 0, "5 made, 0 failed"),
    ("list results/small", 0, "ok"),
    ("show RUN --dir results/small", 0, "bulk_goodput_bps"),
    ("diff RUN OTHER", 0, "tap_departed_bytes"),
    ("report results/small", 0, "report.html"),
    ("query results/small 'select count(*) as runs from runs'", 0, "5"),
    ("archive results/small --out kept.runs.parquet", 0, "kept.runs.parquet"),
    ("claims", 0, "runs of corescale"),
    ("claims T5 --format md", 0, "T5: "),
    ("study path_properties --kept", 0, "report.html"),
    ("standard cubic --quick --plan", 0, "6 scenes, 6 runs"),
    ("paths LOG --out seen", 0, "seen"),
    ("profile", 0, "video-wifi"),
    ("identify results/small", 1, "no run with identify() in it"),
    ("whatif LOG --fit --out fitted", 0, "as an experiment"),
    ("search far.py --over rtt --metric flow:bulk_goodput_bps --budget 2", 0, "2 points"),
    ("bisect v0 v1 small.py --tree .", 2, "the experiment expects nothing"),
    ("submit far.py sweep", 0, "3 plans put into sweep"),
    ("worker sweep --leave", 0, "3 of 3 runs made"),
    ("watch small.py --set 1 --most 1", 0, "the next set: 5 runs"),
    ("calibrate --queue pfifo --tools ndt7 --seeds 1", 0, "calibration.html"),
    ("flent export RUN run.flent.gz", 0, "run.flent.gz"),
    ("service list", 0, "video"),
    ("quic list", 0, "quinn"),
    ("shape status --wan lo", 1, "no shaper runs on lo"),
    ("tune --wan lo --down '30 Mbit/s' --up '10 Mbit/s' --dry-run", 0, "cake bandwidth 29222kbit"),
)
"""A real call of every command, its exit status and what it says; `shell` and `serve` are tested below."""


class Installed:
    """The command of both wheels, and a directory to call it in."""

    def __init__(self, place: Path) -> None:
        self.place, self.cwd = place, place / "home"
        self.user = {"user": NOBODY, "group": NOBODY, "extra_groups": ()} if os.geteuid() == 0 else {}
        self.env = {"PATH": str(place / "bin"), "HOME": str(self.cwd), "COLUMNS": "200"}

    def words(self, call: str) -> list[str]:
        """The program and its words; RUN and OTHER are runs that were made, LOG is a capture of one."""
        runs = sorted(run.name for run in (self.cwd / "results/small").glob("[0-9a-f]*"))
        named = dict(zip(("RUN", "OTHER"), runs, strict=False))
        logs = sorted(map(str, self.cwd.glob("results/small/*/raw/*.pcapng")))
        named |= dict(zip(("LOG",), logs, strict=False))
        return [str(self.place / "venv/bin/narrows"), *(named.get(word, word) for word in split(call))]

    def call(self, call: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return subprocess.run(
            self.words(call), cwd=self.cwd, env=self.env, capture_output=True, text=True, **self.user
        )  # type: ignore[call-overload,no-any-return]


def split(call: str) -> list[str]:
    """Words, with those in quotes whole."""
    return [quoted or plain for quoted, plain in re.findall(r"'([^']*)'|(\S+)", call)]


def do(*words: str | Path, cwd: Path) -> None:
    """A step of installing."""
    hidden = ("PYTHON", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    """Both wheels, made from this checkout, in a new environment that anybody may use."""
    place = Path(tempfile.mkdtemp(prefix="narrows-wheel-"))
    place.chmod(0o755)
    do("make", "wheel", "WITH=kernel", cwd=CHECKOUT)
    # One below root's own directory would be no use to anybody else.
    of_all = Path("/usr/bin/python3") if os.geteuid() == 0 else Path(sys.executable)
    do(of_all, "-m", "venv", place / "venv", cwd=place)
    both = sorted((CHECKOUT / "dist").glob("*.whl"))
    assert [wheel.name.split("-")[0] for wheel in both] == ["narrows", "narrows_kernel"]
    assert both[0].stat().st_size < MOST_MB * 1e6
    pip = place / "venv/bin/pip"
    do(pip, "install", "-q", "--require-hashes", "-r", CHECKOUT / "requirements.txt", cwd=place)
    do(pip, "install", "-q", "--no-deps", *both, cwd=place)
    (place / "bin").mkdir()
    for name in ON_PATH:
        found = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
        assert found, name
        (place / "bin" / name).symlink_to(found)
    made = Installed(place)
    made.cwd.mkdir()
    (made.cwd / "small.py").write_text(SMALL)
    (made.cwd / "far.py").write_text(FAR)
    if made.user:
        for each in (made.cwd, *made.cwd.iterdir()):
            os.chown(each, NOBODY, NOBODY)
    yield made
    shutil.rmtree(place)


def test_every_command_does_its_work(installed: Installed) -> None:
    known = set(typer.main.get_command(build_app()).commands)  # type: ignore[attr-defined]
    assert known == {call.split()[0] for call, _, _ in CALLS} | {"serve", "shell"}
    wrong = []
    for call, status, says in CALLS:
        done = installed.call(call)
        if done.returncode != status or says not in done.stdout + done.stderr:
            said = done.stdout[-2000:] + done.stderr[-2000:]
            wrong.append(f"narrows {call}: status {done.returncode}\n{said}")
    assert not wrong, "\n\n".join(wrong)


def test_the_site_has_its_ledger(installed: Installed) -> None:
    (installed.cwd / "results").mkdir(exist_ok=True)  # with what the commands above made, if they were called
    process = subprocess.Popen(
        installed.words("serve results --port 0"), cwd=installed.cwd, env=installed.env, text=True,
        stderr=subprocess.PIPE, **installed.user,
    )  # type: ignore[call-overload]  # fmt: skip
    try:
        address = next(match[0] for line in process.stderr if (match := re.search(r"http://\S+", line)))
        with urllib.request.urlopen(f"{address}/ledger") as answer:
            assert answer.status == 200
    finally:
        process.terminate()
        process.wait()


def test_a_shell_stands_in_the_client(installed: Installed) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        installed.words("shell hello"), cwd=installed.cwd, env=installed.env,
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, **installed.user,
    )  # type: ignore[call-overload]  # fmt: skip
    os.close(theirs)
    said = b""
    while b"[client]" not in said:
        said += os.read(ours, 65536)
    os.write(ours, b"exit\n")
    assert process.wait() == 0, said
    os.close(ours)
