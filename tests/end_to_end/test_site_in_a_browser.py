"""`narrows serve` and a report in a real browser: as wide as a phone, a desk and a wall, dark and light."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import pytest

import lab
import narrows
from chromium import Chromium
from narrows.store.whose import with_labels

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.slow,
    pytest.mark.needs("chromium"),
    pytest.mark.xdist_group("site"),
]

EXPERIMENT = '''"""Which queue keeps the delay low, <b>and</b> for whom?"""
from narrows.spec import *

rate = axis("rate", ["10 Mbit/s", "20 Mbit/s"])
link = Link(rate=rate, base_rtt="20 ms", queue=axis("queue", [pfifo(limit=100), cake()]))
flow = bulk(duration="1 s")
other = bulk(cca="bbr", duration="1 s")
probe = udp_probe(interval="10 ms", stop=with_(flow))
capture()
'''
MET = """'''Who gets what?'''
from narrows.spec import *

queue = axis("queue", [pfifo(limit=50), fq_codel()])
link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=queue, services=2)
a, b = pairs({"bbr": bulk(cca="bbr", stop="2 s"), "reno": bulk(cca="reno", stop="2 s")})
tap("summary")
"""
WIDTHS, THEMES = (390, 1280, 2560), ("light", "dark")
SIDEWAYS = "document.documentElement.scrollWidth - innerWidth"
SCALES = {"bit/s": 1e-6, "1": 100.0}


@dataclass(frozen=True)
class Site:
    address: str
    results: Path
    run: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Four runs, trials of services, a watch's iteration, a directory with a damaged run, failed runs."""
    cwd = tmp_path_factory.mktemp("site")
    for name, text in (("site", EXPERIMENT), ("met", MET)):
        (cwd / f"{name}.py").write_text(text)
        lab.narrows("run", f"{name}.py", "--out", f"results/{name}", cwd=cwd).ok()
    results = cwd / "results"
    runs = sorted(path for path in (results / "site").glob("[0-9a-f]*") if path.is_dir())
    one = results / "watch/site/1"
    shutil.copytree(runs[0], one / "runs" / runs[0].name)
    iteration = {"format": 1, "versions": {"kernel": "a"}, "begun": "2026-01-01T00:00", "finished": None}
    (one / "iteration.json").write_text(json.dumps(iteration))
    for run in runs[:2]:
        shutil.copytree(run, results / "hurt" / run.name)
        shutil.copytree(run, results / "sad/.failed" / run.name)
        text = json.loads((results / "sad/.failed" / run.name / "manifest.json").read_text())
        text |= {"status": "failed", "error": {"line": "it broke <i>here</i>"}}
        (results / "sad/.failed" / run.name / "manifest.json").write_text(json.dumps(text))
    (results / "hurt" / runs[0].name / "metrics.parquet").write_bytes(b"PAR1")
    call = [lab.NARROWS, "serve", "results", "--port", "0"]
    with subprocess.Popen(call, cwd=cwd, stderr=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stderr is not None
            match = re.search(r"http://127\.0\.0\.1:\d+", serving.stderr.readline())
            assert match
            yield Site(match[0], results, runs[0].name)
        finally:
            serving.send_signal(signal.SIGINT)
            serving.wait(timeout=30)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as made:
        yield made


def other_run(served: Site) -> str:
    return max(path.name for path in (served.results / "site").glob("[0-9a-f]*") if path.is_dir())


def test_every_page_can_be_read_by_everybody_at_every_width_in_both_themes(
    served: Site, browser: Chromium
) -> None:
    run = f"/r/site/run/{served.run}"
    pages = [
        "/", "/ledger", "/r/site", "/r/hurt", "/r/sad", "/r/site/heat", "/r/site/cell?queue=cake",
        "/r/watch~site~1~runs/changes", "/r/met/pairs", f"{run}?beside={other_run(served)}",
        "/r/site/report", "/r/nothing",
    ]  # fmt: skip
    for page in pages:
        can_be_read(browser, served.address + page, "404" if page == "/r/nothing" else None)


def test_pages_that_are_files_can_be_read_by_everybody(
    served: Site, browser: Chromium, tmp_path: Path
) -> None:
    capture = min((served.results / "site" / served.run / "raw").glob("*.pcap*"))
    calls = {
        "calibrate --queue cake --tools iperf3 --seeds 1 --out cal": "cal/calibration/calibration.html",
        f"paths {capture} --min-duration 0s --out paths --page": "paths/report.html",
        "study local_bottleneck --kept --out study": "study/report.html",
    }
    for call, page in calls.items():
        lab.narrows(*call.split(), cwd=tmp_path).ok()
        can_be_read(browser, (tmp_path / page).as_uri())


def can_be_read(browser: Chromium, address: str, may_say: str | None = None) -> None:
    """A page says nothing on the console, is nowhere wider than the window, and axe-core finds no fault."""
    browser.said.clear()
    browser.look(WIDTHS[1], THEMES[0])
    browser.open(address)
    for theme in THEMES:
        for width in WIDTHS:
            browser.look(width, theme)
            assert browser.value(SIDEWAYS) <= 0, f"{address} at {width}"
        browser.look(WIDTHS[0], theme)  # where most regions scroll
        assert browser.violations() == [], f"{address}, {theme}"
    assert [line for line in browser.said if may_say is None or may_say not in line] == [], address


def test_panels_share_a_time_axis_down_to_single_packets_and_switch_lines_together(
    served: Site, browser: Chromium
) -> None:
    browser.look(1280, "light", height=3000)
    browser.open(f"{served.address}/r/site/run/{served.run}?beside={other_run(served)}#t=0.5,0.52")
    notes = browser.value("[...document.querySelectorAll('.panels h3')].map((one) => one.textContent)")
    assert any("Time in the queue" in note and "each packet when it left" in note for note in notes)
    assert {"Congestion window", "In flight", "Smoothed RTT", "Pacing rate"} <= {
        note.split(" [")[0] for note in notes
    }
    assert browser.value("document.querySelector('.time').textContent").startswith("0.5")
    click = "document.querySelector('button.line').click(), [...document.querySelectorAll('button.line')]"
    off = browser.value(
        f"({click}).filter((one) => one.ariaPressed === 'false').map((one) => one.textContent.trim())"
    )
    assert len(off) > 1
    assert set(off) == {"A · flow"}
    box = "document.querySelector('.u-over').getBoundingClientRect()"
    at = browser.value(f"(({{x, y, width}}) => [x + width / 2, y + 40])({box})")
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=at[0], y=at[1])
    filled = "[...one.querySelectorAll('.value')].some((each) => each.textContent)"
    panels = "[...document.querySelectorAll('.panels section')]"
    read = browser.value(f"{panels}.filter((one) => {filled}).length")
    assert read >= 5, "the cursor of one panel reads the others"
    differs = browser.value("document.querySelector('main').textContent")
    assert "what differs" in differs


