"""What `narrows whatif` reads of policers, of links below IP and of rates that move."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from test_whatif import BASE_S, FRAME, MSS, pair

from narrows.whatif.fit import Transfer, fit
from narrows.whatif.measured import measure, measure_quic
from narrows.whatif.tables import Pair
from narrows.whatif.written import Case, Change, cases, link, write_turns

BURST = 60_000


def policed(rate_bps: float, at_random: bool = False) -> Pair:
    """Two segments each 1.5 ms (16.1 Mbit/s) until the bucket is empty, then half as fast for a while, in
    which it is not always filled; or with losses at any time."""
    draw = random.Random("losses")
    times, acked, sacked = [], [], []
    t, level, slow_until, lost = BASE_S, float(BURST), 0.0, 0
    while t < 12:
        gap = 0.0030 if t < slow_until else 0.0015
        t += gap
        level = min(level + rate_bps / 8 * gap, BURST)
        dropped = draw.random() < 0.003 if at_random else level < 2 * FRAME
        if dropped and t >= slow_until:
            slow_until, lost = t + draw.uniform(0.05, 0.4), 3
        level -= 0 if dropped else 2 * FRAME
        times.append(t)
        acked.append(0.0 if dropped else 2.0 * MSS)
        sacked.append(lost > 0)
        lost -= 1
    made = pair(np.full(len(times), 0.0400), np.array(sacked), loss_events=sum(sacked) // 3)
    return replace(made, t=np.array(times), acked=np.array(acked))


def test_a_policers_rate_and_bucket_are_what_makes_all_losses_find_the_same_missing() -> None:
    found = fit(policed(10e6))
    assert found.policer is not None
    assert found.policer.rate_bps.value == pytest.approx(10e6, rel=0.01)
    assert found.policer.burst_bytes.value == pytest.approx(BURST, rel=0.05)
    assert [kind.queue for kind in found.kinds()] == ["policer"]
    was = link(found, Case("was-0", found.kinds()[0], "cubic"))
    assert "shaper=policer(" in was
    # Who asks for a queue asks what it were if what is above the rate waited.
    shaped = link(found, Case("changed-0", found.kinds()[0], "cubic", change=Change(queue="fq_codel")))
    assert "policer" not in shaped
    assert "queue=fq_codel()" in shaped


def test_losses_at_any_level_are_no_policers() -> None:
    assert fit(policed(100e6, at_random=True)).policer is None


def waited(gaps_s: np.ndarray) -> Pair:
    """ACKs of two segments each after these gaps, all of packets that waited 20 ms."""
    made = pair(np.full(len(gaps_s), 0.060), aggregate_bytes=None)
    return replace(made, t=BASE_S + np.cumsum(gaps_s))


def test_packets_that_come_together_are_of_a_link_below_ip_whose_turns_are_kept(tmp_path: Path) -> None:
    # Eight ACKs at once each 8 ms: 8 × 2 × (1448 + 52) bytes, 24,000 a turn, 24 Mbit/s of IP packets.
    gaps = np.tile([0.008, *[1e-6] * 7], 1000)
    found = fit(waited(gaps))
    assert found.turns is not None
    assert found.turns.together
    assert found.turns.mean_bps == pytest.approx(24e6, rel=0.02)
    assert np.median(found.turns.bytes) == pytest.approx(24_000)
    change = Change(rate="50 %")
    write_turns(found, tmp_path, change)
    assert 'medium=opportunities("turns.csv")' in link(found, Case("was-0", found.kinds()[0], "cubic"))
    half = pl.read_csv(tmp_path / "turns-0.5.csv")
    assert half["bytes"].median() == pytest.approx(12_000)


def test_a_rate_that_halves_is_written_as_one_that_moves(tmp_path: Path) -> None:
    # 2 × 1514 bytes each 1.2112 ms are 20 Mbit/s, each 2.4224 ms 10.
    found = fit(waited(np.concatenate([np.full(3000, 0.0012112), np.full(1500, 0.0024224)])))
    assert found.turns is not None
    assert not found.turns.together
    write_turns(found, tmp_path, None)
    rates = pl.read_csv(tmp_path / "turns.csv")["rate_bps"].to_numpy()
    assert rates[20] == pytest.approx(20e6, rel=0.01)
    assert rates[-10] == pytest.approx(10e6, rel=0.01)


def test_one_rate_has_no_turns() -> None:
    assert fit(waited(np.full(4500, 0.0012112))).turns is None


def test_a_piece_between_pauses_is_a_transfer_with_a_completion_time_of_its_own() -> None:
    found = measure(pair(np.full(8000, 0.060)), [(0.0, 1.5), (4.0, 5.0)])
    assert found.completions_s == (1.5, 1.0)
    assert found.get("completion_s") == 1.25
    assert found.get("completion_s 2") == 1.0
    assert found.get("completion_s 3") is None


def test_another_stack_takes_the_place_of_tcp_and_its_ends_say_how_it_fared(tmp_path: Path) -> None:
    path = fit(pair(np.full(8000, 0.060)))
    kind = path.kinds()[0]
    change = Change(stack="aioquic")
    # aioquic has no BBR: its own is Reno.
    text = cases(path, [Case("was-0", kind, "bbr"), Case("changed-0", kind, "bbr", change=change)])
    assert 'bulk(cca="bbr"' in text
    assert 'quic(stack="aioquic", cca="reno"' in text
    said = {"quic_goodput_bps": 8e6, "quic_sent_packets": 100.0, "quic_lost_packets": 2.0}
    rows = [{"item": "flow_0", "quantity": name, "value": value} for name, value in said.items()]
    pl.DataFrame(rows).write_parquet(tmp_path / "metrics.parquet")
    rtts = {"quantity": ["tcp_info.rtt"] * 101, "value": np.arange(50_000.0, 60_100.0, 100.0)}
    pl.DataFrame(rtts).write_parquet(tmp_path / "samples.parquet")
    # 1 MB at 8 Mbit/s; RTTs in µs.
    found = measure_quic(tmp_path, [Transfer(0.5, 1_000_000, 2.0)])
    assert found.completions_s == (1.0,)
    assert found.get("goodput_bps") == 8e6
    assert found.get("loss") == 0.02
    assert found.get("rtt_p95_s") == pytest.approx(0.0595)
    assert found.get("first_megabyte_s") is None
