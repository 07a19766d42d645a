"""The table `items`: every item in the same words, and its share of a fair rate."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path

import made_up_trials
import numpy as np
import polars as pl
import pytest

import lab
from labels import said
from made_up_plans import whole
from narrows.comparing.items import EVERY_WAY, frame, got
from narrows.report.table import summary
from narrows.runs import archive
from narrows.runs.items import items
from narrows.runs.load import load
from narrows.runs.observed import Observed, Series
from narrows.runs.quantities import Measured
from narrows.serve.one_run import items as shown_of
from narrows.store.items import FlowItems
from narrows.tools import reading, registry
from narrows.units import unit_of_name


def value(table: pl.DataFrame, item: str, figure: str) -> float:
    rows = table.filter((pl.col("item") == item) & (pl.col("quantity") == figure))
    assert rows.height == 1, rows
    return float(rows["value"][0])


def test_a_service_below_its_equal_part_leaves_the_rest_to_its_rival(tmp_path: Path) -> None:
    plans = made_up_trials.plans(tmp_path)
    runs = [
        made_up_trials.trial(plans["x"], {"pair": "x", "seed": "0"}, [2.0]),
        made_up_trials.trial(plans["y"], {"pair": "y", "seed": "0"}, [8.0]),
        made_up_trials.trial(plans["x+y"], {"pair": "x+y", "seed": "0"}, [1.0, 7.0]),
    ]
    table = frame(runs).filter(pl.col("run_id") == runs[2].run_id)
    # x alone takes 2 of 8 Mbit/s, so 2 are fair for it and 6 for y.
    assert value(table, "a", "fair_bps") == pytest.approx(2e6)
    assert value(table, "a", "share") == pytest.approx(0.5)
    assert value(table, "b", "share") == pytest.approx(7 / 6)
    assert set(table["called"]) == {"x", "y"}
    assert set(table["cca"]) == {"bbr", "reno"}
    alone = frame(runs[:1])
    assert "share" not in set(alone["quantity"]), "what is alone shares with nobody"


def test_a_pair_whose_members_were_never_alone_has_rates_and_no_shares(tmp_path: Path) -> None:
    plan = made_up_trials.plans(tmp_path)["x+y"]
    table = frame([made_up_trials.trial(plan, {"pair": "x+y", "seed": "0"}, [1.0, 7.0])])
    assert value(table, "a", "shared_bps") == pytest.approx(1e6)
    assert not {"share", "fair_bps"} & set(table["quantity"])


def test_two_equal_services_are_told_apart_in_the_table_and_on_the_runs_page(tmp_path: Path) -> None:
    plan = made_up_trials.plans(tmp_path)["x+x"]
    run = made_up_trials.trial(plan, {"pair": "x+x", "seed": "0"}, [1.0, 7.0])
    found = {r.quantity: (r.values.n, r.values.median) for r in summary([run]).rows if "shared" in r.quantity}
    assert found == {
        "x: rate while all shared the link, download": (1, pytest.approx(1.0)),
        "x (2): rate while all shared the link, download": (1, pytest.approx(7.0)),
    }
    shown = {each.whose: each.value for each in shown_of(run, None, ()) if each.name == "shared_bps"}
    assert shown == {"x": pytest.approx(1.0), "x (2)": pytest.approx(7.0)}


def test_items_that_are_no_pair_are_held_against_equal_parts_while_all_ran(tmp_path: Path) -> None:
    text = (
        'link = Link(rate="8 Mbit/s", base_rtt="50 ms", queue=pfifo(limit=128))\n'
        'a = bulk(cca="bbr", stop="10 s")\nb = bulk(cca="reno", stop="10 s")\n'
        'p = icmp_echo(stop="10 s")\n'
    )
    plan = lab.plans(tmp_path, text)[0]
    made = made_up_trials.trial(plan, {"seed": "0"}, [6.0, 2.0], settled_only=True)
    spans = {name: {"start_ns": 0, "end_ns": 10 * made_up_trials.S} for name in "abp"}
    figures = {(f"bottleneck/{name}", "down", "tap_departed_bytes"): 1e6 for name in "ab"} | {
        ("a", "down", "bulk_goodput_bps"): 5.7e6,
        ("b", "down", "bulk_goodput_bps"): 1.8e6,
        ("p", None, "probe_loss_ratio"): 0.5,
    }
    run = dataclasses.replace(made, manifest={"items": spans}, figures=said(figures))
    table = frame([run])
    # The first and the last fifth, in which both had 99 Mbit/s, are left out of what is shared.
    assert value(table, "a", "shared_bps") == pytest.approx(6e6)
    assert value(table, "a", "share") == pytest.approx(1.5)
    assert value(table, "b", "share") == pytest.approx(0.5)
    assert value(table, "a", "goodput_bps") == 5.7e6
    assert value(table, "p", "probe_loss_ratio") == 0.5
    a, b, probe = items(run)
    assert (a.what, b.what, probe.what) == ("bulk", "bulk", "icmp_echo")
    assert [probe.is_probe, a.main_way, probe.main_way] == [True, "down", None]
    assert [(one.called, one.share) for one in got([run])] == [("a", 1.5), ("b", 0.5)]
    archive.write([replace(run, read_quantities=lambda: Measured(run))], tmp_path / "a.runs.parquet")
    assert [(one.called, one.share) for one in got(load(tmp_path / "a.runs.parquet"))] == [
        ("a", 1.5),
        ("b", 0.5),
    ]


def test_a_test_that_hardly_got_anything_up_still_loaded_that_way(tmp_path: Path) -> None:
    (plan,) = lab.plans(
        tmp_path, 'link = Link(rate="100 Mbit/s", base_rtt="60 ms", loss="1 %")\nt = ndt7()\n'
    )
    made = made_up_trials.trial(plan, {"seed": "0"}, [90.0])
    figures = {
        ("bottleneck/t", "down", "tap_departed_bytes"): 120e6,
        ("bottleneck/t", "up", "tap_departed_bytes"): 4e6,
        ("t", "up", "ndt7_throughput_bps"): 2.2e6,
    }
    one_way = replace(made, figures=said(figures), windows={("t", "down"): (0, made_up_trials.S)})
    assert set(items(one_way)[0].ways) == {"down"}, "what acknowledges loads no way"
    both = replace(one_way, windows={("t", way): (0, made_up_trials.S) for way in ("down", "up")})
    assert items(both)[0].ways["up"].goodput_bps == 2.2e6


def test_beside_what_the_tap_cannot_tell_nobody_has_a_fair_share(tmp_path: Path) -> None:
    flows = "".join(f'{name} = bulk(cca="reno", stop="10 s")\n' for name in "abc")
    plan = lab.plans(tmp_path, f'link = Link(rate="9 Mbit/s", base_rtt="50 ms")\n{flows}')[0]
    made = made_up_trials.trial(plan, {"seed": "0"}, [3.0, 3.0, 3.0], settled_only=True)
    spans = {name: {"start_ns": 0, "end_ns": 10 * made_up_trials.S} for name in "abc"}
    figures = {(name, "down", "bulk_goodput_bps"): 2.9e6 for name in "abc"}
    whole_run = replace(made, manifest={"items": spans}, figures=said(figures))
    assert value(frame([whole_run]), "a", "fair_bps") == pytest.approx(3e6)
    truth = whole_run.queues["down"]
    seen = {name: series for name, series in truth.throughput_bps.items() if name != "c"}
    untold = replace(whole_run, queues={"down": replace(truth, throughput_bps=seen)})
    assert not {"share", "fair_bps"} & set(frame([untold])["quantity"]), "c takes of it too"


def test_a_failed_run_has_no_items(tmp_path: Path) -> None:
    plan = made_up_trials.plans(tmp_path)["x"]
    run = Observed("1", "e", "?", {}, "failed", "it broke", plan)
    assert items(run) == ()
    assert frame([run]).is_empty()


def test_every_figure_of_a_tool_has_words_and_a_unit_that_its_name_does_not_contradict() -> None:
    for part in registry.parts(registry.READINGS):
        for name, meaning in part.FIGURES.items():
            assert meaning.words, f"{part.__name__}: {name} has no words for people"
            if isinstance(meaning, reading.Reading):
                said = unit_of_name(name)
                assert not said or said == reading.UNITS[meaning.quantity], name
    for name, figure in EVERY_WAY.items():
        assert figure.words, name


def test_a_direction_of_better_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="better 'higher' is none of more, less, check"):
        reading.Figure("stalls", "higher")


def test_of_a_home_an_items_rate_and_fair_share_are_of_the_slower_place(tmp_path: Path) -> None:
    text = (
        'link = Home(rate="20 Mbit/s", base_rtt="20 ms", queue=bfifo(limit="1 MB"),\n'
        '            router=home_router(ingress=cake(), share="80 %"))\n'
        'a = bulk(cca="bbr", stop="10 s")\nb = bulk(cca="reno", stop="10 s")\n'
    )
    plan = lab.plans(tmp_path, text)[0]
    made = made_up_trials.trial(plan, {"seed": "0"}, [14.0, 6.0], settled_only=True)
    spans = {name: {"start_ns": 0, "end_ns": 10 * made_up_trials.S} for name in "ab"}
    sizes = {("isp", "a"): 17.5e6, ("isp", "b"): 7.5e6, ("home", "a"): 15e6, ("home", "b"): 5e6}
    figures = {(f"{hop}/{item}", "down", "tap_departed_bytes"): size for (hop, item), size in sizes.items()}
    figures |= {("home/a", "down", "tap_arrived"): 1000.0, ("home/a", "down", "tap_dropped"): 110.0}
    run = replace(made, queues={}, figures=said(figures), manifest=dict(made.manifest) | {"items": spans})
    table = frame([run])
    assert value(table, "a", "rate_bps") == pytest.approx(12e6)
    assert value(table, "b", "rate_bps") == pytest.approx(4e6)
    assert value(table, "a", "fair_bps") == pytest.approx(8e6), "half of what the home router lets pass"
    assert value(table, "a", "loss") == pytest.approx(0.11)


def test_what_a_link_is_used_to_is_of_all_that_load_it(tmp_path: Path) -> None:
    text = (
        'link = Link(rate="20 Mbit/s", base_rtt="20 ms")\n'
        'a = bulk(cca="bbr", stop="10 s")\nb = bulk(cca="reno", stop="10 s")\n'
    )
    plan = lab.plans(tmp_path, text)[0]
    made = made_up_trials.trial(plan, {"seed": "0"}, [9.8, 9.8])
    t_ns = np.arange(0, 10 * made_up_trials.S, 10_000_000, dtype=np.float64)
    whole = Series(t_ns, np.full(t_ns.size, 19.6e6))
    truth = made.queues["down"]
    series = dict(truth.throughput_bps) | {"": whole}
    spans = {name: {"start_ns": 0, "end_ns": 10 * made_up_trials.S} for name in "ab"}
    figures = {(f"bottleneck/{item}", "down", "tap_departed_bytes"): 12e6 for item in "ab"}
    figures |= {("bottleneck", "down", "sojourn_p99_ms"): 24.0}
    figures |= {("a", "down", "bulk_goodput_bps"): 9.4e6}
    queues = {"down": replace(truth, throughput_bps=series)}
    run = replace(made, queues=queues, figures=said(figures), manifest=dict(made.manifest) | {"items": spans})
    rows = {row.quantity: row.values.median for row in summary([run]).rows}
    assert rows["download utilisation"] == pytest.approx(98.0)
    assert rows["download sojourn p99 of the run"] == 24.0, "the packet's, not its bucket's edge"


def test_who_has_the_very_port_comes_before_who_may_have_any() -> None:
    """A call says no port; beside it a QUIC server has its own."""
    ends = {"get": 4433, "talk": None}
    traffic = [
        {"id": name, "item": name, "kind": "command",
         "endpoints": [{"protocol": "udp", "address": "10.0.2.1", "port": port}]}
        for name, port in ends.items()
    ]  # fmt: skip
    find = FlowItems(whole({"traffic": traffic})).find
    assert find("udp", "10.0.2.1", 4433, "10.0.0.1", 38678, 0, 1) == "get"
    assert find("udp", "10.0.2.1", 37230, "10.0.0.1", 60565, 0, 1) == "talk"
    assert find("tcp", "10.0.2.1", 4433, "10.0.0.1", 38678, 0, 1) is None
