"""The words that pages begin with, on made-up runs and verdicts: what is said, in which order, and what is
not said because nothing measured it."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_runs import grid, run, shown
from test_claims_many_flows import many
from test_claims_many_flows import plan as many_plan
from test_claims_many_flows import run as many_run

from labels import said as named
from narrows.comparing.conditions import queue_of, queue_rank, rank
from narrows.comparing.outcome import outcome
from narrows.errors import UsageError
from narrows.figures.side_by_side import MOST_ROWS, draw
from narrows.figures.style import colour, queue_name
from narrows.judging.verdict import Number, Verdict, Word
from narrows.report.answer import answer
from narrows.report.asked_figure import asked
from narrows.report.build import build
from narrows.runs.observed import Observed
from narrows.studies.find import all_claims, studies
from narrows.studies.page import answer as study_answer

M = 1_000_000


def condition(queue: str, mbps: float, delay_ms: float, seeds: int, rate: int = 100) -> list[Observed]:
    """Downloads of one condition; the seeds lie 1 Mbit/s and 1 ms apart."""
    return [
        run(
            {"queue": queue, "rate": f"{rate}Mbit", "seed": str(seed)},
            rate * M,
            queue,
            throughput_bps={"down": (mbps + seed) * M},
            loaded_ms={"down": [delay_ms + seed] * 9},
        )
        for seed in range(seeds)
    ]


def test_the_answer_is_a_row_for_each_condition_with_intervals_and_marks() -> None:
    said = answer([*condition("pfifo", 90, 400, 6), *condition("docsis_pie", 80, 10, 6)])
    assert said is not None
    # Rates 90 to 95 and 80 to 85 Mbit/s; round trips 400 to 405 and 10 to 15 ms: the latter differ most.
    assert shown(said.table) == {
        ("pfifo",): {
            "ndt: throughput, download Mbit/s": "92.5 [90–95] best",
            "probe: latency under load, download ms": "402 [400–405] worst",
        },
        ("docsis_pie",): {
            "ndt: throughput, download Mbit/s": "82.5 [80–85] worst",
            "probe: latency under load, download ms": "12.5 [10–15] best",
        },
    }
    assert said.sentence == (
        "probe: latency under load, download is best with docsis_pie (12.5 ms [10–15]), worst with pfifo "
        "(402 ms [400–405])."
    )
    assert said.note.startswith(
        "Each number is the median of n = 6 runs, with its 95 % interval in brackets; throughput as the test"
    )


def test_one_condition_is_said_without_a_name_and_what_was_not_measured_is_not_said() -> None:
    said = answer(condition("pfifo", 90, 400, 1))
    assert said is not None
    assert said.sentence == (
        "probe: latency under load, download 400 ms and ndt: throughput, download 90 Mbit/s."
    )
    assert not any("pload" in column.words or "RPM" in column.words for column in said.table.columns)
    assert said.note.startswith("Each number is of 1 run, without a 95 % interval: that needs 6 runs")


def test_responsiveness_has_a_column_where_a_tool_declares_it() -> None:
    runs = [
        replace(one, figures=dict(one.figures) | named({("test", "up", "rpm"): 92.0}))
        for one in condition("pfifo", 90, 400, 1)
    ]
    said = answer(runs)
    assert said is not None
    assert shown(said.table)[()][": RPM, upload RPM"] == "92"


def test_of_many_conditions_the_best_the_worst_and_what_separates_them_are_said() -> None:
    queues = {"pfifo": 400, "codel": 30, "fq_codel": 12, "sfq": 14}
    rates = ("100Mbit", "50Mbit")
    runs = [
        replace(one, key=dict(one.key) | {"beside": rate})
        for rate in rates
        for queue, delay in queues.items()
        for one in condition(queue, 90, delay + (rate == "50Mbit"), 2)
    ]
    said = answer(runs)
    assert said is not None
    assert said.sentence == (
        "probe: latency under load, download is best with fq_codel, beside 100Mbit (12.5 ms), worst with "
        "pfifo, beside 50Mbit (402 ms); what separates the conditions most is queue (median 13 with "
        "fq_codel, 401 with pfifo)."
    )
    alike = answer([r for queue in queues for r in condition(queue, 90, 12, 2)])
    assert alike is not None
    assert alike.sentence.endswith("is much the same under all conditions: 90.5 Mbit/s.")
    assert not any(mark for row in alike.table.rows for mark in row.marks)


def test_rates_that_differ_are_compared_by_what_of_them_is_used() -> None:
    small = [*condition("pfifo", 90, 1, 2), *condition("codel", 80, 1, 2)]
    large = [*condition("pfifo", 450, 1, 2, 500), *condition("codel", 300, 1, 2, 500)]
    said = answer([*small, *large])
    assert said is not None
    assert "worst with rate 500Mbit, codel (62.8 % of what the link carries)" in said.sentence
    cells = {labels: cell["ndt: throughput, download Mbit/s"] for labels, cell in shown(said.table).items()}
    # 80.5 of 100 is less than 300.5 of 500 Mbit/s, and more of what there is.
    assert cells["100Mbit", "codel"] == "80.5"
    assert cells["500Mbit", "codel"] == "300 worst"


def test_runs_that_load_no_link_have_no_answer_and_no_figure() -> None:
    idle = [run({"queue": "pfifo", "seed": "0"})]
    assert answer(idle) is None
    assert outcome(idle) is None


def test_a_page_says_its_answer_before_its_tiles_and_its_topology(tmp_path: Path) -> None:
    html = build(condition("pfifo", 90, 400, 2), "made_up", tmp_path).html.read_text(encoding="utf-8")
    places = [
        html.index(each)
        for each in (
            "<h1>Is this a made-up study?",
            "ndt: throughput, download 90.5 Mbit/s",
            '<table class="small">',
            'id="side_by_side"',
            '<div class="facts">',
            'id="topology"',
        )
    ]
    assert places == sorted(places)


def test_the_table_of_a_report_is_a_csv_beside_it(tmp_path: Path) -> None:
    build(condition("pfifo", 90, 400, 6), "made_up", tmp_path)
    rows = list(csv.DictReader((tmp_path / "table.csv").open(encoding="utf-8")))
    one = next(row for row in rows if row["quantity"] == "download throughput")
    assert (one["queue"], one["n"], one["median"], one["unit"]) == ("pfifo", "6", "92.5", "Mbit/s")
    assert (one["low"], one["high"]) == ("90.0", "95.0")


def test_a_person_draws_any_quantity_against_any_axis_with_its_numbers_beside_it(tmp_path: Path) -> None:
    runs = [*condition("docsis_pie", 90, 10, 6), *condition("pfifo", 80, 40, 6, 500)]
    words = "download throughput against rate, by queue"
    html = build(runs, "made_up", tmp_path, figures=[words]).html.read_text(encoding="utf-8")
    assert "Download throughput against rate, by queue" in html
    name = "download_throughput_against_rate_by_queue"
    assert (tmp_path / "figures" / f"{name}.csv").read_text(encoding="utf-8").splitlines() == [
        "rate,queue,quantity,unit,over,n,median,low,high",
        "100Mbit,docsis_pie,download throughput,Mbit/s,runs,6,92.5,90.0,95.0",
        "500Mbit,pfifo,download throughput,Mbit/s,runs,6,82.5,80.0,85.0",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("download throughput over rate", "is not understood"),
        ("download throughput against rates", "no run here has an axis 'rates'"),
        ("download goodput against rate", "these runs have no 'download goodput'"),
        ("share by cca against rate", "these runs have no 'share by cca'"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_refused_with_the_word(words: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        asked(words, condition("pfifo", 90, 400, 1))


def test_more_conditions_than_a_sheet_holds_are_pooled_and_the_caption_says_over_what() -> None:
    runs = grid(rates_mbps=(100, 200, 300, 400, 500), seeds=1)
    every = outcome(runs)
    assert every is not None
    assert len(every.keys) > MOST_ROWS
    drawn = draw(runs, "side_by_side", "Side by side")
    assert "To fit one sheet, runs that differ in" in drawn.caption  # type: ignore[union-attr]
    drawn.close()  # type: ignore[union-attr]


@pytest.fixture
def verdicts() -> list[Verdict]:
    words: dict[str, Word] = {
        "C1": "not measured",
        "C2": "holds",
        "C3": "holds in part",
        "C4": "holds in part",
    }
    half = Number(
        "loaded RTT of the probe, median",
        "ms",
        25.0,
        6,
        {"rate": "50Mbit", "queue": "docsis_pie"},
        24.0,
        26.0,
    )
    return [
        Verdict(all_claims()[claim][1].judge.claim, word, "why", () if word == "not measured" else (half,))
        for claim, word in words.items()
    ]


def test_a_study_says_in_words_how_many_claims_hold_and_then_its_headline(verdicts: list[Verdict]) -> None:
    counted, headline, rest = study_answer(verdicts, [], "operator")
    assert counted == (
        "Of four claims, one holds (C2), two hold in part (C3, C4) and one was not measured (C1)."
    )
    assert headline.startswith("The headline claim C2, “DOCSIS-PIE halves classic loaded latency")
    assert headline.endswith(
        "holds: loaded RTT of the probe, median 25 ms [24 to 26] (n = 6; 50 Mbit/s, docsis_pie)."
    )
    assert rest == "No run decides any claim yet."


def test_claims_that_are_all_alike_are_counted_once(verdicts: list[Verdict]) -> None:
    assert study_answer(verdicts[2:], [], "operator")[0] == "Both claims hold in part."


def test_every_study_names_a_claim_of_its_own_as_its_headline() -> None:
    for name, of in studies().items():
        assert all_claims()[of.headline][0] == name


def test_a_headline_that_was_not_measured_is_not_said(verdicts: list[Verdict]) -> None:
    assert len(study_answer([verdicts[0]], [], "operator")) == 2


def test_a_report_of_many_flows_begins_with_what_they_took_and_how_fairly() -> None:
    runs = []
    for queue, jain, used in (("pfifo", 0.61, 0.97), ("fq_codel", 0.99, 0.95)):
        for seed in range(2):
            made = many_run(seed, many_plan(100e6, {"bbr": 10}), many(jain=jain, utilisation=used))
            runs.append(replace(made, key={"queue": queue, "seed": str(seed)}))
    said = answer(runs)
    assert said is not None
    cells = [tuple(row.values()) for row in shown(said.table).values()]
    assert cells == [("97 best", "0.61 worst"), ("95 worst", "0.99 best")]


def test_labels_stand_in_the_order_of_their_numbers_and_are_shown_as_they_were_written() -> None:
    for labels in (
        ("8", "50", "1024"),
        ("n8", "n50", "n1024"),
        ("8ms", "50ms", "1.024s"),
        ("off", "1x", "9x"),
        ("0.11.9", "0.11.19"),
    ):
        assert sorted(set(labels), key=lambda text: rank("axis", text)) == list(labels)
    assert sorted(["my10", "my9", "codel", "pfifo"], key=lambda text: rank("queue", text)) == [
        "pfifo", "codel", "my9", "my10",
    ]  # fmt: skip
    runs = [run({"queue": label, "seed": "0"}, 100 * M, kind) for label, kind in
            (("docsis_pie", "pie"), ("pie", "pie"), ("my-fifo", "pfifo"))]  # fmt: skip
    shown = sorted({queue_of(one) for one in runs}, key=queue_rank)
    assert [queue_name(queue) for queue in shown] == ["my-fifo", "PIE", "DOCSIS-PIE"]
    assert [colour(queue) for queue in shown[:2]] == [colour("pfifo"), colour("pie")]
    assert len({colour(queue) for queue in shown}) == 3
    # a run without such an axis has the kind that Linux calls it
    assert queue_name(queue_of(run({"seed": "0"}, 100 * M, "fq_codel"))) == "FQ-CoDel"
