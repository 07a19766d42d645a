"""`narrows serve` in a real browser, at the widths of a desk and of a phone."""

from __future__ import annotations

import re
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

import lab

pytestmark = [pytest.mark.kernel, pytest.mark.slow, pytest.mark.needs("chromium")]

EXPERIMENT = '''"""Which queue keeps the delay low?"""
from narrows.spec import *

rate = axis("rate", ["10 Mbit/s", "20 Mbit/s"])
link = Link(rate=rate, base_rtt="20 ms", queue=axis("queue", [pfifo(limit=100), cake()]))
flow = bulk(duration="1 s")
probe = udp_probe(interval="10 ms", stop=with_(flow))
capture()
'''


def browser(*words: str | Path) -> str:
    call = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *words]
    return subprocess.run(call, capture_output=True, text=True, check=True, timeout=120).stdout


def test_a_map_leads_to_its_runs_and_a_run_to_its_series_and_files(tmp_path: Path) -> None:
    (tmp_path / "site.py").write_text(EXPERIMENT)
    lab.narrows("run", "site.py", "--out", "results/site", cwd=tmp_path).ok()
    call = [lab.NARROWS, "serve", "results", "--port", "0"]
    with subprocess.Popen(call, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stderr is not None
            told = re.search(r"http://127\.0\.0\.1:\d+", serving.stderr.readline())
            assert told
            address = told[0]
            page = browser("--dump-dom", f"{address}/r/site/heat?quantity=download throughput")
            cells = re.findall(r'href="(/r/site/cell\?[^"]+)"', page)
            assert len(cells) == 4
            runs = browser("--dump-dom", address + cells[0].replace("&amp;", "&"))
            (run,) = set(re.findall(r"/r/site/run/[0-9a-f]{16}", runs))
            shown = browser("--dump-dom", address + run)
            assert "Sojourn time in the queue" in shown
            for width in (1280, 390):
                picture = tmp_path / f"{width}.png"
                browser(f"--window-size={width},1200", f"--screenshot={picture}", address + run)
                assert picture.stat().st_size > 20_000  # an empty page has a tenth of that
            with urllib.request.urlopen(f"{address}{run}/file/queue.parquet") as file:
                assert file.read(4) == b"PAR1"
            assert re.search(rf"{run}/file/[\w.-]+\.pcapng", shown)
        finally:
            serving.send_signal(signal.SIGINT)
            serving.wait(timeout=30)
