"""A run as a file of Flent's, held against Flent 2.3 itself: it loads the same numbers, each plot that it
offers for the test has data, and its summary says what `narrows query` says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import flent.resultset
import pytest
from made_up_flent import RUN, Made, plots, store

from narrows.errors import StoreError
from narrows.flent import file as flent_file
from narrows.flent.export import export
from narrows.store.results import Results

PROBES = """
ping = icmp_echo(interval="200 ms", duration="{0} s")
udp = udp_probe(interval="200 ms", duration="{0} s")
"""
FLOW = 'flow = bulk(direction="{}", duration="1 s")\n'


def written(results: Results, path: Path) -> Path:
    flent_file.write(export(results, RUN), path)
    return path


def summary(path: Path) -> dict[str, float]:
    """Means by series, as Flent's command line prints them."""
    program = Path(sys.executable).with_name("flent")
    made = subprocess.run([program, "-i", path], capture_output=True, text=True, cwd=path.parent)
    assert made.returncode == 0, made.stderr
    rows = re.findall(r"^ (\S.*?) +: +([\d.]+)", made.stdout, re.M)
    assert rows
    return {name: float(mean) for name, mean in rows}


def test_a_flow_stands_where_flent_cuts_and_has_its_rate(tmp_path: Path) -> None:
    """A load from 1.1 to 3.1 s, 8 Mbit/s: T0 is 5 s before it, LENGTH 2, and Flent's cut of 5 s at both ends
    leaves the ten steps of the load, each at its end."""
    results = store(tmp_path / "r", FLOW.format("down"), [Made("down", 1100, 3100, 8e6)])
    loaded = flent.resultset.load(str(written(results, tmp_path / "x.flent.gz")))
    assert (loaded.meta("NAME"), loaded.meta("TITLE")) == ("tcp_ndown", "made_up seed=0")
    assert (loaded.meta("LENGTH"), loaded.meta("TOTAL_LENGTH")) == (2, 12)
    there = [
        (x, y)
        for x, y in zip(loaded.x_values, loaded.series("TCP download::1"), strict=True)
        if y is not None
    ]
    assert [x for x, _ in there] == pytest.approx([5.2 + 0.2 * n for n in range(10)])
    assert [y for _, y in there] == pytest.approx([8.0] * 10)
    raw = [row for row in loaded.raw_values["TCP download::1"] if "val" in row]
    assert [row["dur"] for row in raw] == [0.2] * 10
    assert raw[0]["t"] - loaded.t0 == pytest.approx(5.2, abs=1e-5)


def test_a_step_is_weighed_by_its_time(tmp_path: Path) -> None:
    """The second flow begins at 0.25 s, in the middle of a step of the first one's: its first value is 3/4 of
    its rate (0.15 of 0.2 s), its last at 0.9 s one half, and all steps together are its bytes."""
    made = [Made("down", 0, 1000, 4e6), Made("down", 250, 900, 8e6)]
    exported = export(store(tmp_path, FLOW.format("down"), made), RUN)
    second = [value for value in exported.results["TCP download::2"] if value is not None]
    assert second == pytest.approx([6.0, 8.0, 8.0, 4.0])
    assert sum(second) * 0.2e6 / 8 == pytest.approx(650 * 8e6 / 8000)


def test_averages_are_over_the_flows_that_are_there(tmp_path: Path) -> None:
    """One flow of 6 Mbit/s after another of 2: the average is never 4, the sum never 8."""
    made = [Made("down", 0, 1000, 2e6), Made("down", 1000, 2000, 6e6)]
    exported = export(store(tmp_path, FLOW.format("down"), made), RUN)
    for series in ("TCP download avg", "TCP download sum"):
        assert [v for v in exported.results[series] if v is not None] == pytest.approx([2.0] * 5 + [6.0] * 5)
    assert {v for v in exported.results["TCP download fairness"] if v is not None} == {1.0}


