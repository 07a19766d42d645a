"""What the study of calls decides of made-up runs: nothing without what it asks for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from narrows.plan.items import AtTime
from narrows.studies.media.claims import m1, m4, m5, m6

CAPACITY_BPS = 2e6
RUN = iter(range(1000))


def made_up(
    case: str,
    rates_bps: dict[str, list[float | None]],
    *,
    program: str = "aiortc",
    pace: str = "rfc",
    ok: bool = True,
) -> Any:
    """Calls with their rates by phase; the phases are between changes of the link, which keeps its rate."""
    (phases,) = {len(each) for each in rates_bps.values()}
    edge = 10_000_000_000
    items = [
        SimpleNamespace(
            id=name, tool="call", kind="command", background=False,
            start=AtTime(at_ns=0), stop=AtTime(at_ns=phases * edge),
        )
        for name in rates_bps
    ]  # fmt: skip
    changes = tuple(SimpleNamespace(at_ns=n * edge, rate_bps=None) for n in range(1, phases))

    def quantity(_: str, of: str) -> float | None:
        item, _, phase = of.partition(" phase ")
        return rates_bps[item][int(phase) - 1]

    return SimpleNamespace(
        ok=ok, kernel_config="", experiment=case, run_id=f"{next(RUN):04}",
        key={"program": program, "queue": "droptail", "pace": pace},
        plan=SimpleNamespace(traffic=items), link=SimpleNamespace(down=SimpleNamespace(changes=changes)),
        quantity=quantity, rate_bps=lambda: CAPACITY_BPS,
    )  # fmt: skip


def follows(*rates_mbps: float | None, **more: Any) -> Any:
    return made_up("m1_single", {"a": [None if r is None else 1e6 * r for r in rates_mbps]}, **more)


def test_a_phase_that_was_not_measured_makes_no_claim_hold() -> None:
    whole, cut, bad = follows(1.5, 1.4), follows(1.5, None), follows(None, 0.1)
    assert m1.judge([whole]).verdict == "holds"
    assert m1.judge([cut]).verdict == "not measured"
    assert "aiortc, droptail" in m1.judge([cut]).reason
    assert m1.judge([bad]).verdict == "does not hold here"
    assert m1.judge([follows(1.5, 1.4, ok=False)]).verdict == "not measured"
    assert m1.judge([]).verdict == "not measured"


def test_a_run_of_which_nothing_is_known_is_named_and_is_not_among_those_it_rests_on() -> None:
    known, unknown = follows(1.5, 1.4), follows(None, None, program="livekit")
    judged = m1.judge([known, unknown])
    assert judged.reason.endswith("yes (aiortc, droptail); not to be judged: livekit, droptail")
    assert judged.run_ids == (known.run_id,)


def test_repetitions_are_one_number_and_the_rfcs_pace_is_not_mixed_with_another() -> None:
    runs = [follows(rate) for rate in (1.4, 1.5, 0.1)] + [follows(0.1, pace="quarter")] * 3
    (number,) = m1.judge(runs).numbers
    assert (number.value, number.n) == (pytest.approx(1.4 / 1.65), 3)


def test_flows_are_even_only_where_all_of_them_are_there() -> None:
    even = {name: [0.7e6] for name in "abc"}
    assert m4.judge([made_up("m4_competing", even)]).verdict == "holds"
    assert m4.judge([made_up("m4_competing", even | {"c": [1e4]})]).verdict == "does not hold here"
    assert m4.judge([made_up("m4_competing", even | {"c": [None]})]).verdict == "not measured"


def test_beside_tcp_a_flow_is_held_against_an_even_split_and_several_against_the_link() -> None:
    assert m5.judge([made_up("m5_long_tcp", {"a": [0.6e6]})]).verdict == "holds"
    assert m5.judge([made_up("m5_long_tcp", {"a": [1.6e6]})]).verdict == "does not hold here"
    two = m6.judge([made_up("m6_short_tcp", {"a": [0.4e6], "b": [0.4e6]})])
    assert two.verdict == "does not hold here"
    assert two.conditions.endswith("of the link")
