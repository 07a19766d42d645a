"""One way to draw the figures of studies: panels, places and colours by axes."""

from narrows.figures.drawing import Drawing, Missing
from narrows.studies.drawing import Chart, Point, draw

RATES = (("8Mbit", "bbr", 4.0), ("8Mbit", "reno", 2.0), ("50Mbit", "reno", 9.0))


def drawn(chart: Chart, *points: Point) -> Drawing:
    made = draw(chart, points, ["b", "a", "a"])
    assert isinstance(made, Drawing)
    return made


def test_a_label_has_one_colour_in_all_panels_of_a_figure() -> None:
    points = [Point({"rate": rate, "cca": cca, "page": "text"}, [value]) for rate, cca, value in RATES]
    made = drawn(Chart("x", "X", ("page",), "time [s]", "cca", "rate"), *points)
    first, second = made.figure.axes
    bars = [bar for axes in (first, second) for bar in axes.patches]
    colours = [bar.get_facecolor() for bar in bars if not bar.get_hatch()]
    # BBR and NewReno at 8 Mbit/s, NewReno at 50 Mbit/s; BBR was not measured there, which is hatched
    assert (len(bars), len(colours)) == (4, 3)
    assert colours[0] != colours[1] == colours[2]
    assert "Hatched: not measured." in made.caption
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["8 Mbit/s", "50 Mbit/s"]
    assert made.run_ids == ("a", "b")
    made.close()


def test_a_place_of_which_nothing_is_known_keeps_its_row() -> None:
    points = Point({"path": "plain"}, [1.0], (0.5, 1.5)), Point({"path": "proxy"}, ())
    made = drawn(Chart("x", "X", ("path",), "error", look="rows"), *points)
    assert [text.get_text() for text in made.figure.axes[0].get_yticklabels()] == ["plain", "proxy"]
    made.close()


def test_without_values_a_figure_says_what_is_missing() -> None:
    chart = Chart("x", "X", ("path",), missing="narrows run x")
    assert draw(chart, [Point({"path": "plain"}, ())], []) == Missing("x", "X", "narrows run x")
