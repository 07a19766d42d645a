"""`narrows whatif` on the capture of a run predicts what the same run does with another CCA."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

import lab
from narrows.cli.whatif import read_captures
from narrows.whatif.measured import measure
from narrows.whatif.tables import pair_of

pytestmark = pytest.mark.kernel

WORLD = """
link = Link(rate="10 Mbit/s", base_rtt="30 ms", queue=bfifo(limit="75 KB"))
flow = bulk(cca=axis("cca", ["cubic", "bbr"]), bytes="6 MB")
sender = capture("server", snap="96 B")
tap("off")
"""


@pytest.fixture(scope="module")
def cwd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where both arms of the world are, and the capture of the first as a file of its own."""
    cwd = tmp_path_factory.mktemp("whatif")
    lab.experiment(cwd, WORLD)
    lab.narrows("run", "tiny.py", cwd=cwd).ok()
    for manifest in sorted((cwd / "results/tiny").glob("*/plan.json")):
        cca = "bbr" if '"bbr"' in manifest.read_text() else "cubic"
        (manifest.parent / "raw/sender.pcapng").rename(cwd / f"{cca}.pcapng")
    return cwd


def test_the_path_is_written_as_an_experiment_with_the_worlds_numbers(cwd: Path) -> None:
    lab.narrows("whatif", "cubic.pcapng", "--fit", "--out", "fitted", cwd=cwd).ok()
    said = lab.narrows("plan", "fitted/fit.py", cwd=cwd).ok()
    text = (cwd / "fitted/fit.py").read_text()
    assert "rate: 10 Mbit/s" in text
    assert "base RTT: 30 ms" in text
    assert "1 run" in said.out


def test_another_cca_is_predicted_within_the_interval_and_the_worlds_own_run_is_the_truth(cwd: Path) -> None:
    words = ("--was", "cca=cubic", "--draws", "8", "--format", "csv", "--out", "asked")
    said = lab.narrows("whatif", "cubic.pcapng", "--cca", "bbr", *words, cwd=cwd).ok().out
    rows = {row["what"]: row for row in csv.DictReader(io.StringIO(said))}
    log = cwd / "bbr.pcapng"
    truth = measure(pair_of(log, *read_captures([log], cwd / "paths")))
    goodput, delay = rows["goodput"], rows["RTT, 95th percentile"]
    # A full queue of 75 KB at 10 Mbit/s is 60 ms: CUBIC's 95th percentile is near 30 + 60 ms.
    assert float(delay["before"]) == pytest.approx(90, rel=0.1)
    assert float(delay["after"]) == pytest.approx(truth.rtt_p95_s * 1e3, rel=0.2)
    assert float(goodput["low (90 %)"]) <= truth.goodput_bps / 1e6 <= float(goodput["high (90 %)"])
    assert (cwd / "asked/page.html").read_text().count("<figure id=") == 1


def test_a_policers_rate_and_bucket_come_back_and_another_stack_behind_it_can_be_asked_for(cwd: Path) -> None:
    link = 'Link(rate="10 Mbit/s", base_rtt="30 ms", shaper=policer(burst="60 KB"), shaper_up=htb())'
    world = WORLD.replace(WORLD.splitlines()[1], f"link = {link}").replace('["cubic", "bbr"]', '["cubic"]')
    lab.experiment(cwd, world, "policed")
    lab.narrows("run", "policed.py", cwd=cwd).ok()
    (log,) = (cwd / "results/policed").glob("*/raw/sender.pcapng")
    lab.narrows("whatif", log, "--fit", "--out", "policed-fit", cwd=cwd).ok()
    text = (cwd / "policed-fit/fit.py").read_text()
    rate, bucket = (
        float(re.search(rf"^{name}: ([\d.]+) ", text, re.MULTILINE)[1])  # type: ignore[index]
        for name in ("rate", "policer, bucket")
    )
    assert rate == pytest.approx(10, rel=0.01)
    assert bucket == pytest.approx(60, rel=0.08)
    words = ("--stack", "quinn", "--was", "cca=cubic", "--draws", "8", "--format", "csv", "--out", "stack")
    said = lab.narrows("whatif", log, *words, cwd=cwd).ok().out
    rows = {row["what"]: row for row in csv.DictReader(io.StringIO(said))}
    assert {"goodput", "RTT, 95th percentile"} <= rows.keys()
    assert float(rows["goodput"]["after"]) <= 10


def test_a_capture_of_the_receiver_is_one_line(cwd: Path) -> None:
    lab.experiment(cwd, WORLD.replace('"server"', '"client"').replace('["cubic", "bbr"]', '["cubic"]'), "far")
    lab.narrows("run", "far.py", cwd=cwd).ok()
    (log,) = (cwd / "results/far").glob("*/raw/sender.pcapng")
    refused = lab.narrows("whatif", log, "--cca", "bbr", cwd=cwd).failed(1)
    assert "captured at the receiver end" in refused.text
