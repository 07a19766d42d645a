"""The matrix of services that met: whose number stands where, its colour, and what is not known; the site's
page and the study's picture have the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from narrows.comparing import matrix
from narrows.comparing.matrix import DELAY, SHARE, Matrix, ink, rows
from narrows.comparing.pair_shares import Side, Summary
from narrows.figures.pair_matrix import draw
from narrows.runs.measure import Measure
from narrows.serve import pairs as site


def side(service: str, share: float | None, stalls: float | None = None) -> Side:
    rate = None if share is None else 4.0 * share
    made = Measure(
        quantity="video_stalls", value=stalls or 0.0, unit="stalls", words="stalls", better="less", n=3
    )
    own = {} if stalls is None else {"video_stalls": made}
    return Side(service, rate, None, None, 4.0, share, 0.01, 30.0, (), own)


def met(one: Side, other: Side, queue: str = "pfifo") -> Summary:
    return Summary(
        (("queue", queue), ("rate", "8Mbit")), (one.service, other.service), (one, other), 0.98, 3, ("1",)
    )


@pytest.fixture
def found() -> list[Summary]:
    return [
        Summary((("queue", "pfifo"), ("rate", "8Mbit")), ("bbr",), (side("bbr", 1.0),), 1.0, 3, ()),
        met(side("bbr", 0.5, 3), side("cubic", 1.5)),
        met(side("cubic", 1.42), side("cubic", 0.35)),
        met(side("bbr", None), side("bbr", None)),
        met(side("bbr", 1.0, 0), side("cubic", 1.0), "fq_codel"),
    ]


def texts(one: Matrix) -> dict[tuple[str, str], tuple[str, ...]]:
    return {where: cell.texts for where, cell in one.cells.items()}


def test_a_cell_has_the_numbers_of_both_also_where_two_equal_services_met(found: list[Summary]) -> None:
    ((pfifo, fq_codel),) = rows(found, SHARE)
    assert texts(pfifo) == {
        ("bbr", "bbr"): ("–", "–"),
        ("bbr", "cubic"): ("50", "150"),
        ("cubic", "bbr"): ("150", "50"),
        ("cubic", "cubic"): ("142", "35"),
    }
    assert texts(fq_codel) == {("bbr", "cubic"): ("100", "100"), ("cubic", "bbr"): ("100", "100")}
    assert dict(pfifo.conditions)["queue"] == "pfifo", "the queues side by side, in their usual order"


def test_the_fair_share_has_no_colour_and_each_side_of_it_its_own(found: list[Summary]) -> None:
    ((pfifo, fq_codel),) = rows(found, SHARE)
    assert fq_codel.cells["bbr", "cubic"].colours == ((255, 255, 255), (255, 255, 255))
    assert pfifo.cells["bbr", "cubic"].colours == ((216, 140, 149), (144, 178, 214))


def test_less_is_lighter_where_less_is_better_and_ink_is_read_on_it(found: list[Summary]) -> None:
    stalls = next(each for each in matrix.quantities(found) if each.name == "video_stalls")
    ((pfifo, fq_codel),) = rows(found, stalls)
    assert pfifo.cells["bbr", "cubic"].texts == ("3", "–")
    assert pfifo.cells["bbr", "cubic"].colours == (matrix.BAD, None)
    assert fq_codel.cells["bbr", "cubic"].colours == (matrix.GOOD, None)
    assert (ink(matrix.BAD), ink(matrix.GOOD)) == ("#fff", "#000")


@pytest.mark.parametrize(
    "ends", [(matrix.GOOD, matrix.BAD), (matrix.FAIR, matrix.LOW), (matrix.FAIR, matrix.HIGH)]
)
def test_what_stands_on_a_colour_has_a_contrast_of_at_least_4_5(
    ends: tuple[matrix.Colour, matrix.Colour],
) -> None:
    def luminance(colour: matrix.Colour) -> float:
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (p / 255 for p in colour)
        ]
        return float(np.dot((0.2126, 0.7152, 0.0722), linear)) + 0.05

    for part in np.linspace(0, 1, 101):
        colour = matrix.mixed(*ends, part)
        on = luminance((0, 0, 0) if ink(colour) == "#000" else (255, 255, 255))
        assert max(on, luminance(colour)) / min(on, luminance(colour)) >= 4.5


def test_without_services_that_met_there_is_nothing(found: list[Summary]) -> None:
    assert rows(found[:1], SHARE) == []
    assert draw(found[:1], SHARE, "share", "Shares").reason == "no two services met"  # type: ignore[union-attr]


def test_a_cell_leads_to_the_trials_of_its_pair_whichever_way_round(found: list[Summary]) -> None:
    share = site.maps(found)[0]
    ((pfifo, _),) = share.rows
    wanted = (("queue", "pfifo"), ("rate", "8Mbit"), ("pair", "bbr+cubic"))
    assert site.where(pfifo, pfifo.cells["cubic", "bbr"]) == wanted
    assert site.style(pfifo.cells["bbr", "cubic"], 0) == "background:rgb(216,140,149);color:#000"
    assert [each.quantity.name for each in site.maps(found)][-1] == DELAY.name


def test_the_picture_has_the_numbers_of_the_page(found: list[Summary]) -> None:
    drawn = draw(found, SHARE, "share", "Shares")
    numbers = [text.get_text() for axes in drawn.figure.axes for text in axes.texts]  # type: ignore[union-attr]
    page = [
        text
        for line in rows(found, SHARE)
        for one in line
        for cell in one.cells.values()
        for text in cell.texts
    ]
    assert sorted(numbers) == sorted(page)
    drawn.close()  # type: ignore[union-attr]
