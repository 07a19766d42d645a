"""The lines of our rpm-client become probes, intervals and figures, value by value."""

import json
from typing import Any

import polars as pl
import pytest

from narrows.errors import StoreError
from narrows.tools.rpm import parse as rpm

EPOCH_NS = 3_000_000_000
T = EPOCH_NS + 1_000_000_000


def line(key: str, **value: Any) -> str:
    return json.dumps({"Key": key, "monotonic_ns": T, "Value": value})


FIGURES = {
    "intervals": 7, "connections": 7, "goodput_bps": 9e6,
    "rpm": 3300.0, "foreign_rpm": 6000.0, "loaded_rpm": None,
    "goodput_confidence": "medium", "responsiveness_confidence": "low", "error": None,
    "foreign_probes": {"launched": 3, "completed": 1, "failed": 1},
    "self_probes": {"launched": 1, "completed": 0, "failed": 0},
}  # fmt: skip
FOREIGN = {"kind": "foreign", "start_ns": T, "tcp_ns": 20_000_000, "tls_ns": 42_000_000, "tls_round_trips": 2}
TEXT = "\n".join(
    [
        line("starting", variant="draft-08"),
        line("probe", test="idle", end_ns=T, http_ns=20_000_000, **FOREIGN),
        line("probe", test="download", end_ns=T + 5, http_ns=23_000_000, **FOREIGN),
        line(
            "probe", test="download", kind="self", start_ns=T, end_ns=T + 2, http_ns=90_000_000, connection=0
        ),
        line("probe", test="download", kind="foreign", start_ns=T, end_ns=T + 9, error="refused"),
        line("interval", test="download", end_ns=T + 10, connections=1, download_bytes=1000),
        line("summary", tests={"download": FIGURES}),
    ]
)


def found(text: str) -> tuple[dict[tuple[str, str | None], float], list[tuple[Any, ...]], list[str]]:
    parsed = rpm.parse(text, epoch_ns=EPOCH_NS)
    figures = {(m.name, m.direction): m.value for m in parsed.metrics}
    rows = pl.concat(parsed.samples).select(
        pl.col("part", "quantity", "direction").cast(pl.String), "t_ns", "value"
    )
    return figures, sorted(rows.rows(), key=str), parsed.warnings


def test_each_part_of_a_probe_is_a_series_and_a_failed_probe_is_in_none() -> None:
    _, rows, warnings = found(TEXT)
    s = 1_000_000_000
    assert (None, "foreign_tcp", "down", s + 5, 20e6) in rows
    assert (None, "foreign_tls", "down", s + 5, 21e6) in rows  # 42 ms in two round trips
    assert (None, "self_http", "down", s + 2, 90e6) in rows
    assert ("idle", "foreign_http", None, s, 20e6) in rows
    assert (None, "interval_bytes", "down", s + 10, 1000.0) in rows
    assert sum(row[1] == "foreign_tcp" for row in rows) == 2
    assert warnings == []


def test_figures_are_the_clients_own_and_what_it_does_not_know_is_absent() -> None:
    figures, _, _ = found(TEXT)
    assert figures[("rpm", "down")] == 3300
    assert ("rpm_loaded", "down") not in figures
    assert figures[("rpm_idle_tcp_ms", None)] == 20
    assert figures[("rpm_goodput_confidence", "down")] == 1
    assert figures[("rpm_responsiveness_confidence", "down")] == 0
    assert figures[("rpm_foreign_probes", "down")] == 1


def test_a_client_that_was_stopped_leaves_its_probes_and_a_warning() -> None:
    figures, rows, warnings = found("\n".join(TEXT.splitlines()[:-1]))
    assert ("rpm", "down") not in figures
    assert rows
    assert "before its summary" in warnings[0]


def test_a_test_that_failed_says_why() -> None:
    broken = TEXT.replace('"error": null', '"error": "download connection 0: reset"')
    assert "reset" in found(broken)[2][0]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{", "not JSON"),
        ("[]", "not a line"),
        ('{"Key": "probe", "Value": {"test": "download"}}', "end_ns"),
        ('{"Key": "summary", "Value": {"tests": {"download": {}}}}', "rpm"),
    ],
)
def test_what_is_not_the_clients_is_one_clear_error(text: str, part: str) -> None:
    with pytest.raises(StoreError, match=part):
        rpm.parse(text, epoch_ns=0)


def dead(moved: list[int], **figures: Any) -> tuple[dict[str, float], list[str]]:
    """A download whose intervals carried so many bytes; the mean of the last four is what the client says."""
    means = [sum(moved[max(0, i - 3) : i + 1]) * 8 / 4 for i in range(len(moved))]
    text = [
        line("interval", test="download", end_ns=T + i, connections=1, download_bytes=size, goodput_bps=mean)
        for i, (size, mean) in enumerate(zip(moved, means, strict=True))
    ]
    summary = FIGURES | {"goodput_bps": means[-1], "goodput_confidence": "high"} | figures
    parsed = rpm.parse("\n".join([*text, line("summary", tests={"download": summary})]), epoch_ns=EPOCH_NS)
    return {m.name: m.value for m in parsed.metrics}, parsed.warnings


def test_a_goodput_of_nothing_is_none_and_the_warning_says_what_it_was_before() -> None:
    figures, (warning,) = dead([1_000_000] * 6 + [0] * 4, rpm=None, responsiveness_confidence="medium")
    assert "rpm_goodput_bps" not in figures
    assert figures["rpm_goodput_confidence"] == 0
    assert figures["rpm_responsiveness_confidence"] == 0
    assert "rpm" not in figures
    assert "its goodput of 0 Mbit/s with high confidence is no rate of the path" in warning
    # 1 MB an interval of 1 s is 8 Mbit/s.
    assert "while data still came it said 8 Mbit/s" in warning


def test_a_goodput_over_a_gap_is_of_low_confidence() -> None:
    figures, (warning,) = dead([1_000_000] * 6 + [0, 0], rpm=3000.0)
    assert figures["rpm_goodput_bps"] == 4e6
    assert figures["rpm_goodput_confidence"] == 0
    assert figures["rpm"] == 3000
    assert "nothing arrived in 2 of its last 4 intervals: its goodput of 4 Mbit/s" in warning


def test_a_goodput_of_whole_intervals_keeps_its_confidence() -> None:
    figures, warnings = dead([0, 0] + [1_000_000] * 6, rpm=3000.0)
    assert figures["rpm_goodput_confidence"] == 2
    assert warnings == []


def test_a_goodput_that_the_link_cannot_have_carried_is_left_out_with_a_warning() -> None:
    text = line("summary", tests={"upload": FIGURES | {"goodput_bps": 6.06e6}})

    def read(most_bps: float) -> tuple[dict[str, float], list[str]]:
        parsed = rpm.parse(text, epoch_ns=EPOCH_NS, most_bps={"up": most_bps})
        return {m.name: m.value for m in parsed.metrics}, parsed.warnings

    # 5 Mbit/s of frames of 1514 bytes carry 4.78 Mbit/s of payload.
    figures, (warning,) = read(5e6 * 1448 / 1514)
    assert "rpm_goodput_bps" not in figures
    assert figures["rpm_goodput_confidence"] == 0
    assert "its goodput of 6.06 Mbit/s is more than the 4.782 Mbit/s that the link can carry" in warning
    assert read(6.1e6)[0]["rpm_goodput_bps"] == 6.06e6
