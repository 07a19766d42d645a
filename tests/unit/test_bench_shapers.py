"""`make shapers`: what it knows of its links, what it says beside each row, and what it refuses or does not
judge."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import shaper_links
import shaper_scores
import shapers

import lab
from narrows.engine.uml import check_tools
from narrows.errors import EngineError, UsageError
from narrows.plan.build import plan_file
from narrows.spec import lte_drive, square, trace


def ran(folder: Path, shaper: str, bandwidth: object) -> Path:
    """A run whose CAKE at home was set up with 40 Mbit/s and ended with this, as tc says it: in bytes."""
    home = {"ifb": "ifb4eth1", "down": {"rate_bps": 40_000_000}}
    plan = {"key": {"shaper": shaper}, "link": {"home": home}}
    cake = {"kind": "cake", "options": {"bandwidth": bandwidth}}
    (folder / "plan.json").write_text(json.dumps(plan))
    after = {"home": {"ifb4eth1": {"qdisc": [{"kind": "ingress", "options": {}}, cake]}}}
    (folder / "manifest.json").write_text(json.dumps({"tc_after": after}))
    return folder


@pytest.mark.parametrize(
    ("shaper", "bandwidth", "acted"),
    [
        ("cake-autorate", 5_000_000, False),  # 40 Mbit/s: it ended before it did anything
        ("cake-autorate", 3_750_000, False),  # 30 Mbit/s: it only said its base
        ("cake-autorate", 2_600_000, True),
        ("narrows", 3_750_000, True),
        ("narrows", 5_000_000, False),
        ("narrows", "unlimited", False),
        ("fixed-mean", 5_000_000, True),
    ],
)
def test_an_adaptive_shaper_has_changed_the_rate(
    tmp_path: Path, shaper: str, bandwidth: object, acted: bool
) -> None:
    assert (shapers.idle(ran(tmp_path, shaper, bandwidth), 30_000) is None) == acted


def test_a_copy_below_tmp_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cake-autorate.sh").write_text("")
    monkeypatch.setenv(shapers.ENV, str(tmp_path))
    monkeypatch.setattr("sys.argv", ["shapers.py", "--out", "/tmp/shapers"])
    with pytest.raises(UsageError, match="--out /tmp/shapers lies below /tmp, which a guest has of its own"):
        shapers.main()


def test_cake_autorate_runs_until_it_is_stopped_and_its_files_are_part_of_the_run() -> None:
    assert "ok_exits=()" in shapers.THEIRS
    assert 'depends=["{copy}", "{config}"]' in shapers.THEIRS


def test_a_file_below_tmp_is_refused_before_a_guest_boots(tmp_path: Path) -> None:
    script = tmp_path / "probe.sh"
    script.write_text("true\n")
    plan = lab.plan(tmp_path, f'link = Link(rate="5 Mbit/s")\nmine = command("sh {script}")\n')
    hidden = str(script).startswith("/tmp/")
    if not hidden:
        check_tools([plan], os.environ["PATH"])
        return
    with pytest.raises(EngineError, match=r"mine: .*probe\.sh lies below /tmp, which a guest has of its own"):
        check_tools([plan], os.environ["PATH"])


def asked(out: Path, **options: object) -> argparse.Namespace:
    """What the command line has read."""
    given = {"rates": "", "media": "", "opportunities": [], "trace": [], "mixes": ["cubic"], "repeats": 1}
    return argparse.Namespace(**{**given, "length": 4, "out": out, **options})


def test_every_medium_is_one_of_the_language(tmp_path: Path) -> None:
    links = shapers.asked_links(asked(tmp_path, media=",".join(shaper_links.MEDIA)))
    assert [name.removeprefix(shapers.MEDIUM) for name in links] == list(shaper_links.MEDIA)


def test_without_a_word_all_rates_are_asked_for_and_with_one_only_that(tmp_path: Path) -> None:
    assert list(shapers.asked_links(asked(tmp_path))) == list(shaper_links.RATES)
    assert list(shapers.asked_links(asked(tmp_path, rates="sine"))) == ["sine"]
    assert list(shapers.asked_links(asked(tmp_path, media="lte,wifi"))) == ["medium_lte", "medium_wifi"]
    with pytest.raises(UsageError, match="medium 'wimax' is not known"):
        shapers.asked_links(asked(tmp_path, media="wimax"))


def test_a_mediums_truth_is_its_schedules_per_100_ms_as_cake_counts(tmp_path: Path) -> None:
    # Two opportunities within the first 100 ms and one in the second: 1504 bytes each, of which CAKE counts
    # 1514 of a full packet.
    (tmp_path / "drive.down").write_text("10\n50\n150\n200\n")
    links = shapers.asked_links(asked(tmp_path, opportunities=[tmp_path / "drive.down"]))
    truth = links["medium_drive"].truth
    assert truth.steps[0] == (0, 2 * 15040 * 8 * 1514 // 1504)
    assert truth.steps[1] == (100_000_000, 15040 * 8 * 1514 // 1504)


def test_the_causal_oracle_hears_a_round_trip_later_and_of_a_medium_100_ms_more(tmp_path: Path) -> None:
    links = shapers.asked_links(asked(tmp_path, rates="sine", media="lte"))
    assert (links["sine"].lag_ms, links["medium_lte"].lag_ms) == (30, 130)


def test_a_rate_and_a_medium_make_an_experiment_with_all_contestants(tmp_path: Path) -> None:
    links = shapers.asked_links(asked(tmp_path, rates="lte", media="wifi"))
    names = [name for name in shapers.CONTESTANTS if name not in ("cake-autorate", "clairvoyant")]
    for name, isp in links.items():
        path = shapers.experiment(name, isp, asked(tmp_path), names)
        plans = plan_file(path).plans
        assert [plan.key["shaper"] for plan in plans] == names
        assert bool(plans[0].media) == name.startswith(shapers.MEDIUM)


def test_only_wifi_is_served_by_demand(tmp_path: Path) -> None:
    shapers.asked_links(asked(tmp_path, media="lte,wifi"))
    folder = tmp_path / "experiments"
    assert shaper_links.is_by_demand(folder, "medium_wifi")
    assert not shaper_links.is_by_demand(folder, "medium_lte")
    known = shaper_links.as_measured("medium_wifi", shaper_links.MEDIA["wifi"], folder, 25e6)
    assert known.truth == trace(str(folder / "truth_medium_wifi.csv"))
    assert known.truth.steps == ((0, 25_000_000),)


def test_cake_autorate_has_room_where_the_rate_stays(tmp_path: Path) -> None:
    file = tmp_path / "still.csv"
    file.write_text("t_ns,rate_bps\n0,20000000\n")
    found = shapers.bounds_kbps(trace(str(file)))
    assert found == {"p5": 10_000, "p50": 20_000, "p95": 30_000}
    moving = lte_drive("12 Mbit/s", seed=1)
    assert shapers.bounds_kbps(moving) == shapers.percentiles_kbps(moving)


def test_cake_autorates_least_is_never_below_what_it_takes_for_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(shapers.ENV, str(tmp_path))
    isp = shaper_links.of_rate("", square("1 Mbit/s", "8 Mbit/s", "20 s"))
    shapers.experiment("slow", isp, asked(tmp_path), ["cake-autorate"])
    config = (tmp_path / "configs" / "slow" / "config.primary.sh").read_text()
    assert "min_dl_shaper_rate_kbps=1000\n" in config
    assert "connection_active_thr_kbps=1000\n" in config


SCORE = shapers.Score("lte", "cubic", "causal", "0", 5.0, 20.0, 30.0, 10e6, None, None, None, None)


@pytest.mark.parametrize(
    ("p95_ms", "goodput_bps", "said"),
    [
        (20.0, 9e6, ("90 %", "met")),
        (20.1, 9e6, ("90 %", "p95")),
        (3.0, 8.9e6, ("89 %", "goodput")),
        (30.0, 5e6, ("50 %", "goodput p95")),
    ],
)
def test_the_aim_is_90_percent_of_the_causal_oracles_goodput_at_no_more_than_its_p95(
    p95_ms: float, goodput_bps: float, said: tuple[str, str]
) -> None:
    own = replace(SCORE, shaper="narrows", p95_ms=p95_ms, goodput_bps=goodput_bps)
    assert shaper_scores._aim([own], [SCORE]) == said
    assert shaper_scores._aim([own], []) == ("–", "–")


def test_both_oracles_numbers_stand_in_every_row() -> None:
    own = replace(SCORE, shaper="narrows", goodput_bps=8e6)
    hindsight = replace(SCORE, shaper="clairvoyant", p95_ms=4.0, goodput_bps=11e6)
    made = shapers.table([SCORE, own, hindsight])
    cells = {str(column.header): list(column.cells) for column in made.columns}
    assert cells["causal p95"] == ["20.0"] * 3
    assert cells["causal Mbit/s"] == ["10.0"] * 3
    assert cells["clairv. p95"] == ["4.0"] * 3
    assert cells["clairv. Mbit/s"] == ["11.0"] * 3
