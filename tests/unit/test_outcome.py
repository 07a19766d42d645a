"""Who got what: numbers computed by hand, the order in which items are told, the sentences, and the last
lines of a terminal; then the same of kept evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import made_up_trials
import numpy as np
import polars as pl
import pytest
from made_up_runs import shown

import lab
from labels import said
from narrows.cli.answer_view import MORE, MOST_LINES, lines
from narrows.comparing.items import frame, got
from narrows.comparing.outcome import LINK, MADE, MET, RATE, SHARE, outcome, separating, told
from narrows.comparing.pair_shares import summaries
from narrows.comparing.trials import trials
from narrows.comparing.words import number
from narrows.figures.side_by_side import draw
from narrows.report.answer import answer
from narrows.report.build import build
from narrows.runs.find import runs_below
from narrows.runs.observed import Observed

S = made_up_trials.S
TEXT = (
    'link = Link(rate="8 Mbit/s", base_rtt="50 ms", queue=pfifo(limit=128))\n'
    'a = bulk(cca="bbr", stop="10 s")\nb = bulk(cca="reno", stop="10 s")\n'
)
EVIDENCE = Path(__file__).parents[2] / "evidence"
Figures = Mapping[tuple[str, str | None, str], float]


def two(
    directory: Path,
    queue: str,
    rates_mbps: tuple[float, float],
    figures: Figures | None = None,
    seed: int = 0,
) -> Observed:
    """Two bulk flows that had these rates; what they waited is 10 ms and 20 ms."""
    plan = lab.plans(directory, TEXT)[0]
    key = {"queue": queue, "seed": str(seed)}
    run = made_up_trials.trial(plan, key, list(rates_mbps))
    spans = {name: {"start_ns": 0, "end_ns": 10 * S} for name in "ab"}
    known: dict[tuple[str, str | None, str], float] = dict(figures or {})
    for name, waited in (("a", 10.0), ("b", 20.0)):
        known["bottleneck/" + name, "down", "tap_departed_bytes"] = 1e6
        known["bottleneck/" + name, "down", "sojourn_p50_ms"] = waited
    return replace(run, manifest={"items": spans}, figures=said(known), folder=directory)


def test_each_item_has_its_rate_its_share_and_the_delay_that_it_met_and_made(tmp_path: Path) -> None:
    every = outcome([two(tmp_path, "pfifo", (6, 2)), two(tmp_path, "fq_codel", (4, 4))])
    assert every is not None
    assert every.axes == ("queue",)
    assert every.keys == (("pfifo",), ("fq_codel",))
    assert every.items == ("b", "a"), "what got less comes first"
    values = {(m.whose, m.kind): dict(m.values) for m in every.measures}
    assert values["a", RATE] == {("pfifo",): pytest.approx((6.0,)), ("fq_codel",): pytest.approx((4.0,))}
    # Of 8 Mbit/s 4 are fair for each of two that can take all of it.
    assert values["b", SHARE] == {("pfifo",): pytest.approx((50.0,)), ("fq_codel",): pytest.approx((100.0,))}
    assert (values["b", MET]["pfifo",], values["b", MADE]["pfifo",]) == ((20.0,), (10.0,))
    assert not [m for m in every.measures if m.kind == LINK], "the throughput of one of them is no answer"


def test_the_answer_has_both_items_under_both_conditions(tmp_path: Path) -> None:
    found = answer([two(tmp_path, "pfifo", (6, 2)), two(tmp_path, "fq_codel", (4, 4))])
    assert found is not None
    assert shown(found.table)["pfifo",] == {
        "b: rate Mbit/s": "2 worst",
        "b: share of its fair rate %": "50 worst",
        "b: median time in the queue ms": "20",
        "a: rate Mbit/s": "6 best",
        "a: share of its fair rate %": "150 best",
        "a: median time in the queue ms": "10",
    }
    assert found.sentence == "b: rate is best with fq_codel (4 Mbit/s), worst with pfifo (2 Mbit/s)."
    assert (
        found.brief == "Each number is of 1 run, without a 95 % interval: that needs 6 runs of a condition."
    )


def test_an_item_that_says_how_it_fares_comes_first_by_what_differs(tmp_path: Path) -> None:
    def with_video(queue: str, rates: tuple[float, float], stalls: float) -> Observed:
        own = {
            ("a", "down", "video_mean_rung_bps"): 3e6,
            ("a", None, "video_stalls"): stalls,
            ("a", None, "video_switches"): 2.0,
            ("a", None, "video_frames_dropped"): 1.0,
            ("b", "down", "bulk_goodput_bps"): 1e6,
            ("b", None, "bulk_retransmission_ratio"): 0.01,
        }
        return two(tmp_path, queue, rates, own)

    runs = [with_video("pfifo", (6, 2), 3), with_video("fq_codel", (4, 4), 0)]
    found = answer(runs)
    assert found is not None
    heads = [f"{c.whose}: {c.words}" for c in found.table.columns]
    assert heads == [
        "a: mean bitrate chosen by the player", "a: stalls", "a: share of its fair rate",
        "b: rate", "b: share of its fair rate", "b: median time in the queue",
    ]  # fmt: skip
    assert [shown(found.table)[queue,]["a: stalls"] for queue in ("pfifo", "fq_codel")] == [
        "3 worst",
        "0 best",
    ]
    table = next(each for each in found.tables if each.name == "a")
    assert [c.words for c in table.columns][:3] == [
        "rate", "share of its fair rate", "mean bitrate chosen by the player",
    ]  # fmt: skip
    assert "frames dropped" not in [c.words for c in table.columns], "a check is no result"
    drawn = draw(runs, "side_by_side", "Who got what")
    titles = [axes.get_title(loc="left") for axes in drawn.figure.axes]  # type: ignore[union-attr]
    assert [title.replace("\n", " ") for title in titles] == [
        "a: mean bitrate chosen by the player", "a: stalls", "Share of its fair rate", "Rate",
        "Median time in the queue",
    ]  # fmt: skip
    drawn.close()  # type: ignore[union-attr]


def test_what_had_ended_by_itself_is_done_and_nobody_has_a_share_beside_it(tmp_path: Path) -> None:
    def loaded(queue: str, rates: tuple[float, float], load_ms: float) -> Observed:
        return two(tmp_path, queue, rates, {("a", None, "page_load_ms"): load_ms})

    runs = [loaded("pfifo", (0, 8), 2200), loaded("fq_codel", (0, 7), 1300)]
    found = answer(runs)
    assert found is not None
    cells = shown(found.table)
    assert [cells[queue,]["a: load time ms"] for queue in ("pfifo", "fq_codel")] == [
        "2200 worst",
        "1300 best",
    ]
    assert [cells[queue,]["b: rate Mbit/s"] for queue in ("pfifo", "fq_codel")] == ["8 best", "7 worst"]
    rates = {each.name: [row.cells[0] for row in each.rows] for each in found.tables}
    assert rates == {"a": ["done", "done"], "b": ["8", "7"]}
    assert not [c.words for each in found.tables for c in each.columns if "share" in c.words]
    assert "done: it had ended by itself" in found.note
    drawn = draw(runs, "side_by_side", "Who got what")
    assert [axes.get_title(loc="left") for axes in drawn.figure.axes][:2] == ["a: load time", "Rate"]  # type: ignore[union-attr]
    drawn.close()  # type: ignore[union-attr]
    # What did not end is starved, and one whose load reaches into that time takes no equal part of the link.
    starved = outcome([two(tmp_path, "pfifo", (0, 8))])
    assert starved is not None
    assert starved.one("a", SHARE, "down").values == {(): (0.0,)}  # type: ignore[union-attr]
    late = outcome([loaded("pfifo", (1, 7), 5000)])
    assert late is not None
    assert (late.one("a", RATE, "down").values, late.one("b", SHARE, "down")) == ({(): (1.0,)}, None)  # type: ignore[union-attr]


def test_what_is_there_under_every_condition_comes_before_what_an_axis_adds(tmp_path: Path) -> None:
    text = (
        'link = Link(rate="8 Mbit/s", base_rtt="50 ms")\nquic = command("x", endpoint="@server:443")\n'
        'cross = axis("cross", {"alone": None, "tcp": bulk(cca="cubic", stop="10 s")})\n'
    )
    alone, beside = lab.plans(tmp_path, text.replace('"x"', '["true"]'))
    runs = []
    for plan, rates in ((alone, [7.0]), (beside, [7.0, 1.0])):
        names = [part.item for part in plan.traffic]
        run = made_up_trials.trial(plan, {**plan.key}, rates)
        spans = {name: {"start_ns": 0, "end_ns": 10 * S} for name in names}
        bytes_of = {("bottleneck/" + name, "down", "tap_departed_bytes"): 1e6 for name in names}
        runs.append(replace(run, manifest={"items": spans}, figures=said(bytes_of)))
    found = answer(runs)
    assert found is not None
    assert [whose for whose, _ in found.table.items] == ["quic", "cross"]
    assert [row["quic: rate Mbit/s"] for row in shown(found.table).values()] == ["7", "7"]
    assert shown(found.table)["tcp",]["quic: share of its fair rate %"] == "175"


def test_equal_repetitions_count_as_one_also_as_trials(tmp_path: Path) -> None:
    runs = [two(tmp_path, "pfifo", (6, 2), seed=seed) for seed in range(3)]
    every = outcome(runs)
    assert every is not None
    assert [len(m.values["",] if ("",) in m.values else m.values[()]) for m in every.measures] == [1] * len(
        every.measures
    )
    found = answer(every)
    assert found is not None
    assert "2 repetitions are equal to another to the last digit and not counted" in found.note
    plan = made_up_trials.plans(tmp_path)["x"]
    figures = {("a", "down", "bulk_goodput_bps"): 2e6}
    same = [
        replace(
            made_up_trials.trial(plan, {"pair": "x", "seed": str(seed)}, [2.0], figures=figures),
            folder=tmp_path,
        )
        for seed in range(3)
    ]
    assert [one.n for one in summaries(trials(same))] == [1]


def test_of_pairs_each_service_is_told_beside_the_other_then_alone_then_with_itself(tmp_path: Path) -> None:
    plans = made_up_trials.plans(tmp_path)
    rates = {"x": [8.0], "y": [8.0], "x+y": [3.0, 5.0], "x+x": [5.68, 1.4], "y+y": [4.0, 4.0]}
    found = answer([made_up_trials.trial(plans[p], {"pair": p, "seed": "0"}, r) for p, r in rates.items()])
    assert found is not None
    cells = {pair: row for (pair,), row in shown(found.table).items()}
    rate, share = "x: rate Mbit/s", "x: share of its fair rate %"
    assert (cells["x+y"][rate], cells["x+y"][share]) == ("3 worst", "75 worst")
    assert (cells["x+y"]["y: rate Mbit/s"], cells["x+y"]["y: share of its fair rate %"]) == ("5", "125 best")
    assert (cells["x"][rate], cells["x"][share]) == ("8 best", "–")
    # Of two equal services one got 5.68 of 8 Mbit/s, of which 4 are fair, and the other 1.4.
    assert (cells["x+x"][rate], cells["x+x"]["x (2): rate Mbit/s"]) == ("5.68", "1.4")
    assert (cells["x+x"][share], cells["x+x"]["x (2): share of its fair rate %"]) == ("142 best", "35")


def test_the_axis_that_separates_most_is_told_all_else_equal(tmp_path: Path) -> None:
    rates = {
        ("pfifo", "1"): (6, 2),
        ("pfifo", "2"): (5, 3),
        ("fq_codel", "1"): (4.4, 3.6),
        ("fq_codel", "2"): (4, 4),
    }
    runs = []
    for (queue, burst), both in rates.items():
        one = two(tmp_path, queue, both)  # type: ignore[arg-type]
        runs.append(replace(one, key={"queue": queue, "beside": burst, "seed": "0"}))
    every = outcome(runs)
    assert every is not None
    share = every.one("b", SHARE, "down")
    assert share is not None
    first, second = separating(share, every.axes)
    # Of b: 50 and 75 % with pfifo, 90 and 100 % with fq_codel; so 32.5 % by the queue, 17.5 % by the other.
    assert (first.name, first.effect) == ("queue", pytest.approx(32.5))
    assert (second.name, second.effect) == ("beside", pytest.approx(17.5))
    found = answer(every)
    assert found is not None
    assert (
        "what separates the conditions most is queue (median 2.5 with pfifo, 3.8 with fq_codel)"
        in found.sentence
    )


def test_upstream_a_services_demand_is_what_it_takes_there(tmp_path: Path) -> None:
    plans = made_up_trials.plans(tmp_path)
    runs = []
    for pair, rates in {"x": [1.0], "y": [8.0], "x+y": [1.0, 7.0]}.items():
        run = made_up_trials.trial(plans[pair], {"pair": pair, "seed": "0"}, [9.0] * len(rates))
        up = made_up_trials.trial(plans[pair], {"pair": pair, "seed": "0"}, rates).queues["down"]
        names = [part.item for part in plans[pair].traffic]
        sizes = {("bottleneck/" + n, way, "tap_departed_bytes"): 1e6 for n in names for way in ("down", "up")}
        runs.append(
            replace(run, queues={**run.queues, "up": replace(up, direction="up")}, figures=said(sizes))
        )
    shares = {(g.called, g.direction): g.share for g in got(runs) if g.run is runs[2]}
    assert shares["x", "up"] == pytest.approx(1.0), "x takes 1 of 8 Mbit/s alone: that is its fair rate"
    assert shares["y", "up"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("figure", "unit", "is_told"),
    [
        ("rate_bps", "bit/s", (1e-6, "Mbit/s")),
        ("share", "1", (100.0, "%")),
        ("probe_loss_ratio", "1", (100.0, "%")),
        ("call_height", "1", (1.0, "1")),
        ("page_load_ms", "ms", (1.0, "ms")),
    ],
)
def test_a_part_of_a_whole_is_told_in_percent_and_a_count_is_not(
    figure: str, unit: str, is_told: tuple[float, str]
) -> None:
    assert told(figure, unit) == is_told


def test_a_terminal_gets_at_most_twelve_lines_and_hears_that_there_is_more() -> None:
    sentences = [f"{n} " + "word " * 60 for n in range(6)]
    shown = lines(sentences, "Each number is of 1 run.", 80)
    assert len(shown) <= MOST_LINES
    assert shown[-2:] == [MORE, "Each number is of 1 run."]
    assert all(len(line) <= 80 for line in shown)
    assert lines(["a b"], "n.", 80) == ["a b", "n."]
    assert lines(sentences[:1], "", None) == sentences[:1], "a line of a pipe is not folded"
    assert len(lines(["word " * 600], "n.", 80)) <= MOST_LINES


def test_a_page_opens_with_the_numbers_of_the_table_items(tmp_path: Path) -> None:
    """Of real evidence: what `narrows query` reads is what the page shows."""
    wanted = {"rate": "8Mbit", "length": "60s"}.items()
    every = [r for r in runs_below([EVIDENCE / "prudentia"]) if r.experiment == "t09_all_pairs"]
    every = [run for run in every if wanted <= run.key.items()]
    runs = [run for run in every if run.key.get("pair") in ("dash", "bbr", "bbr+dash")]
    found = outcome(runs)
    assert found is not None
    table = frame(list(found.runs)).filter(pl.col("direction") == "down")
    for kind, figure, scale in ((RATE, "shared_bps", 1e-6), (SHARE, "share", 100.0)):
        for whose in ("dash", "bbr"):
            rows = table.filter((pl.col("called") == whose) & (pl.col("quantity") == figure))
            ids = [run.run_id for run in found.runs if run.key["pair"] == "bbr+dash"]
            values = rows.filter(pl.col("run_id").is_in(ids))["value"].to_list()
            measure = found.one(whose, kind, "down")
            assert measure is not None
            key = next(key for key in measure.values if "bbr+dash" in key)
            assert sorted(measure.values[key]) == pytest.approx(sorted(scale * value for value in values))
            said = number(float(np.median(values)) * scale)
            if kind == SHARE:
                cells = [cell for row in answer(runs).table.rows for cell in row.cells]  # type: ignore[union-attr]
                assert any(cell.startswith(said) for cell in cells)
    html = build(runs, "kept", tmp_path).html.read_text(encoding="utf-8")
    first = answer(runs).sentence  # type: ignore[union-attr]
    assert (
        html.index(first.split("%")[0]) < html.index('id="pairs_share"') < html.index('<div class="facts">')
    )
