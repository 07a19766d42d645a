"""All variants of one test's responsiveness from the same stored probes, with values worked out by hand."""

import polars as pl
import pytest

from narrows.metrics.latency.rpm_variants import probe_table, rpm_variants

S = 1_000_000_000
MS = 1_000_000


def samples(rows: list[tuple[int, str, float | None]], direction: str | None = "down") -> pl.DataFrame:
    """Of (t_ns, series, ns)."""
    return pl.DataFrame(
        {
            "item": ["test"] * len(rows),
            "part": pl.Series([None] * len(rows), dtype=pl.String),
            "direction": pl.Series([direction] * len(rows), dtype=pl.String),
            "quantity": [series for _, series, _ in rows],
            "t_ns": [t for t, _, _ in rows],
            "value": [value for _, _, value in rows],
        },
        schema_overrides={"value": pl.Float64},
    )


def foreign(t: int, tcp_ms: int, tls_ms: int, http_ms: int) -> list[tuple[int, str, float | None]]:
    parts = (("tcp", tcp_ms), ("tls", tls_ms), ("http", http_ms))
    return [(t, f"foreign_{name}", ms * MS) for name, ms in parts]


def test_a_window_of_draft_09_reaches_back_twenty_seconds_and_that_of_the_others_four() -> None:
    # Until 16 s everything takes 10 ms, then 20 ms; two probes of each kind per second; the end is at 20 s.
    rows: list[tuple[int, str, float | None]] = []
    for i in range(40):
        t, ms = i * S // 2, 10 if i < 32 else 20
        rows += [*foreign(t, ms, ms, ms), (t + 1, "self_http", ms * MS)]
    found = rpm_variants(probe_table(samples(rows), "test", "down"), 20 * S)
    # Last 4 s: 8 probes of 20 ms each; the trimmed mean keeps 7. 60000 / 20 = 3000 for both kinds.
    assert found.draft_08.rpm == pytest.approx(3000)
    assert found.draft_08.foreign_probes == 8
    # Last 20 s: 40 probes, the lowest 38 are 32 of 10 ms and 6 of 20 ms: 440 / 38 = 11.5789 ms; 5181.8.
    assert found.draft_09.rpm == pytest.approx(60000 * 38 / 440)
    # goresponsiveness: 15 s to 19 s, 2 probes of each kind of 10 ms, then 6 of 20 ms. P90 of self: index
    # int(7.2) = 7, 20 ms; of 24 thirds: index 21, 20 ms: 3000. Of 8 self times it keeps int(0.4) = 0: no
    # trimmed mean.
    assert found.go.p90_rpm == pytest.approx(3000)
    assert found.go.mean_rpm is None


def test_the_variants_part_where_foreign_and_self_probes_do() -> None:
    # 20 of each: foreign 10 ms a part, self 100 ms. Draft: (6000 + 600) / 2; goresponsiveness: 60000 / 55.
    rows = [row for i in range(20) for row in [*foreign(i, 10, 10, 10), (i, "self_http", 100.0 * MS)]]
    table = probe_table(samples(rows), "test", "down")
    assert rpm_variants(table, S).draft_09.rpm == pytest.approx(3300)
    # the interval that ends with the test does not count there
    assert rpm_variants(table, S).go.mean_rpm is None
    assert rpm_variants(table, 2 * S).go.mean_rpm == pytest.approx(60000 / 55)


def test_probes_of_one_instant_keep_their_own_parts() -> None:
    table = probe_table(samples([*foreign(5, 1, 2, 3), *foreign(5, 4, 5, 6)]), "test", "down")
    assert table.rows() == [(5, "foreign", 1.0, 2.0, 3.0), (5, "foreign", 4.0, 5.0, 6.0)]


def test_a_test_without_tls_has_null_there_and_both_ways_at_once_have_no_direction() -> None:
    rows = [(1, "foreign_tcp", 1.0 * MS), (1, "foreign_http", 2.0 * MS), (2, "self_http", 3.0 * MS)]
    table = probe_table(samples(list(rows), None), "test", None)
    assert table.rows() == [(1, "foreign", 1.0, None, 2.0), (2, "self", None, None, 3.0)]
    assert probe_table(samples(list(rows), None), "test", "down").is_empty()


def test_no_probes_are_no_number() -> None:
    found = rpm_variants(probe_table(samples([]), "test", "down"), S)
    assert (found.draft_08.rpm, found.draft_09.rpm, found.go.mean_rpm) == (None, None, None)
