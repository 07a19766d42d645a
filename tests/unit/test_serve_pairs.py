"""Maps of services that met: whose share stands where, its colour, and what is not known."""

from __future__ import annotations

import pytest

from narrows.comparing.pair_shares import Side, Summary
from narrows.serve import pairs as maps


def side(service: str, share: float | None) -> Side:
    rate = None if share is None else 4.0 * share
    return Side(service, rate, None, None, 4.0, share, 0.01, 30.0, ())


def met(one: tuple[str, float | None], other: tuple[str, float | None]) -> Summary:
    return Summary((("rate", "8Mbit"),), (one[0], other[0]), (side(*one), side(*other)), 0.98, 3, ())


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> maps.Maps:
    alone = Summary((("rate", "8Mbit"),), ("bbr",), (side("bbr", 1.0),), 1.0, 3, ())
    known = [
        alone,
        met(("bbr", 0.5), ("cubic", 1.5)),
        met(("cubic", 1.0), ("cubic", 1.0)),
        met(("bbr", None), ("bbr", None)),
    ]
    monkeypatch.setattr(maps, "summaries", lambda every: known)
    (each,) = maps.pair_maps([])
    return each


def test_a_row_is_what_a_service_got_beside_each_other(found: maps.Maps) -> None:
    shares = found.maps[0]
    assert shares.columns == ("bbr", "cubic")
    assert {name: [cell.text for cell in cells] for name, cells in shares.rows} == {
        "bbr": ["", "50"], "cubic": ["150", "100"],
    }  # fmt: skip


def test_the_fair_share_has_no_colour_and_each_side_of_it_its_own(found: maps.Maps) -> None:
    rows = dict(found.maps[0].rows)
    less, more, fair = rows["bbr"][1], rows["cubic"][0], rows["cubic"][1]
    assert fair.background == "rgb(255,255,255)"
    assert less.background == "rgb(216,140,149)"
    assert more.background == "rgb(144,178,214)"


def test_a_cell_leads_to_the_trials_of_its_pair_whichever_way_round(found: maps.Maps) -> None:
    rows = dict(found.maps[0].rows)
    wanted = (("rate", "8Mbit"), ("pair", "bbr+cubic"))
    assert rows["bbr"][1].where == rows["cubic"][0].where == wanted
