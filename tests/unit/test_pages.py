"""What pages are made of: figures in a page's own ink, one colour for an item, pass marks, what tools say of
queues, and where packets wait; every number is worked out by hand."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from made_up_runs import run, shown
from test_outcome import two

from narrows.comparing.expectations import Verdict
from narrows.figures.drawing import Drawing
from narrows.figures.style import ITEMS, canvas, item_colours, styled
from narrows.figures.vector import LEAST_PX, LONG, short, themed
from narrows.report.answer import answer, of_each
from narrows.report.marks import FILE, marks
from narrows.serve.answers import KEPT, Said
from narrows.tools.identify import verdict

KEY = {"queue": "pfifo", "seed": "0"}


def panels(count: int) -> Drawing:
    figure, grid = canvas(1, count)
    with styled():
        for axes in grid[0]:
            axes.plot([1, 2], [1, 2], color=ITEMS[0], label="mine")
            axes.set_title("a title")
    return Drawing("two", "Two", "", (), figure)


def test_a_figure_of_a_page_has_its_ink_its_text_as_text_and_a_part_for_each_panel() -> None:
    drawing = panels(2)
    found = drawing.vector()
    drawing.close()
    assert ">a title</text>" in found.body
    assert "#000000" not in found.body
    assert f"light-dark({ITEMS[0]}, " in found.body
    assert set(re.findall(r'xlink:href="#(\w+)-', found.body)) <= {"two"}, "ids of two figures never clash"
    assert len(found.parts) == 2
    # At its least width the smallest text has the least size: a box of 200 pt with text of 8 pt.
    least = int(re.search(r"min-width:(\d+)px", found.style((0, 0, 200, 100)))[1])  # type: ignore[index]
    assert least * found.least_pt / 200 == pytest.approx(LEAST_PX, rel=0.01)
    single = panels(1)
    assert single.vector().parts == ()
    single.close()


@pytest.mark.parametrize(
    ("colour", "css"),
    [
        ("#000000", "currentColor"),
        ("#ffffff", "var(--page)"),
        ("#dddddd", "light-dark(#dddddd, #434343)"),  # lightness 0.867, so 1 - 0.85 * 0.867 = 0.263
    ],
)
def test_black_is_the_pages_ink_and_greys_are_turned_over(colour: str, css: str) -> None:
    assert themed(colour) == css


def test_a_path_tells_each_point_from_the_one_before_and_errs_by_half_a_step_at_most() -> None:
    # (28.27, -121.08), then + 0.79 and + 121.03; the curve's points are all told from its beginning.
    told = short(
        "M 28.274685 -121.081803 \nL 29.064055 -0.05 \nL 12 -0.5 \nz\nM 1 2 \nC 1.5 2.25 3 3 3.5 4 \n"
    )
    assert told == "M28.27-121.08l.79 121.03-17.06-.45zM1 2c.5.25 2 1 2.5 2"
    points = [(0.7351 * n, 50 * (n % 7) ** 0.5) for n in range(300)]
    long = " \n".join(f"{'L' if n else 'M'} {x:.6f} {y:.6f}" for n, (x, y) in enumerate(points))
    assert len(long) > LONG
    steps = [float(word) for word in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", short(long))]
    assert len(short(long)) < 0.5 * len(long)
    x = y = 0.0
    for n, (right_x, right_y) in enumerate(points):
        x, y = x + steps[2 * n], y + steps[2 * n + 1]
        assert (x, y) == pytest.approx((right_x, right_y), abs=0.0501)


def test_an_item_has_one_colour_whatever_else_is_there(tmp_path: Path) -> None:
    both = two(tmp_path, "pfifo", (6, 2))
    assert item_colours([both]) == {"a": ITEMS[0], "b": ITEMS[1]}
    probed = item_colours([run(KEY, loaded_ms={"down": [1.0]}, throughput_bps={"down": 1e6})])
    assert (probed["ndt"], probed["probe"]) == (ITEMS[0], ITEMS[-1])


def test_pass_marks_stand_with_those_that_fail_first_and_only_of_the_runs_that_are_there(
    tmp_path: Path,
) -> None:
    def judged(mark: str, value: float, runs: tuple[str, ...], holds: bool) -> dict[str, object]:
        return asdict(Verdict(mark, {"queue": "pfifo"}, 1, 1, value, "ms", holds, "", runs=runs))

    own = replace(run(KEY), folder=tmp_path / "own")
    found = [
        judged("delay below 20 ms", 12.0, (own.run_id,), True),
        judged("delay below 5 ms", 12.0, (own.run_id,), False),
        judged("of another run", 1.0, ("gone",), True),
    ]
    (tmp_path / FILE).write_text(json.dumps({"marks": found}))
    told = [(one.mark, one.condition, one.found, one.holds) for one in marks([own])]
    assert told == [
        ("delay below 5 ms", "queue=pfifo", "12 ms (n = 1 of 1)", False),
        ("delay below 20 ms", "queue=pfifo", "12 ms (n = 1 of 1)", True),
    ]
    (tmp_path / FILE).write_text("{")
    assert marks([own]) == ()


@pytest.mark.parametrize(
    ("said", "kinds", "right"),
    [
        ("FIFO", ["pfifo"], True),
        ("FQ-CoDel or CAKE", ["cake"], True),
        ("FQ-CoDel or CAKE", ["sfq"], False),
        (None, ["sfq"], False),
        ("two queues: FIFO and CAKE", ["cake", "pfifo"], True),
        ("two queues: FIFO and CAKE", ["cake"], False),
        ("FIFO", ["a_qdisc_of_ones_own"], None),
    ],
)
def test_a_queue_is_named_rightly_alone_or_among_those_that_look_alike(
    said: str | None, kinds: list[str], right: bool | None
) -> None:
    assert verdict.is_right(said, kinds) is right


def test_the_table_says_at_which_place_packets_wait_and_for_how_long() -> None:
    bins = {"down": [9e6] * 9}
    made = run(KEY, throughput_bps={"down": 9e6}, bins_bps=bins, sojourn_ms=[(2.0, 5), (8.0, 95)])
    isp = made.queues["down"]
    # Half of all packets waited no longer than 8 ms at the ISP and 2 ms at home.
    home = replace(isp, hop="home", sojourn_packets=isp.sojourn_packets[::-1])
    found = answer([replace(made, places={"isp": {"down": isp}, "home": {"down": home}})])
    assert found is not None
    row = shown(found.table)[()]
    assert row[": median wait at the ISP, download ms"] == "8"
    assert row[": median wait at home, download ms"] == "2"


def test_each_run_has_the_figures_of_the_table_and_what_is_kept_is_read_as_it_was(tmp_path: Path) -> None:
    runs = [two(tmp_path, "pfifo", (6, 2)), two(tmp_path, "fq_codel", (4, 4))]
    told = {column.head: values for column, values in of_each(runs)}
    assert told["b: rate [Mbit/s]"] == pytest.approx([2.0, 4.0])
    assert told["a: share of its fair rate [%]"] == pytest.approx([150.0, 100.0])
    said = Said(answer(runs))
    assert KEPT.validate_json(KEPT.dump_json(said)) == said
