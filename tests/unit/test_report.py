"""The report on made-up runs: what is drawn, what is said to be missing, and that the page stands alone."""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up_runs import DOWN, grid, run

from narrows.comparing.conditions import facet_title, given, group, labels, rate_text, varying
from narrows.figures.distributions import distributions
from narrows.figures.drawing import Drawing, Missing
from narrows.figures.side_by_side import draw as side_by_side
from narrows.figures.topology import time_text
from narrows.report.build import build, tc_commands
from narrows.report.deviations import deviations
from narrows.report.page import number
from narrows.report.table import summary
from narrows.runs.loaded import probe_rtts_ms, window
from narrows.runs.observed import select
from narrows.studies import page
from narrows.studies.aqm.figures import paper_figures
from narrows.studies.ledger import judge_all

KEY = {"rate": "100Mbit", "queue": "fq_codel", "burst": "off", "cross": "no", "seed": "0"}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("report")
    failed = run({**KEY, "seed": "9"}, status="failed")
    built = build([*grid(seeds=1), failed], "made_up", out, files=True)
    assert built.missing == ()
    return out, built.html.read_text(encoding="utf-8")


def test_the_page_loads_nothing_from_elsewhere(report: tuple[Path, str]) -> None:
    _, html = report
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!data:|#)[^"']*""", html)
    assert "<script" not in html
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)


def test_every_figure_is_a_png_a_pdf_and_a_caption_that_names_its_runs(report: tuple[Path, str]) -> None:
    out, html = report
    pngs = sorted((out / "figures").glob("*.png"))
    assert [png.stem for png in pngs] == ["distributions", "side_by_side", "topology"]
    for png in pngs:
        assert png.with_suffix(".pdf").stat().st_size > 1000
        facts = json.loads(png.with_suffix(".json").read_text())
        assert facts["runs"]
        assert "n = " in facts["caption"]
        assert f'id="{facts["name"]}"' in html


def test_the_page_lists_failed_runs_with_their_error(report: tuple[Path, str]) -> None:
    assert "tc said no" in report[1]


def test_the_page_has_the_exact_tc_lines(report: tuple[Path, str]) -> None:
    assert "tc class add dev eth0 parent 1: classid 1:11 htb rate 100000kbit ceil 100000kbit" in report[1]


def test_a_condition_that_was_not_measured_is_said_and_not_drawn() -> None:
    runs = select(grid(rates_mbps=(100,), seeds=1), burst="off", cross="no")
    results = [make() for make in paper_figures(runs)]
    drawn = [r.name for r in results if isinstance(r, Drawing)]
    missing = {r.name: r.reason for r in results if isinstance(r, Missing)}
    assert drawn == ["paper_fig1", "paper_fig2", "paper_fig7"]
    assert missing["paper_fig3"] == "no run here is with burst shaping, without cross traffic"
    assert missing["paper_fig9"].endswith("at 900 Mbit/s")
    for result in results:
        if isinstance(result, Drawing):
            result.close()


def test_a_directory_of_failed_runs_gives_a_page_that_says_so(tmp_path: Path) -> None:
    built = build([run(KEY, status="failed")], "made_up", tmp_path)
    html = built.html.read_text(encoding="utf-8")
    assert "No run of this directory counts" in html
    assert "distributions" in {m.name for m in built.missing}