def test_a_report_is_one_file_that_draws_runs_from_a_disk(served: Site, browser: Chromium) -> None:
    lab.narrows("report", "results/site", cwd=served.results.parent).ok()
    page = served.results / "site/report/report.html"
    assert page.stat().st_size < 5e6
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page.read_text())
    can_be_read(browser, page.as_uri())
    assert browser.value("document.querySelectorAll('.panels canvas').length") > 5


def test_without_scripts_and_on_paper_a_run_has_its_pictures(served: Site, browser: Chromium) -> None:
    shown = "getComputedStyle(document.querySelector('.still')).display !== 'none'"
    browser.look(1280, "light")
    browser.open(f"{served.address}/r/site/run/{served.run}")
    assert not browser.value(shown)
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.value(shown)
    assert browser.value("getComputedStyle(document.querySelector('.over-time')).display") == "none"
    browser.call("Emulation.setEmulatedMedia", media="")


def test_a_run_that_is_made_while_a_page_is_open_appears_on_it(served: Site, browser: Chromium) -> None:
    browser.look(1280, "light")
    browser.open(f"{served.address}/r/hurt")
    new, old = served.results / "hurt/00000000000000aa", served.results / "site" / served.run
    there = f"document.body.textContent.includes('{new.name}')"
    assert not browser.value(there)
    shutil.copytree(old, new.with_name(".copied"))
    manifest = json.loads((old / "manifest.json").read_text()) | {"run_id": new.name, "plan_hash": "another"}
    (new.with_name(".copied") / "manifest.json").write_text(json.dumps(manifest))
    new.with_name(".copied").rename(new)
    look = f"(function look() {{ if ({there}) done(true); else setTimeout(look, 50); }})()"
    assert browser.value(f"new Promise((done) => {{ {look} }})")


class Page(HTMLParser):
    """Where a page leads to, its ids, and the rows of its tables: what cells say or are sorted by."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.ids: set[str] = set()
        self.rows: list[list[str]] = []
        self._cell: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        self.links |= {
            link for name in ("href", "src") if (link := of.get(name)) and not link.startswith("data:")
        }
        self.ids |= {of["id"] or ""} if "id" in of else set()
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append(of.get("data-value") or "")
            self._cell = "" if "data-value" not in of else None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self.rows[-1][-1] += data.strip()

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._cell = None


def fetched(address: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            is_page = "html" in answer.headers["content-type"]
            return answer.status, answer.read().decode() if is_page else ""
    except urllib.error.HTTPError as error:
        return error.code, ""


def test_no_link_leads_nowhere(served: Site) -> None:
    known: dict[str, Page] = {}
    left, anchors = ["/"], []
    while left:
        path = left.pop()
        if path in known:
            continue
        status, text = fetched(served.address + path)
        assert status == 200, path
        known[path] = page = Page(text)
        for link in page.links:
            whole = urllib.parse.urljoin(served.address + path, link)
            assert whole.startswith(served.address), f"{path} leads to {link}"
            to, _, anchor = whole.removeprefix(served.address).partition("#")
            left.append(to)
            anchors.append((path, to, anchor))
    for path, to, anchor in anchors:
        assert not anchor or anchor in known[to].ids, f"{path} leads to {to}#{anchor}"
    assert len(known) > 40


def test_the_numbers_of_a_page_are_those_of_a_query(served: Site) -> None:
    page = Page(fetched(f"{served.address}/r/site/run/{served.run}")[1])
    shown = {
        (row[0], row[2], row[5]): float(row[3])
        for row in page.rows
        if len(row) == 6 and row[3] and row[5] != "name in tables"
    }
    results = narrows.open(served.results / "site")
    every = with_labels(results.metrics(run_id=served.run))
    asked = every.select("whose", "direction", "quantity", "value", "unit")
    assert asked.height > 100
    for source, direction, name, value, unit in asked.iter_rows():
        assert shown[source, direction or "", name] == value * SCALES.get(unit, 1.0)