@pytest.mark.parametrize(
    ("text", "made", "test"),
    [
        (PROBES.format(3), [], "ping"),
        (FLOW.format("down") + PROBES.format(13), [Made("down", 5000, 8000, 4e6)] * 2, "tcp_ndown"),
        (FLOW.format("up") + PROBES.format(13), [Made("up", 5000, 8000, 4e6)] * 2, "tcp_nup"),
        (
            FLOW.format("down") + PROBES.format(13),
            [Made("down", 5000, 8000, 4e6), Made("up", 5000, 8000, 2e6), Made("up", 5000, 8000, 2e6)],
            "rrul_be_nflows",
        ),
        (
            'test = rrul(duration="3 s", start_jitter="0 s")\n',
            [Made(way, 5000, 8000, 1e6, 5001 + n) for n in range(4) for way in ("down", "up")],
            "rrul",
        ),
        (
            'test = rrul_be(duration="3 s", start_jitter="0 s")\n',
            [Made(way, 5000, 8000, 1e6) for _ in range(4) for way in ("down", "up")],
            "rrul_be",
        ),
    ],
)
def test_every_plot_of_flents_test_has_data_and_its_summary_is_ours(
    tmp_path: Path, text: str, made: list[Made], test: str
) -> None:
    results = store(tmp_path / "r", text, made)
    path = written(results, tmp_path / f"{test}.flent.gz")
    assert flent.resultset.load(str(path)).meta("NAME") == test
    drawn = plots(path)
    assert drawn
    # without a flow there is no socket that could say anything: Flent offers these plots for every test
    assert [name for name, n in drawn.items() if not n and (made or not name.startswith("tcp_"))] == []
    said = summary(path)
    # each probe's mean and each flow's rate, as a question to the run answers them
    frame = results.sql(
        "select coalesce(part, item) probe, avg(value) / 1e6 mean from samples "
        "where quantity = 'rtt' group by all"
    )
    probes = [name for name in said if name.startswith("Ping") and not name.endswith("avg")]
    assert len(probes) == frame.height > 0
    assert [said[name] for name in probes] == pytest.approx([20.0] * len(probes))
    assert frame["mean"].to_list() == pytest.approx([20.0] * len(probes))
    for way, word in (("down", "download"), ("up", "upload")):
        socket = {"down": "tcp-client", "up": "tcp-server"}[way]
        rows = results.sql(
            "select flow, max(value) * 8e-6 / ((max(t_ns) - min(t_ns)) / 1e9) mbps from samples "
            f"where quantity = 'tcp_info.bytes_received' and hop = '{socket}' group by flow"
        )
        flows = [
            mean for name, mean in said.items()
            if name.startswith(f"TCP {word}") and not re.search(r"avg|sum|fairness|tcp_", name)
        ]  # fmt: skip
        assert sorted(flows) == pytest.approx(sorted(rows["mbps"].to_list()))
        if flows:
            assert said[f"TCP {word} sum"] == pytest.approx(sum(rows["mbps"]), rel=1e-3)


def test_without_a_tap_sockets_say_the_rate_and_without_sockets_the_tap(tmp_path: Path) -> None:
    flow = [Made("up", 0, 1000, 4e6)]
    untapped = export(store(tmp_path / "a", FLOW.format("up"), flow, tapped=False), RUN)
    unsampled = export(store(tmp_path / "b", FLOW.format("up"), flow, sampled=False), RUN)
    for made, mbps, said in (
        (untapped, 4.0, "payload that had arrived"),
        (unsampled, 4.2, "Ethernet header"),
    ):
        values = [v for v in made.results["TCP upload::1"] if v is not None]
        assert values == pytest.approx([mbps] * 5)
        assert said in made.metadata["NARROWS"]["rates"]
        assert any(said in note for note in made.notes)


def test_a_probe_that_the_run_does_not_have_is_named(tmp_path: Path) -> None:
    made = export(store(tmp_path, FLOW.format("down"), [Made("down", 0, 1000, 4e6)]), RUN)
    assert any("no probe 'Ping (ms) ICMP'" in note for note in made.notes)


def test_a_run_with_neither_flow_nor_probe_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no TCP flow that a tap or sample"):
        export(store(tmp_path, FLOW.format("down"), []), RUN)


def test_lost_probes_have_no_value_and_are_there(tmp_path: Path) -> None:
    made = export(store(tmp_path, PROBES.format(4), [], lost=4), RUN)
    rows = made.raw["Ping (ms) ICMP"]
    assert (len(rows), sum("val" in row for row in rows), sum(row.get("lost", False) for row in rows)) == (
        20, 15, 5,
    )  # fmt: skip


def test_a_failed_run_is_not_exported(tmp_path: Path) -> None:
    results = store(tmp_path, PROBES.format(1), [])
    results.manifest(RUN)["status"] = "failed"
    with pytest.raises(StoreError, match="this run failed"):
        export(results, RUN)
