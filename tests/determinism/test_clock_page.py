"""Programs that read the clock without a system call see the times that they see with one; so do packets."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import lab
import narrows
from narrows.engine.uml import UmlEngine

PLAYERS = Path(narrows.__file__).parent / "tools/video/client"
PROGRAMS = Path(__file__).parent / "clocks"
WITHOUT = "clock_page.on=0"
# Above the programs' standard output the tap must hold something.
LINK = 'link = Link(rate="10 Mbit/s", base_rtt="1 ms", queue=fq_codel())\nping = icmp_echo(stop="100 ms")\n'
GO = ("go", "build", "-o", "{made}", str(PROGRAMS / "clocks.go"))
C = ("-O2", "-pthread", "-o", "{made}", str(PROGRAMS / "clocks.c"))
BUILDS = {
    "glibc": ("gcc", *C),
    "glibc, static": ("gcc", "-static", *C),
    "musl, static": ("musl-gcc", "-static", *C),
    "go": GO,
}

pytestmark = [pytest.mark.kernel, pytest.mark.slow]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where a guest sees it; /tmp is a guest's own."""
    if str(lab.CHECKOUT).startswith("/tmp/"):
        pytest.skip("a guest has a /tmp of its own, so it cannot see this checkout")
    places = lab.CHECKOUT / "results" / ".tests"
    places.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=places) as place:
        yield Path(place)


def built(build: str, folder: Path) -> Path:
    """The program that reads clocks, made so."""
    if build == "go" and shutil.which("go") is None:
        pytest.skip("go is not on PATH")
    made = folder / "clocks"
    words = [word.format(made=made) for word in BUILDS[build]]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


def served(raw: lab.Raw) -> tuple[int, int]:
    """How often programs entered the kernel, and how often they did not for a clock."""
    entered, answered = map(int, raw.bytes_of("counts.stdout").split())
    return entered, answered


COUNTS = 'counts = command("cat /proc/clock_page", node="server", start="{}")\n'


@pytest.mark.parametrize("build", BUILDS)
def test_a_program_sees_the_same_times_without_a_system_call(
    tmp_path: Path, folder: Path, build: str
) -> None:
    program = built(build, folder)
    text = LINK + f'seen = command("{program}", node="client")\n' + COUNTS.format("8 s")
    plan = lab.plan(tmp_path, text)
    # Both places are of one length: how often the agent reads a file that has the path in it hangs on that.
    page = lab.carry(plan, tmp_path / "page").ok()
    calls = lab.carry(plan, tmp_path / "call", engine=lab.WithWord(WITHOUT)).ok()
    assert page.bytes_of("seen.stdout") == calls.bytes_of("seen.stdout")
    assert page.bytes_of("tap.bin") == calls.bytes_of("tap.bin")
    (entered, answered), (more, none) = served(page), served(calls)
    assert none == 0
    assert answered > 50_000
    assert more == entered + answered


def test_a_million_reads_with_naps_end(tmp_path: Path, folder: Path) -> None:
    text = (
        LINK + f'seen = command("{built("glibc", folder)} 1000000", node="client")\n' + COUNTS.format("5 s")
    )
    entered, answered = served(lab.carry(lab.plan(tmp_path, text), tmp_path / "run").ok())
    assert answered > 950_000
    assert entered < 200_000


TRAFFIC = {
    "iperf3": 'test = iperf3(duration="1 s", flows=2, direction="both")\n',
    "node": 'test = ndt7(client="js", time_limit="120 s")\n',
    "quic": 'd = download(http="3", client="browser", cca="cubic", stop="3 s")\n',
    "video": 'v = video(top="1 Mbit/s", cca="bbr", stop="6 s")\n',
    "call": 'c = call(height=180, stop="4 s")\n',
}
NEEDED = {"iperf3": ("iperf3",), "node": ("node", "npm")}
BROWSER_ATTEMPTS = 3
"""A run with a browser differs from its own repetition now and then, with the page and without
(docs/services.md); a page that changed bytes would do so every time."""
BROWSER = ("chromium", "nginx", "ffmpeg", "node", "npm")


@pytest.mark.parametrize(
    "traffic", [pytest.param(name, marks=pytest.mark.needs(*NEEDED.get(name, BROWSER))) for name in TRAFFIC]
)
def test_no_byte_of_real_programs_changes_without_the_page(tmp_path: Path, traffic: str) -> None:
    for client in (PLAYERS, PLAYERS.parents[1] / "ndt7/client"):
        if not (client / "node_modules").exists() and NEEDED.get(traffic) != ("iperf3",):
            subprocess.run(["npm", "ci", "--silent"], cwd=client, check=True)
    link = 'link = Link(rate="8 Mbit/s", base_rtt="20 ms", queue=pfifo(limit=64))\n'
    plan = lab.plan(tmp_path, link + TRAFFIC[traffic] + 'tap("packets")\nat_client = capture("client")\n')
    engine = UmlEngine()
    for content in plan.contents:
        engine.make(content)
    differing: list[str] = []
    for attempt in range(1 if NEEDED.get(traffic) else BROWSER_ATTEMPTS):
        page = lab.files(lab.carry(plan, tmp_path / f"page{attempt}"))
        calls = lab.files(lab.carry(plan, tmp_path / f"call{attempt}", engine=lab.WithWord(WITHOUT)))
        assert page.keys() == calls.keys()
        differing = [name for name in page if page[name] != calls[name]]
        if not differing:
            return
    assert not differing