def test_a_report_keeps_no_figure_of_an_earlier_one(tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    folder.mkdir()
    for name in ("earlier.png", "earlier.pdf", "of_a_person.json", "of_a_person.png"):
        (folder / name).touch()
    (folder / "earlier.json").write_text(json.dumps({"name": "earlier", "runs": []}))
    build([run(KEY, status="failed")], "made_up", tmp_path)
    assert {path.stem for path in folder.iterdir()} == {"of_a_person"}


def test_figures_of_runs_without_probe_or_tap_are_missing_instead_of_empty() -> None:
    bare = [run(KEY, throughput_bps={"down": 95e6})]
    assert isinstance(distributions(bare, "a", "A"), Missing)
    drawn = side_by_side(bare, "a", "A")
    assert isinstance(drawn, Drawing)
    drawn.close()


def test_the_same_runs_draw_the_same_bytes() -> None:
    def draw() -> bytes:
        figure = side_by_side(grid(rates_mbps=(100,), seeds=2), "a", "A")
        assert isinstance(figure, Drawing)
        png = figure.png()
        figure.close()
        return png

    assert draw() == draw()


def test_gathering_splits_the_probe_into_idle_and_loaded() -> None:
    # idle: 3 probes from t = 0; the test's download starts at 7 s
    made = run(
        KEY, throughput_bps={"down": 95e6}, idle_ms=[0.5, 0.5, 0.6], loaded_ms={"down": [3.0, None, 4.0]}
    )
    assert made.idle == (0, DOWN[0])
    assert probe_rtts_ms(made, "idle").tolist() == [0.5, 0.5, 0.6]
    assert probe_rtts_ms(made, "down").tolist() == [3.0, 4.0]  # the lost one is missing, not zero
    assert probe_rtts_ms(made, "up").size == 0
    probe = made.probe()
    assert probe is not None
    assert np.isnan(probe.rtt_ms.value).sum() == 1
    assert window(made, "down") == (DOWN[0], DOWN[1] + 1)


def test_a_row_of_the_table_is_of_one_number_a_run() -> None:
    made = [
        run(
            {**KEY, "seed": str(s)},
            throughput_bps={"down": (90 + s) * 1e6},
            loaded_ms={"down": [1.0 + s] * 10},
        )
        for s in range(3)
    ]
    rows = {row.quantity: row for row in summary(made).rows}
    # throughputs 90, 91, 92: median 91; medians of the probes: 1, 2, 3 ms
    assert (rows["download throughput"].values.n, rows["download throughput"].values.median) == (3, 91.0)
    assert (rows["download probe RTT"].values.n, rows["download probe RTT"].values.median) == (3, 2.0)
    assert not any(name.startswith("upload") for name in rows)


def test_runs_of_several_experiments_are_never_pooled_and_the_page_names_each(tmp_path: Path) -> None:
    # the same axes and labels, but one asks about downloads beside an upload
    made = [
        replace(
            run({**KEY, "seed": seed}, throughput_bps={"down": mbps * 1e6}), experiment=name, question=asked
        )
        for name, asked, mbps in (("alone", "How fast?", 90), ("beside", "How fast beside it?", 40))
        for seed in "01"
    ]
    table = summary(made)
    assert table.axes[0] == "experiment"
    rows = {row.condition[0]: row.values for row in table.rows if row.quantity == "download throughput"}
    assert {name: (values.n, values.median) for name, values in rows.items()} == {
        "alone": (2, 90),
        "beside": (2, 40),
    }
    assert summary(made[:2]).axes[0] == "rate"
    html = build(made, "both.runs.parquet", tmp_path).html.read_text(encoding="utf-8")
    assert "Runs of 2 experiments" in html
    assert "<dt>beside: 2 runs</dt><dd>How fast beside it?</dd>" in html


def test_a_label_that_an_experiment_does_not_have_is_not_counted_among_those_it_has() -> None:
    made = [run({**KEY, "rtt": rtt}) for rtt in ("20ms", "100ms")] + [run(KEY)]
    assert labels(made, "rtt") == ["20ms", "100ms", "-"]
    assert given(made, "rtt") == ["20ms", "100ms"]


def test_conditions_sort_by_size_and_off_comes_first() -> None:
    made = [run({**KEY, "rate": r, "burst": b}) for r in ("1Gbit", "200Mbit") for b in ("text", "off")]
    assert labels(made, "rate") == ["200Mbit", "1Gbit"]
    assert labels(made, "burst") == ["off", "text"]
    assert list(group(made, ["burst"])) == [("off",), ("text",)]
    assert varying(made) == ["rate", "burst"]
    assert facet_title(["burst", "cross"], ["off", "no"]) == "burst off, cross no"


def test_deviations_follow_from_the_plans() -> None:
    exact = deviations([run(KEY)])
    assert any("every timer fires exactly on time" in d for d in exact)
    late = deviations([run(KEY, timer=(10_000, 30_000))])
    assert any("10 µs to 30 µs" in d for d in late)
    assert not any("every timer fires exactly" in d for d in late)
    assert deviations([]) == []


def test_runs_with_the_same_tc_lines_are_listed_once() -> None:
    commands = tc_commands([run({**KEY, "seed": str(s)}) for s in range(3)] + [run(KEY, queue="sfq")])
    assert sorted(len(c.run_ids) for c in commands) == [1, 3]


def test_tc_lines_are_headed_by_what_tells_their_runs_from_the_others() -> None:
    two = [run({**KEY, "cross": cross}) for cross in ("up", "down")]
    other = dataclasses.replace(run({**KEY, "cross": "no"}, queue="sfq"), experiment="another")
    heads = [c.conditions for c in tc_commands([*two, other])]
    assert any("experiment another" in head and "cross no" in head for head in heads)
    assert any("cross down or up" in head for head in heads)
    assert all("cross" not in c.conditions for c in tc_commands(two))  # tells nothing from nothing
    assert all("experiment" not in c.conditions for c in tc_commands(two))


def test_numbers_are_written_without_inventing_zeros() -> None:
    assert (number(None), number(0.0), number(0.012345), number(123456.0)) == ("–", "0", "0.01235", "123456")
    assert (rate_text(1e9), rate_text(150e6), time_text(250_000)) == ("1 Gbit/s", "150 Mbit/s", "250 µs")


def test_a_studys_page_counts_its_verdicts_and_draws_its_own_figures(tmp_path: Path) -> None:
    runs = grid(seeds=1)
    verdicts = judge_all(runs, ["R2", "R7", "R10"])
    built = page.build("aqm", runs, verdicts, tmp_path)
    html = built.html.read_text(encoding="utf-8")
    assert len(set(re.findall(r'<figure id="paper_fig(\d)"', html))) == 9
    assert not (tmp_path / "figures").exists()
    assert (
        html.index('id="verdicts"') < html.index("one was not measured (R10)") < html.index('id="paper_fig1"')
    )
    assert all(f'id="{v.claim.id}"' in html for v in verdicts)
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!data:|#)[^"']*""", html)


def test_a_report_of_an_experiment_has_no_figure_of_a_paper(report: tuple[Path, str]) -> None:
    assert "of the paper" not in report[1]
