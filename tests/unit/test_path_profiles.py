"""Path profiles: what is fitted is what is drawn, and every mistake says what to do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from narrows.errors import SpecError, StoreError
from narrows.paths.profile import error_of, fit
from narrows.plan.build import plan_file
from narrows.plan.model import Plan
from narrows.spec import path_profile
from narrows.spec.path_profile import PathProfile

SESSIONS = 3000
COLUMNS = (
    "base_rtt_ns", "capacity_bps", "peak_queueing_delay_ns", "jitter_ns", "ack_aggregation",
    "capacity_variation", "throughput_bps", "lost_segments_low_rtt", "data_segments", "reordered_before",
    "reordered_behind", "mss_bytes",
)  # fmt: skip


def measured(drawn: list[dict[str, float]]) -> pl.DataFrame:
    """Sessions as `narrows paths` writes them, that measured exactly what was drawn."""
    frame = pl.DataFrame(drawn).with_columns(
        lost_segments_low_rtt=pl.Series([row["random_loss"] * 1e6 for row in drawn]) if drawn else None,
        data_segments=pl.lit(1e6),
        mss_bytes=pl.lit(1e12),
    )
    return frame.with_columns(
        pl.lit(None, pl.Float64).alias(name) for name in COLUMNS if name not in frame.columns
    ).drop("random_loss")


@pytest.fixture(scope="module")
def known() -> PathProfile:
    """Slow paths are long, most lose nothing."""
    of = path_profile.Property
    return PathProfile(
        "known",
        "made up",
        {
            "base_rtt_ns": of(((0.0, 5e6), (0.5, 20e6), (1.0, 100e6)), None, None, "made up"),
            "capacity_bps": of(((0.0, 5e6), (0.5, 50e6), (1.0, 200e6)), None, None, "made up"),
            "peak_queueing_delay_ns": of(((0.0, 1e6), (1.0, 400e6)), None, None, "made up"),
            "random_loss": of(((0.0, 0.0), (0.7, 0.0), (1.0, 0.02)), None, None, "made up"),
        },
        (
            path_profile.Correlation("base_rtt_ns", "capacity_bps", -0.6, None),
            path_profile.Correlation("base_rtt_ns", "peak_queueing_delay_ns", 0.4, None),
        ),
    )


def test_a_profile_that_is_fitted_to_draws_of_another_is_the_other_within_the_stated_error(
    known: PathProfile,
) -> None:
    fitted = fit(measured([known.draw(str(seed)) for seed in range(SESSIONS)]), "back", "")
    assert list(fitted.properties) == list(known.properties)
    allowed = error_of(SESSIONS).share
    for name, one in known.properties.items():
        other = fitted.properties[name]
        for share, value in other.quantiles:
            assert one.at(share - allowed) <= value * 1.0001
            assert value <= one.at(share + allowed) * 1.0001
    names = list(known.properties)
    apart = np.abs(np.array(known.matrix(names)) - np.array(fitted.matrix(names)))
    assert apart.max() < 0.1, "loss, of which most is 0, blurs its correlations most"
    assert apart[:3, :3].max() < 0.05


def test_a_profile_is_the_same_after_a_trip_through_its_file(known: PathProfile, tmp_path: Path) -> None:
    file = tmp_path / "known.profile"
    file.write_text(known.to_json())
    assert path_profile.read(file) == known


@pytest.mark.parametrize("name", path_profile.named())
def test_profiles_that_come_along_name_their_sources(name: str) -> None:
    found = path_profile.read(path_profile.COMES_WITH / f"{name}.profile")
    assert found.what
    for each in found.properties.values():
        assert each.source
        assert each.known is None
    assert found.draw("0") == found.draw("0") != found.draw("1")


def test_correlations_of_different_sessions_that_contradict_each_other_are_mended() -> None:
    rng = np.random.default_rng(1)
    rows = []
    for pair, sign in ((("base_rtt_ns", "capacity_bps"), 1), (("capacity_bps", "jitter_ns"), 1),
                       (("base_rtt_ns", "jitter_ns"), -1)):  # fmt: skip
        values = rng.uniform(1, 100, 200)
        rows += [{pair[0]: v, pair[1]: 101 - v if sign < 0 else v, "random_loss": 0.0} for v in values]
    fitted = fit(measured(rows), "mended", "")
    path_profile.cholesky(fitted.matrix(list(fitted.properties)))


def test_too_few_sessions_are_no_profile() -> None:
    rows = [{"base_rtt_ns": 1e6 * n, "random_loss": 0.0} for n in range(19)]
    with pytest.raises(StoreError, match="no property is known of at least 20 of 19 sessions"):
        fit(measured(rows), "few", "")


EXPERIMENT = '''"""What do paths do?"""
from narrows.spec import axis, bulk, codel, fq_codel, profile, repeat
link = profile({name!r}).sample({options})
flow = bulk(cca=axis("cca", ["cubic", "bbr"]), duration="1 s")
repeat(5)
'''


def planned(folder: Path, name: str = "video-wifi", options: str = "") -> list[Plan]:
    file = folder / "drawn.py"
    file.write_text(EXPERIMENT.format(name=name, options=options))
    return list(plan_file(file).plans)


def test_each_seed_is_a_scenario_and_it_is_the_same_in_every_cell(tmp_path: Path) -> None:
    plans = planned(tmp_path)
    by_seed = {plan.key["seed"]: plan.link for plan in plans if plan.key["cca"] == "cubic"}
    assert len({(link.base_rtt_ns, link.rate_down_bps) for link in by_seed.values()}) == 5
    for plan in plans:
        assert plan.link == by_seed[plan.key["seed"]]
    assert [plan.key["cca"] for plan in plans] == ["cubic"] * 5 + ["bbr"] * 5


def test_the_queue_holds_what_the_profile_says_at_the_rate_that_was_drawn(tmp_path: Path) -> None:
    drawn = path_profile.profile("video-wifi")
    for plan in planned(tmp_path)[:5]:
        delay_ns = drawn.draw(plan.key["seed"])["peak_queueing_delay_ns"]
        limit = int(plan.link.down.queue_options["limit"])
        assert limit == pytest.approx(plan.link.rate_down_bps / 8 * delay_ns / 1e9, abs=1)


def test_what_is_given_is_not_drawn(tmp_path: Path) -> None:
    for plan in planned(tmp_path, "speed-tests", 'rate="20 Mbit/s", queue=fq_codel()'):
        assert plan.link.rate_down_bps == 20_000_000
        assert plan.link.down.queue == "fq_codel"


def test_a_profile_without_capacity_asks_for_a_rate(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="the profile speed-tests knows no capacity"):
        planned(tmp_path, "speed-tests")


def test_a_misspelt_profile_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no profile is called 'video-wiffi'") as raised:
        planned(tmp_path, "video-wiffi")
    assert raised.value.remedy is not None
    assert "did you mean video-wifi?" in raised.value.remedy
    with pytest.raises(SpecError, match=r"cannot read the profile home\.profile: No such file"):
        planned(tmp_path, "home.profile")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"format": 2}, "its format is 2"),
        ({"properties": {}}, "it knows no property"),
        ({"properties": {"rtt": {"quantiles": [[0, 1]], "known": 1, "sessions": 1, "source": ""}}},
         "unknown property rtt"),
        ({"properties": {"base_rtt_ns": {"quantiles": [[0, 2], [1, 1]], "known": 1, "sessions": 1,
                                         "source": ""}}},
         "the quantiles of base_rtt_ns are none, or fall"),
        ({"correlations": [["base_rtt_ns", "capacity_bps", 1.5, 3]]}, "contradict each other"),
        ({"correlations": [["base_rtt_ns", "loss", 0.5, 3]]}, "a correlation is of loss"),
        ({"correlations": 3}, "is no path profile"),
    ],
)  # fmt: skip
def test_a_broken_profile_says_what_is_wrong(
    known: PathProfile, tmp_path: Path, change: dict[str, object], complaint: str
) -> None:
    file = tmp_path / "broken.profile"
    file.write_text(json.dumps(json.loads(known.to_json()) | change))
    with pytest.raises(SpecError, match=complaint):
        path_profile.read(file)
    file.write_text("not JSON")
    with pytest.raises(SpecError, match="is no path profile"):
        path_profile.read(file)
