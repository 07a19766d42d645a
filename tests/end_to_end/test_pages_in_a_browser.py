"""The pages that people are shown first, in a browser: who was tried stands in the first table and in the
first picture, and all text can be read on a phone."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import lab
from chromium import Chromium
from narrows import data

pytestmark = [pytest.mark.kernel, pytest.mark.needs("chromium")]

QUIC = '''"""Who wins behind a short queue?"""
from narrows.spec import *

link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=axis("queue", [pfifo(limit=50), fq_codel()]))
mine = quic(stack="quinn", duration="1 s")
theirs = bulk(duration="1 s")
'''
HOME = '''"""Does CAKE keep the delay low behind Wi-Fi?"""
from narrows.spec import *

shaped = home_router(egress=cake(bandwidth="20 Mbit/s"), ingress=cake(bandwidth="20 Mbit/s", ingress=True))
router = axis("home", {"plain": home_router(), "shaped_by_cake": shaped})
link = Home(base_rtt="20 ms", medium=wifi(rate="80 Mbit/s", stations=1), router=router)
download = bulk(duration="1 s")
upload = bulk(direction="up", duration="1 s")
'''
LTE = '''"""Does a call hold beside a video on LTE?"""
from narrows.spec import *

link = Link(medium=lte(rate="10 Mbit/s"), base_rtt="30 ms", queue=fq_codel(), services=2)
talk = call(height=180, stop="4 s")
film = video(top="1 Mbit/s", stop="4 s", host=2)
'''
STUDIES = {"quic": "quinn_bbr", "media": "chromium", "kernels": "6.12"}
FIRST_TABLE = "document.querySelector('main table').textContent"
FIRST_PICTURE = "document.querySelector('main .drawing svg')?.textContent ?? ''"
SMALLEST_PX = 11
SMALL = f"""(() => {{
  const small = [];
  const note = (px, what) => px < {SMALLEST_PX} && small.push(`${{px}} px: ${{what.slice(0, 60)}}`);
  for (const one of document.querySelectorAll('body *')) {{
    const says = [...one.childNodes].some((part) => part.nodeType === 3 && part.textContent.trim());
    if (says && !one.closest('svg') && one.getClientRects().length) {{
      note(parseFloat(getComputedStyle(one).fontSize), one.textContent);
    }}
  }}
  for (const svg of document.querySelectorAll('.drawing svg')) {{
    const wide = svg.getBoundingClientRect().width, scale = wide / svg.viewBox.baseVal.width;
    if (!wide || getComputedStyle(svg.parentElement).position === 'absolute') continue;
    const part = svg.closest('.part') && svg.querySelector('use').getAttribute('href');
    for (const text of (part ? document.querySelector(part) : svg).querySelectorAll('text')) {{
      note(scale * parseFloat(getComputedStyle(text).fontSize), text.textContent);
    }}
  }}
  return small;
}})()"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small runs of three experiments, each with its report, and studies of what is kept."""
    cwd = tmp_path_factory.mktemp("pages")
    for name, text in (("quic", QUIC), ("home", HOME), ("lte", LTE)):
        (cwd / f"{name}.py").write_text(text)
        lab.narrows("run", f"{name}.py", "--out", f"results/{name}", cwd=cwd).ok()
        lab.narrows("report", f"results/{name}", cwd=cwd).ok()
    shutil.copy(max((data.at("evidence") / "media").glob("*-cases.runs.parquet")), cwd / "results")
    for name in STUDIES:
        lab.narrows("study", name, "--kept", "--out", f"study_{name}", cwd=cwd).ok()
    return cwd


@pytest.fixture(scope="module")
def served(made: Path) -> Iterator[str]:
    call = [lab.NARROWS, "serve", "results", "--port", "0"]
    with subprocess.Popen(call, cwd=made, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stderr is not None
        match = re.search(r"http://127\.0\.0\.1:\d+", serving.stderr.readline())
        assert match
        yield match[0]
        serving.send_signal(signal.SIGINT)


def test_who_was_tried_stands_in_the_first_table_and_picture_and_can_be_read(made: Path, served: str) -> None:
    files = {
        "results/quic/report/report.html": ["mine"],
        "results/home/report/report.html": ["shaped_by_cake"],
        "results/lte/report/report.html": ["talk", "film"],
        **{f"study_{name}/report.html": [tried] for name, tried in STUDIES.items()},
    }
    pages = {(made / file).as_uri(): tried for file, tried in files.items()}
    pages |= {f"{served}/r/quic": ["mine"], f"{served}/ledger": ["M2"]}
    with Chromium() as browser:
        for address, tried in pages.items():
            browser.look(390, "light")
            browser.open(address)
            for shown in (browser.value(FIRST_TABLE), browser.value(FIRST_PICTURE)):
                assert [name for name in tried if name not in shown] == [], address
            assert browser.value(SMALL) == [], address
            browser.look(1280, "dark")
            assert browser.value(SMALL) == [], address
