"""What reading costs that people wait for: the ledger, a study's page and reports, each a command of its own.

The runs of the reports are 72 short ones, made first; a thousand are copies of these with other seeds. Of the
site it is the first page of the thousand: when it is first asked for, its answer, and when it is asked again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from measure import BenchError, Spread
from rows import Bench, Row

from narrows.engine import layout

ROOT = Path(__file__).resolve().parents[1]
FEW, MANY = 72, 1000
STUDY = "path_properties"
FILE = """'''How do queues differ for a short load?'''

from narrows.spec import Link, axis, bulk, codel, fq_codel, pfifo, repeat, sfq

link = Link(
    rate=axis("rate", ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s"]),
    base_rtt="20 ms",
    queue=axis("queue", [pfifo(), codel(), fq_codel(), sfq()]),
)
flow = bulk(duration="4 s")
repeat(6)
"""


def reading(bench: Bench) -> list[Row]:
    """The ledger with an empty cache and again, a page of kept runs, reports of few and of many runs."""
    with tempfile.TemporaryDirectory(prefix="narrows-bench-") as name:
        folder = Path(name)
        (folder / "small.py").write_text(FILE)
        bench.say(f"making {FEW} runs")
        _call(folder, "run", "small.py", "--out", "few")
        _copies(folder / "few", folder / "many")
        cache = {"NARROWS_CACHE": str(folder / "cache")}
        evidence = ("claims", "--results", str(ROOT / "evidence"))
        first, again, page, few = [], [], [], []
        for i in range(bench.repeats):
            bench.say(f"reading, {i + 1} of {bench.repeats}")
            shutil.rmtree(folder / "cache", ignore_errors=True)
            first.append(_call(folder, *evidence, **cache))
            again.append(_call(folder, *evidence, **cache))
            page.append(_call(folder, "study", STUDY, "--kept", **cache))
            few.append(_call(folder, "report", "few"))
        bench.say(f"a report of {MANY} runs")
        many = [_call(folder, "report", "many")]
        bench.say("the site")
        first_page, run = "/r/all", f"/r/all/run/{0:016x}"
        asked = (first_page, first_page, run, f"{run}/series?from=0&to=500000000")
        loads = [_served(folder, folder / "many", asked, **cache) for _ in range(bench.repeats)]
        opened, opened_again, one_run, window = map(list, zip(*loads, strict=True))
        ledger = _served(folder, ROOT / "evidence", ("/ledger", "/ledger"), **cache)[1:]
    return [
        _row("narrows claims, nothing in the cache", 10, first),
        _row("narrows claims again", 2, again),
        _row(f"narrows study {STUDY} --kept", 5, page),
        _row(f"narrows report of {FEW} runs", 6, few),
        _row(f"narrows report of {MANY} runs", 30, many),
        _row(f"site: first load of {MANY} runs", 2, opened),
        _row(f"site: the same again, of {MANY} runs", 0.2, opened_again),
        _row(f"site: page of one of {MANY} runs", 1, one_run),
        _row("site: series of a window of a run", 0.5, window),
        _row("site: the ledger again", 1, ledger),
    ]


def _row(name: str, most_s: float, wall_s: list[float]) -> Row:
    spread = Spread.of(wall_s)
    what = "from asking to the last byte" if name.startswith("site:") else "of the whole command"
    note = f"wall time {what}, not pinned"
    return Row(
        name, f"≤ {most_s:g} s", f"{spread.median:.2g} s", spread.median <= most_s, note, {"wall_s": wall_s}
    )


def _copies(few: Path, many: Path) -> None:
    """As many whole runs as are wanted: what tells them apart is another in each."""
    known = sorted(path for path in few.iterdir() if (path / layout.MANIFEST).is_file())
    for number in range(MANY):
        run = many / f"{number:016x}"
        shutil.copytree(known[number % len(known)], run)
        manifest = json.loads((run / layout.MANIFEST).read_text())
        manifest |= {"run_id": run.name, "plan_hash": run.name}
        manifest["key"]["seed"] = str(number // len(known) * 6 + int(manifest["key"]["seed"]))
        (run / layout.MANIFEST).write_text(json.dumps(manifest))


def _served(folder: Path, root: Path, asked: tuple[str, ...], **more: str) -> list[float]:
    """Wall seconds of each page, asked for one after another of a site that has just begun."""
    call = [sys.executable, "-m", "narrows.cli.main", "serve", str(root), "--port", "0"]
    with subprocess.Popen(call, cwd=folder, env=os.environ | more, stderr=subprocess.PIPE, text=True) as site:
        try:
            address = re.search(r"http://\S+", site.stderr.readline() if site.stderr else "")
            if address is None:
                raise BenchError("narrows serve does not say where it is")
            found = []
            for path in ("/static/site.js", *asked):  # the first only waits until all code is read
                begun = time.monotonic()
                urllib.request.urlopen(address[0] + path).read()
                found.append(time.monotonic() - begun)
            return found[1:]
        finally:
            site.terminate()


def _call(folder: Path, *words: str, **more: str) -> float:
    """Wall seconds of a command."""
    begun = time.monotonic()
    narrows = [sys.executable, "-m", "narrows.cli.main", *words]
    done = subprocess.run(narrows, cwd=folder, env=os.environ | more, capture_output=True, text=True)
    if done.returncode:
        raise BenchError(f"narrows {' '.join(words)}: {done.stderr.strip()[-500:]}")
    return time.monotonic() - begun
