"""What `narrows whatif` fits from packets, what it holds runs against, and what it says of two arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from narrows.errors import StoreError, UsageError
from narrows.plan.build import plan_experiment
from narrows.plan.model import Plan
from narrows.spec.load import load
from narrows.whatif import change, said, written
from narrows.whatif.check import distance, why_not
from narrows.whatif.fit import Kind, fit
from narrows.whatif.measured import Measured, measure
from narrows.whatif.session import Answer, Session, difference
from narrows.whatif.tables import Pair, pair_of
from narrows.whatif.written import Case, Change

BASE_S, MSS, FRAME = 0.040, 1448, 1514
RATE_BPS = 20e6
GAP_S = 2 * FRAME * 8 / RATE_BPS
"""Of ACKs of two segments each: 1.2112 ms."""


def row(**more: Any) -> dict[str, Any]:
    """A connection of the table `connections`, as far as it is read here."""
    shares = ("application", "receiver", "buffer", "queue", "policer", "loss", "window", "unknown")
    return {
        "log": "/made/up.pcap", "connection": 0, "sender": "server", "client": "10.0.0.1",
        "server": "10.0.2.1", "receiver": "10.0.0.1", "start_ns": 0,
        "payload_bytes": 20_000_000, "vantage": "sender",
        "rtt_samples": 5000, "mss_bytes": MSS, "base_rtt_ns": 40_000_000,
        "policed": None, "throughput_bps": 1e6,
        "loss_events": 0, "data_segments": 10_000, "loss_events_low_rtt": 0,
        "aggregate_bytes": None,
        "retransmitted_segments": 0, "needless_retransmissions": 0,
        **{f"{name}_limited_share": float(name == "queue") for name in shares},
    } | more  # fmt: skip


def pair(rtt: np.ndarray, sacked: np.ndarray | None = None, **more: Any) -> Pair:
    """ACKs of two segments each at the rate of the link, with these RTTs."""
    n = len(rtt)
    return Pair(
        log="/made/up.pcap",
        sender="10.0.2.1",
        receiver="10.0.0.1",
        connections=(row(**more),),
        share=1.0,
        t=BASE_S + GAP_S * np.arange(n),
        of=np.zeros(n, dtype=np.int64),
        acked=np.full(n, 2.0 * MSS),
        rtt=rtt,
        outstanding=np.full(n, 100_000.0),
        sacked=np.zeros(n, dtype=bool) if sacked is None else sacked,
    )


def test_where_a_queue_stands_the_rate_is_that_of_frames() -> None:
    found = fit(pair(np.full(8000, 0.060)))
    # 2 × 1448 bytes each 1.2112 ms are 19.128 Mbit/s of payload; × 1514 / 1448 = 20 Mbit/s.
    assert found.rate_bps is not None
    assert found.rate_bps.value == pytest.approx(20e6, rel=1e-6)
    assert found.rate_bps.low < 20e6 < found.rate_bps.high
    assert found.base_rtt_s.value == 0.040
    assert found.turns is None


def test_without_a_queue_no_capacity_is_known_and_the_reason_is_said() -> None:
    found = fit(pair(np.full(8000, 0.0402), application_limited_share=0.8, queue_limited_share=0.0))
    assert found.rate_bps is None
    assert found.buffer_bytes is None
    said_of = why_not(found, distance(measured(), measured()))
    assert said_of == "its application limited it for 80% of the time: no capacity was seen"


def sawtooth(levels: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """RTTs that rise from 50 ms to each of these, and there the first ACKs with SACK."""
    rtt = np.concatenate([np.linspace(0.050, level, 2000) for level in levels])
    sacked = np.zeros(len(rtt), dtype=bool)
    for n in range(len(levels)):
        sacked[2000 * n + 1995 : 2000 * n + 2000] = True
    return rtt, sacked


def test_the_buffer_is_what_the_delay_at_losses_holds() -> None:
    found = fit(pair(*sawtooth((0.100, 0.100, 0.100)), loss_events=3))
    # 100 − 40 ms at 20 Mbit/s are 150,000 bytes, and the packet that is being sent: 151,514.
    assert found.buffer_bytes is not None
    assert found.buffer_bytes.value == pytest.approx(151_514, rel=1e-3)
    assert found.drops_at_end is True
    assert found.kinds() == (Kind("bfifo"),)


def test_a_queue_that_drops_before_it_is_full_may_be_an_aqm() -> None:
    # At 70 ms the queue holds half of the 60 ms that it has held.
    found = fit(pair(*sawtooth((0.100, 0.070, 0.070)), loss_events=3))
    assert found.drops_at_end is False
    assert Kind("fq_codel()") in found.kinds()


def test_without_losses_the_buffer_is_at_least_what_was_held() -> None:
    found = fit(pair(np.linspace(0.050, 0.100, 8000)))
    assert found.buffer_bytes is not None
    assert found.buffer_bytes.high == pytest.approx(4 * found.buffer_bytes.value)


def test_a_pause_of_the_application_begins_another_transfer() -> None:
    one = pair(np.full(2000, 0.060))
    one.outstanding[999] = 0.0
    one.t[1000:] += 2.0
    first, second = fit(one).transfers
    assert first.bytes == second.bytes == 1000 * 2 * MSS
    assert first.start_s == 0.0
    # Its first ACK comes at 0.040 + 1000 × 0.0012112 + 2 s: one RTT of 60 ms, and a handshake of 40 ms.
    assert second.start_s == pytest.approx(0.040 + 1.2112 + 2.0 - 0.060 - 0.040)


def test_losses_while_no_queue_stood_are_random_ones() -> None:
    found = fit(pair(np.full(8000, 0.060), loss_events=25, loss_events_low_rtt=25))
    # 25 of 10,000 segments, less 1.64 × √25; at most twice as many, and as much more.
    assert found.random_loss is not None
    assert found.random_loss.value == pytest.approx(0.0025)
    assert (found.random_loss.low, found.random_loss.high) == pytest.approx((0.00168, 0.00582))


def measured(**more: Any) -> Measured:
    """What a steady transfer of ten seconds at 10 Mbit/s measures."""
    plain = Measured(
        goodput_bps=10e6, completions_s=(10.0,), first_megabyte_s=0.9, rtt_p50_s=0.06, rtt_p95_s=0.08,
        loss=0.0, segments=8600, seconds=np.full(10, 10e6),
        delays=np.full(10, 0.06), levels=np.linspace(0.05, 0.08, 6),
    )  # fmt: skip
    return replace(plain, **more)


def test_goodput_is_of_the_time_that_transfers_cover() -> None:
    found = measure(pair(np.full(8000, 0.060)))
    # 8000 × 2896 bytes until the last ACK, at 0.040 + 7999 × 0.0012112 s.
    assert found.goodput_bps == pytest.approx(8000 * 2896 * 8 / (0.040 + 7999 * GAP_S))
    assert found.rtt_p95_s == pytest.approx(0.060)


def test_a_run_equal_to_the_capture_is_at_no_distance_and_one_a_tenth_faster_misses_by_a_little_less() -> (
    None
):
    assert distance(measured(), measured()).worst == 0
    faster = distance(measured(goodput_bps=11e6), measured())
    # ln 1.1 = 0.0953, over the mark of 0.10.
    assert faster.parts["goodput"] == pytest.approx(0.953, abs=1e-3)
    assert faster.met
    slower = distance(measured(delays=np.full(10, 0.09)), measured())
    # ln (90 / 60) = 0.405, over 0.25.
    assert (slower.misses, slower.met) == ("RTT second by second", False)


def test_the_change_is_paired_and_scales_what_the_capture_had() -> None:
    capture = measured(goodput_bps=10e6)
    pairs = [(Case("was-0", Kind("bfifo"), "cubic"), measured(), measured(goodput_bps=8e6)) for _ in range(8)]
    found = difference("goodput_bps", capture, pairs)
    assert found is not None
    assert found.after == pytest.approx(8e6)
    assert found.shown
    same = difference("rtt_p95_s", capture, pairs)
    assert same is not None
    assert not same.shown
    assert said.in_words(same) == said.NO_DIFFERENCE


def test_every_case_is_planned_and_both_arms_of_a_draw_have_one_seed(tmp_path: Path) -> None:
    path = fit(pair(*sawtooth((0.100, 0.070, 0.070)), loss_events=3))
    changed = Change(
        cca="bbr", rate="50 %", host_qdisc="fq", sysctls=(("net.ipv4.tcp_notsent_lowat", "16384"),)
    )
    several = [
        Case("was-0", Kind("bfifo"), "cubic"), Case("was-1", Kind("fq_codel()"), "reno"),
        Case("changed-0", Kind("bfifo"), "cubic", change=changed),
        Case("changed-1", Kind("fq_codel()"), "reno", change=changed),
    ]  # fmt: skip
    file = tmp_path / "draws.py"
    file.write_text(written.cases(path, several))
    plans = {(p.key["case"], p.key["seed"]): p for p in plan_experiment(load(file)).plans}
    was, now = plans["was-0", "0"], plans["changed-0", "0"]
    assert was.seed == now.seed
    assert was.link.rate_down_bps == pytest.approx(20e6, rel=1e-4)
    assert now.link.rate_down_bps == pytest.approx(10e6, rel=1e-4)
    assert [item.cca for item in now.traffic if hasattr(item, "cca")] == ["bbr"]


def test_what_is_written_for_a_person_is_an_experiment(tmp_path: Path) -> None:
    path = fit(pair(np.full(8000, 0.060)))
    file = tmp_path / "fit.py"
    file.write_text(written.readable(path, Case("was-0", Kind("bfifo"), "cubic")))
    (plan,) = plan_experiment(load(file)).plans
    assert plan.link.rate_down_bps == pytest.approx(20e6, rel=1e-4)
    assert "random loss: not known" in file.read_text()


def table(**more: Any) -> pl.DataFrame:
    return pl.DataFrame([row(log=str(Path("/made/up.pcap")), **more)])


def test_a_capture_of_the_receiver_is_refused_with_the_remedy() -> None:
    with pytest.raises(StoreError, match="captured at the receiver end"):
        pair_of(Path("/made/up.pcap"), table(vantage="receiver"), pl.DataFrame())


def test_a_capture_without_a_flow_that_is_long_enough_is_refused() -> None:
    with pytest.raises(StoreError, match="no flow is long enough: 5000 bytes"):
        pair_of(Path("/made/up.pcap"), table(payload_bytes=5000), pl.DataFrame())
    with pytest.raises(StoreError, match="no TCP connection with data"):
        pair_of(Path("/other.pcap"), table(), pl.DataFrame())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"cca": "bbrr"}, "--cca: .*bbr"),
        ({"queue": "fq_kodel"}, "--queue: no queue 'fq_kodel'"),
        ({"queue": "codel(target=5)"}, "--queue: "),
        ({"rate": "90"}, "--rate: "),
        ({"rate": "0 %"}, "--rate '0 %' is no share"),
        ({"rate": "0 Mbit/s"}, "--rate '0 Mbit/s'"),
        ({"base_rtt": "0 ms"}, "--rtt '0 ms'"),
        ({"buffer": "20"}, "--buffer: "),
        ({"sysctl": ["tcp_wmem"]}, "--sysctl 'tcp_wmem'"),
        ({"stack": "quin"}, "--stack: .*quin"),
        ({"stack": "quinn", "cca": "vegas"}, "--stack: .*quinn has no vegas"),
        ({"queue": "cake", "buffer": "20 ms"}, "--queue and --buffer are both of the queue"),
    ],
)
def test_a_change_that_cannot_be_is_one_line_with_its_option(wrong: dict[str, Any], message: str) -> None:
    sysctls = wrong.pop("sysctl", ())
    with pytest.raises(UsageError, match=message):
        change.checked(Change(**wrong), sysctls)


def test_of_many_captures_shares_are_said_and_the_worst_comes_first() -> None:
    path = fit(pair(np.full(8000, 0.060)))

    def answer(after_bps: float) -> Answer:
        pairs = [(Case("was-0", Kind("bfifo"), "cubic"), measured(), measured(goodput_bps=after_bps))] * 8
        found = difference("goodput_bps", measured(), pairs)
        assert found is not None
        return Answer("/made/up.pcap", path, measured(), tuple(pairs), None, (found,), None, 8)

    answers = [answer(15e6), answer(5e6)]
    assert said.of_many(answers, Change(cca="bbr"))[1] == (
        "goodput with cca bbr: better in 1, worse in 1, not told apart in 0 of 2"
    )
    assert said.worst_first(answers)[0] is answers[1]


def test_the_sentence_names_all_that_moved_and_what_was_asked_for_that_did_not() -> None:
    path = fit(pair(np.full(8000, 0.060)))
    # Of 10,000 segments 5 were sent again, with the change 55: half a percentage point more, in each draw.
    was, changed = measured(loss=0.0005, segments=10_000), measured(loss=0.0055, segments=10_000)
    pairs = ((Case("was-0", Kind("bfifo"), "cubic"), was, changed),) * 8
    found = [difference(name, was, pairs) for name in ("goodput_bps", "loss")]
    differences = tuple(each for each in found if each is not None)
    sentence = said.of_one(
        Answer("/made/up.pcap", path, was, pairs, None, differences, None, 8), Change(cca="bbr")
    )
    assert "segments sent again +0.5 percentage points (+0.5 to +0.5)" in sentence
    assert f"goodput: {said.NO_DIFFERENCE}" in sentence


def session(tmp_path: Path, fault: str) -> Session:
    """A session whose runs come out as its made-up capture did; those with a change fail for this reason."""
    one = pair(*sawtooth((0.100, 0.100, 0.100)), loss_events=3)

    def read(logs: Sequence[Path], _: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
        names = [str(log.resolve()) for log in logs]
        acks = [
            pl.DataFrame(
                {
                    "log": name, "connection": 0, "t_ns": (one.t * 1e9).astype(int),
                    "acked_bytes": one.acked.astype(int), "rtt_ns": (one.rtt * 1e9).astype(int),
                    "outstanding_bytes": 100_000, "has_sack": one.sacked.astype(int),
                }
            )
            for name in names
        ]  # fmt: skip
        return pl.concat([table(loss_events=3).with_columns(log=pl.lit(n)) for n in names]), pl.concat(acks)

    def make(plans: list[Plan], directory: Path) -> tuple[dict[str, Plan], dict[str, str]]:
        for n in range(len(plans)):
            (directory / str(n) / "raw").mkdir(parents=True, exist_ok=True)
            (directory / str(n) / "raw/sender.pcapng").touch()
        failed = [str(n) for n, plan in enumerate(plans) if plan.key["case"].startswith(written.CHANGED)]
        return {str(n): plan for n, plan in enumerate(plans)}, dict.fromkeys(failed, fault)

    return Session(Path("/made/up.pcap"), tmp_path, read, make, "cubic")


def test_a_change_that_the_kernel_refuses_is_one_line_with_the_kernels_reason(tmp_path: Path) -> None:
    asked = session(tmp_path, "writing net.ipv4.tcp_nope = 1: No such file or directory")
    with pytest.raises(UsageError, match=r"with net.*nope=1 no run can be made: writing net"):
        asked.answer(Change(sysctls=(("net.ipv4.tcp_nope", "1"),)))


def test_a_change_to_what_was_there_is_no_change(tmp_path: Path) -> None:
    told = session(tmp_path, "nothing is changed").answer(Change(cca="cubic"))
    assert (told.cannot, told.differences) == ("what comes out as it did has cca cubic already", ())
    was = Case("was-0", Kind("fq_codel()"), "bbr")
    assert not Change(cca="bbr").changes(was)
    assert not Change(queue="fq_codel").changes(was)
    assert Change(cca="bbr", queue="cake").changes(was)


def test_gaps_tell_the_links_rate_where_others_share_it_and_how_many_they_are() -> None:
    # Of ten ACKs nine come after the packets of one other flow too, so in twice the time.
    one = pair(np.full(8000, 0.060))
    gaps = np.where(np.arange(8000) % 10 == 0, GAP_S, 2 * GAP_S)
    found = fit(replace(one, t=BASE_S + np.cumsum(gaps)))
    assert found.rate_bps is not None
    assert found.rate_bps.value == pytest.approx(20e6, rel=1e-3)
    # The share is 20 × 10 / 19 = 10.5 Mbit/s: round(20 / 10.5 - 1) = 1 other flow.
    assert found.others is not None
    assert found.others.flows == 1
    assert Kind("bfifo", others="bbr", flows=1) in found.kinds()
