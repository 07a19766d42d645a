"""What the study of the last hop decides of made-up runs: a reading against what the medium carries, and
nothing without what it asks for."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import narrows.studies.last_hop as study
from narrows.plan.build import plan_file
from narrows.plan.model import Plan
from narrows.studies.last_hop.claims import b1, b2, b3, b4
from narrows.studies.last_hop.claims.measures import read_share

EXPERIMENTS = Path(study.__file__).parent / "experiments"
PAYLOAD = 1448 / 1514
"""Of full packets with timestamps, over what the shaper counts of them."""


@cache
def plans() -> dict[tuple[str, str], Plan]:
    """Of one flow, by medium and place."""
    every = plan_file(EXPERIMENTS / "b2_flows.py").plans
    return {(each.key["medium"], each.key["place"]): each for each in every if each.key["flow"] == "cubic"}


def run(
    medium: str, place: str, figures: dict[str, float], rtts_ms: dict[str, float | None] | None = None,
    *, ok: bool = True, **who: str,
) -> Any:  # fmt: skip
    (item,) = {"tool": "test", "flow": "flow"}[next(iter(who))].split()
    known = {(item, name): value for name, value in figures.items()}
    return SimpleNamespace(
        ok=ok, kernel_config="", experiment="b1_tests" if "tool" in who else "b2_flows",
        run_id=f"{medium}-{place}-{who}",
        key={"medium": medium, "place": place, **who}, plan=plans()[medium, place],
        figure=lambda name, direction="down", whose=None: known.get((whose, name)),
        whose=lambda item, at=None: item,
        quantity=lambda name, of: (rtts_ms or {}).get(name) if of == f"probe under {item}" else None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("medium", "place", "carried"),
    [("rate", "router", 30e6), ("rate", "cake90", 27e6), ("satellite", "cake90", 26.9e6)],
)
def test_a_reading_is_held_against_what_the_slowest_place_carries(
    medium: str, place: str, carried: float
) -> None:
    one = run(medium, place, {"ndt7_throughput_bps": PAYLOAD * carried}, tool="ndt7")
    share = read_share(one)
    assert share is not None
    assert share == pytest.approx(1.0, rel=0.02)


def test_no_reading_makes_no_claim_hold() -> None:
    good = run("rate", "router", {"ndt7_throughput_bps": 28e6}, tool="ndt7")
    low = run("satellite", "router", {"ndt7_throughput_bps": 14e6}, tool="ndt7")
    assert b1.judge([good]).verdict == "holds"
    assert b1.judge([good, low]).verdict == "holds in part"
    assert "rate 1 of 1, satellite 0 of 1" in b1.judge([good, low]).reason
    for none in (
        [],
        [run("rate", "router", {}, tool="ndt7")],
        [run("rate", "router", {}, tool="ndt7", ok=False)],
    ):
        assert b1.judge(none).verdict == "not measured"


def test_a_latency_is_held_against_that_of_somebody_else() -> None:
    met = {"loaded_rtt_p50_ms": 100.0}
    of_rpm = run("rate", "device", {"rpm": 600.0}, met, tool="rpm")
    too_low = run("rate", "device", {"ndt7_rtt_mean_ms": 50.0}, met, tool="ndt7")
    assert b2.judge([of_rpm]).verdict == "holds"
    assert b2.judge([too_low]).verdict == "does not hold here"
    assert b2.judge([run("rate", "device", {"rpm": 600.0}, tool="rpm")]).verdict == "not measured"


def test_a_flow_is_held_against_itself_on_a_rate() -> None:
    whole = run("rate", "router", {"bulk_goodput_bps": 28e6}, flow="cubic")
    half = run("satellite", "router", {"bulk_goodput_bps": 14e6}, flow="cubic")
    assert b3.judge([whole, half]).verdict == "does not hold here"
    assert b3.judge([half]).verdict == "not measured"


def test_a_shaper_is_held_against_a_queue_right_above_the_medium() -> None:
    above, short, long = (
        run("rate", place, {}, {"loaded_rtt_p95_ms": ms}, flow="cubic")
        for place, ms in (("router", 38.0), ("cake90", 40.0), ("cake90", 200.0))
    )
    assert b4.judge([above, short]).verdict == "holds"
    assert b4.judge([above, long]).verdict == "does not hold here"
    assert b4.judge([short]).verdict == "not measured"
