"""identify: the records of its client, what they show, and what is concluded from them."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from narrows.errors import SpecError, StoreError
from narrows.line.identify import answers
from narrows.line.identify.page import page
from narrows.plan.build import plan_file
from narrows.plan.items import Command
from narrows.tools.identify import features, parse, records, verdict

MS = 1_000_000
RATE = 10e6  # one packet of 1250 bytes each ms
BUFFER_MS = 40


def packets(flow: int, sent_ms: Any, delay_ms: Any, *, number: Any = None, tos: Any = 0) -> Any:
    """Records of packets that arrived; the receiver's clock is 7 s ahead."""
    sent = np.asarray(sent_ms, dtype=np.float64)
    made = np.zeros(len(sent), dtype=records.RECORD)
    made["flow"], made["tos"] = flow, tos
    made["number"] = np.arange(len(sent)) if number is None else number
    made["sent"] = sent * MS
    made["arrived"] = made["sent"] + np.asarray(delay_ms) * MS + 7_000 * MS
    return made


def phase(name: str, flows: list[dict[str, Any]], sent: list[int], *parts: Any) -> dict[str, Any]:
    made = np.concatenate(parts)
    return {
        "phase": {"name": name, "way": "down", "duration_ns": 1000 * MS, "flows": flows},
        "sent": sent,
        "ip_bytes": 1250 * sum(sent),
        "dropped_by_socket": 0,
        "records": base64.b64encode(made.tobytes()).decode(),
    }


def flow(rate: float = RATE, size: int = 1222, tos: tuple[int, ...] = (0,)) -> dict[str, Any]:
    return {"flow": 0, "rate_bps": rate, "bytes": size, "tos": list(tos)}


def fifo_fill() -> dict[str, Any]:
    """1.6 packets a ms into a queue that passes one: it fills, then a third is lost, to the last."""
    waiting, got, delay = 0.0, [], []
    for n in range(1600):
        waiting = max(waiting - 0.625, 0)
        if waiting + 1 <= BUFFER_MS:
            waiting += 1
            got.append(n)
            delay.append(waiting)
    return phase("fill", [flow(1.6 * RATE)], [1600], packets(0, np.array(got) * 0.625, delay, number=got))


def gentle(a_ms: float, b_ms: float) -> dict[str, Any]:
    """A waits so long, B and the sparse flow so long; A loses every tenth packet once its queue is full."""
    n = np.arange(700)
    kept = (n < 300) | (n % 10 != 0)
    wait = np.minimum(n / 300, 1) * a_ms
    other = np.arange(300) / 300 * (1 if b_ms < a_ms else 0.0)
    return phase(
        "gentle",
        [flow(tos=(2,)), flow(0.3 * RATE), flow(1e5, 52), flow(1e5, 52, (0, 32, 184))],
        [700, 300, 60, 60],
        packets(0, n[kept] / 0.7, wait[kept], number=n[kept], tos=2),
        packets(1, np.arange(300) / 0.3, np.minimum(np.arange(300) / 130, 1) * b_ms + other * 0),
        packets(2, np.arange(60) / 0.06, np.minimum(np.arange(60) / 26, 1) * b_ms),
        packets(
            3, np.arange(60) / 0.06, np.minimum(np.arange(60) / 26, 1) * b_ms, tos=np.resize([0, 32, 184], 60)
        ),
    )


def text(*phases: dict[str, Any], **other: Any) -> str:
    report = {
        "tool": "identify",
        "format": 1,
        "server": "192.0.2.1:24603",
        "mode": "quick",
        "rtt_ns": [20 * MS] * 19 + [21 * MS],
        "notes": [],
        "elapsed_ns": 5_000 * MS,
        "phases": list(phases),
    }
    return json.dumps(report | other)


def judged(*phases: dict[str, Any]) -> verdict.Verdict:
    return verdict.judge(features.of(records.read(text(*phases)), "down"))


def test_a_lost_packet_has_no_arrival_and_delays_are_above_the_smallest() -> None:
    lost = phase("fill", [flow()], [4], packets(0, [0, 1, 3], [5, 6, 9], number=[0, 1, 3]))
    (found,) = records.read(text(lost)).phases
    (only,) = found.flows
    assert only.lost.tolist() == [False, False, True, False]
    assert only.delay_s[~only.lost] == pytest.approx([0, 0.001, 0.004])
    assert only.sent_s == pytest.approx([0, 0.001, 0.002, 0.003])
    assert only.share_lost == 0.25


def test_a_double_counts_once_and_a_number_that_was_never_sent_not_at_all() -> None:
    odd = phase("fill", [flow()], [2], packets(0, [0, 1, 1, 9], [5, 5, 50, 5], number=[0, 1, 1, 99]))
    assert records.read(text(odd)).phases[0].delays(0) == pytest.approx([0, 0])


@pytest.mark.parametrize(
    "wrong", ["", "{}", "[]", "null", '{"tool": "rpm", "format": 1}', text(fifo_fill())[:300], text({"a": 1})]
)
def test_what_is_no_report_is_one_clear_error(wrong: str) -> None:
    with pytest.raises(StoreError, match="report of"):
        parse.parse(wrong)


def test_codels_law_is_found_with_its_interval_and_random_drops_do_not_follow_it() -> None:
    by_law = np.cumsum(0.1 / np.sqrt(np.arange(3, 33)))
    error, run, interval = features.codel_law(by_law)
    assert error is not None
    assert error < 1e-6
    assert run == features.LAW_MOST
    assert interval == pytest.approx(0.1)
    random_ = np.random.default_rng(1)
    for _ in range(50):
        error, run, _ = features.codel_law(np.cumsum(random_.exponential(0.02, 40)))
        assert error is None or all(error >= most or run < least for most, least in verdict.LAWS)
    assert features.codel_law(np.array([1.0, 2.0])) == (None, 0, None)
    assert features.codel_law(np.array([])) == (None, 0, None)


def test_a_fifo_shows_its_rate_and_its_buffer_and_drops_at_the_tail() -> None:
    found = judged(fifo_fill(), gentle(BUFFER_MS, BUFFER_MS))
    f = found.features
    assert f.rate_bps == pytest.approx(RATE, rel=0.02)
    assert f.buffer_s is not None
    assert f.buffer_s * 1e3 == pytest.approx(BUFFER_MS, abs=1.5)
    assert (found.per_flow.value, found.aqm.value, found.drops_at.value) == ("no", "no", "tail")
    assert found.discipline.value == verdict.FIFO
    assert found.discipline.sure >= verdict.SURE


def test_a_flow_that_exceeds_its_share_waits_alone_where_flows_have_queues() -> None:
    found = judged(fifo_fill(), gentle(BUFFER_MS, 0.2))
    assert found.per_flow.value == "yes"
    assert found.discipline.value == verdict.SFQ


def test_two_disciplines_that_only_a_missing_phase_tells_apart_are_named_together() -> None:
    f = judged(fifo_fill(), gentle(BUFFER_MS, 0.2)).features
    assert f.fill is not None
    by_law = replace(f.fill, law=0.01, law_run=20, interval_s=0.1, delay_s=BUFFER_MS / 2e3)
    either = verdict.judge(replace(f, fill=by_law))
    assert either.discipline.value == "FQ-CoDel or CAKE"
    # With a FIFO before it, those of 128 flows that do not collide get unlike shares as well.
    behind = verdict.judge(replace(f, fill=by_law, collided=14, uneven=True))
    assert behind.discipline.value == "FQ-CoDel or CAKE"
    assert verdict.judge(replace(f, fill=by_law, collided=14)).discipline.value == verdict.FQ_CODEL
    assert verdict.judge(replace(f, fill=by_law, collided=0)).discipline.value == verdict.CAKE


def signals(f: features.Features, name: str, **other: Any) -> features.Signals:
    """Those of a phase, with what a guest has shown in the place of some."""
    found = getattr(f, name)
    assert found is not None
    return replace(found, law=None, **other)


def test_codels_law_is_found_in_time_where_a_medium_sends_what_failed_again_8_ms_later() -> None:
    """Drops of CoDel at 100 ms / sqrt(n); every tenth packet behind one arrives 8 ms late."""
    due = np.cumsum(0.1 / np.sqrt(np.arange(2, 42)))
    seen = due + 0.008 * (np.arange(40) % 10 == 3)
    off, run, interval = features.codel_clock(seen)
    assert off is not None
    assert off < verdict.CLOCK
    assert run >= verdict.CLOCK_RUN
    # The line through late drops, too: within a twentieth of the interval.
    assert interval == pytest.approx(0.1, rel=0.05)
    random_ = np.random.default_rng(2)
    for _ in range(50):
        off, _, _ = features.codel_clock(np.cumsum(random_.exponential(0.03, 40)))
        assert off is None or off >= verdict.CLOCK


def test_a_full_queue_of_flows_is_full_at_one_length_while_the_wait_follows_as_share() -> None:
    """SFQ at 7 Mbit/s: A's wait at its drops falls from 271 to 184 ms; 125 packets are there at each."""
    f = judged(fifo_fill(), gentle(BUFFER_MS, 0.2)).features
    fill = signals(f, "fill", held=127.0, held_spread=2.0, first_held=127.0)
    full = {"spread_s": 0.0537, "delay_s": 0.2708, "first_delay_s": 0.2712}
    for held, spread, aqm in ((125.0, 2.0, "no"), (90.0, 70.0, "yes")):
        little = signals(f, "gentle", held=held, held_spread=spread, first_held=held, **full)
        assert verdict.judge(replace(f, fill=fill, gentle=little, gentle_all=little)).aqm.value == aqm


def test_red_and_pie_are_named_together_and_codel_with_them_where_a_medium_hides_its_law() -> None:
    """RED at 61 Mbit/s: drops at 28 ms of much excess, 13 ms of little, the first before anything waits."""
    f = judged(fifo_fill(), gentle(BUFFER_MS, BUFFER_MS)).features
    fill = signals(
        f, "fill", spread_s=0.7e-3, delay_s=27.8e-3, first_delay_s=0.3e-3,
        held=166.0, held_spread=5.0, first_held=0.0,
    )  # fmt: skip
    little = replace(
        fill, spread_s=1e-3, delay_s=12.8e-3, first_delay_s=0.3e-3, held=76.0, held_spread=6.0, first_held=1.0
    )
    seen = replace(
        f, fill=fill, gentle=little, gentle_all=little, packet_s=0.166e-3, buffer_s=29.3e-3,
        buffer_packets=176.0, low_latency=1.0, ecn_kept=True,
    )  # fmt: skip
    assert verdict.judge(seen).discipline.value == "PIE or RED"
    # 9 ms from even leave the first drops where nothing waited; a law of 20 ms spacings they hide.
    assert verdict.judge(replace(seen, turn_s=9e-3)).discipline.value == "CoDel or PIE or RED"
    assert verdict.judge(replace(seen, low_latency=None)).discipline.value == "PIE or RED or DualPI2"


def test_a_wait_that_all_share_beside_one_of_a_flows_own_is_two_queues() -> None:
    """A home's FIFO behind FQ-CoDel, at 27 Mbit/s: A waits 123 ms, a sparse flow 28 ms, or 77 packets."""
    f = judged(fifo_fill(), gentle(BUFFER_MS, 0.2)).features
    both = features.Apart(0.1229, 0.0281, 0.0283, 0.194, 0.062, 15.7)
    seen = replace(f, apart=both, packet_s=0.367e-3, ce=0.17, ce_count=200)
    assert verdict.judge(seen).discipline.value == "two queues: FIFO and FQ-CoDel or CAKE"
    alone = replace(seen, apart=replace(both, b_s=0.8e-3, sparse_s=1e-3), collided=9, uneven=False)
    assert verdict.judge(alone).discipline.value == verdict.FQ_CODEL


def test_much_excess_that_waits_longer_than_a_full_queue_of_little_is_two_queues() -> None:
    """Two FIFOs at 14.5 Mbit/s: little excess is dropped at 87 ms, 126 packets; much at 157 ms, 227."""
    f = judged(fifo_fill(), gentle(BUFFER_MS, BUFFER_MS)).features
    fill = signals(
        f, "fill", spread_s=0.8e-3, delay_s=0.1565, first_delay_s=0.1516,
        held=227.0, held_spread=1.0, first_held=220.0,
    )  # fmt: skip
    little = replace(
        fill,
        spread_s=1.1e-3,
        delay_s=0.0868,
        first_delay_s=0.0868,
        held=126.0,
        held_spread=1.0,
        first_held=126.0,
        least_held=124.0,
    )
    seen = replace(f, fill=fill, gentle=little, gentle_all=little, packet_s=0.688e-3, buffer_s=0.157)
    found = verdict.judge(seen).discipline
    assert found.value == "two queues: FIFO and another"
    # The same, but for drops at 58 packets while it fills: RED.
    early = replace(little, least_held=58.0)
    assert verdict.judge(replace(seen, gentle=early, gentle_all=early)).discipline.value != found.value


def test_a_mediums_turns_are_seen_and_a_steady_rate_is_one() -> None:
    steady = judged(fifo_fill(), gentle(BUFFER_MS, BUFFER_MS))
    assert steady.below.value == "a steady rate"
    # The same packets, one each ms, leave eight at a time: up to 7 ms late.
    made = fifo_fill()
    kept = np.frombuffer(base64.b64decode(made["records"]), dtype=records.RECORD).copy()
    kept["arrived"] = np.ceil(kept["arrived"] / (8 * MS)) * 8 * MS
    made["records"] = base64.b64encode(kept.tobytes()).decode()
    turns = judged(made, gentle(BUFFER_MS, BUFFER_MS))
    assert turns.below.value == "a medium, or jitter"
    assert turns.features.turn_s == pytest.approx(7e-3, rel=0.15)


def test_the_rate_is_that_before_the_first_drop_where_a_queue_counts_what_it_drops() -> None:
    """200 packets pass, one each ms, while the wait grows; of the next 400 each fourth, one each 3 ms."""
    sent = np.arange(600) * 0.625
    kept = np.concatenate((np.arange(200), np.arange(203, 600, 4)))
    arrived = np.concatenate((np.arange(200.0), 199 + 3.0 * np.arange(1, 101)))
    hurt = phase("fill", [flow(1.6 * RATE)], [600], packets(0, sent[kept], arrived - sent[kept], number=kept))
    assert judged(hurt).features.rate_bps == pytest.approx(RATE, rel=1e-6)


def test_a_buffer_of_three_packets_is_no_policer_and_no_aqm() -> None:
    """Of pfifo(limit=3) at 7 Mbit/s, and pfifo(limit=4) at 20 Mbit/s: what the phases showed in a guest."""
    f = judged(fifo_fill(), gentle(BUFFER_MS, BUFFER_MS)).features
    assert f.fill is not None
    assert f.apart is not None

    def short(packet_ms: float, longest_ms: float, fill_ms: float, gentle_ms: float) -> verdict.Verdict:
        made = [
            replace(f.fill, delay_s=at / 1e3, first_delay_s=at / 1e3, spread_s=0.4e-3, law=None)  # type: ignore[type-var]
            for at in (fill_ms, gentle_ms)
        ]
        return verdict.judge(
            replace(
                f, packet_s=packet_ms / 1e3, longest_s=longest_ms / 1e3, buffer_s=longest_ms / 1e3,
                buffer_packets=longest_ms / packet_ms, fill=made[0], gentle=made[1], gentle_all=made[1],
                overload=0.37, noise_s=0.0, burst_packets=1,
            )
        )  # fmt: skip

    seven = short(1.44, 4.31, 4.09, 0.87)
    assert (seven.policer.value, seven.aqm.value) == ("no", "no")
    twenty = short(0.51, 2.04, 1.77, 0.81)
    assert (twenty.policer.value, twenty.aqm.value) == ("no", "no")
    assert {seven.discipline.value, twenty.discipline.value} <= {None, verdict.FIFO, "FIFO or head-drop FIFO"}
    nothing_held = short(0.51, 0.02, 0.01, 0.02)
    assert nothing_held.discipline.value == verdict.POLICER
    one_held = short(0.51, 0.6, 0.5, 0.5)
    assert not one_held.policer.told


def test_a_buffer_shorter_than_the_probes_bursts_tells_neither_rate_nor_aqm_nor_policer() -> None:
    """Of pfifo_head_drop(limit=5) at 112 Mbit/s, whose drops come at every delay that there is."""
    f = judged(fifo_fill(), gentle(BUFFER_MS, BUFFER_MS)).features
    assert f.fill is not None
    any_delay = replace(f.fill, delay_s=0.41e-3, first_delay_s=0.1e-3, spread_s=0.45e-3, law=None)
    outrun = replace(
        f, packet_s=0.09e-3, longest_s=0.45e-3, buffer_s=0.45e-3, buffer_packets=5.0, burst_packets=9,
        fill=any_delay, gentle=any_delay, gentle_all=any_delay, noise_s=0.0,
    )  # fmt: skip
    assert outrun.is_outrun
    found = verdict.judge(outrun)
    assert not found.aqm.told
    assert not found.discipline.told
    assert "the probe's own bursts of 9 packets" in found.discipline.why
    assert not replace(outrun, burst_packets=1).is_outrun


@pytest.mark.parametrize(
    ("held", "run", "survivors", "said"),
    [
        (8.0, 2, 7, "head"),  # pfifo_head_drop(limit=8) at 18 Mbit/s
        (8.0, 2, 0, "tail"),  # pfifo(limit=8) at 24 Mbit/s
        (7.0, 3, 2, "tail"),
        (3.0, 2, 0, None),  # three in a row are a bufferful
        (8.0, 2, 4, None),
    ],
)
def test_of_a_short_buffer_the_last_row_of_survivors_tells_head_from_tail(
    held: float, run: int, survivors: int, said: str | None
) -> None:
    f = judged(fifo_fill(), gentle(BUFFER_MS, BUFFER_MS)).features
    short = replace(
        f, buffer_packets=held, longest_run=run, survivors=survivors, overload=0.37, burst_packets=1
    )
    assert verdict.judge(short).drops_at.value == said


def test_packets_that_are_sent_together_are_a_burst() -> None:
    together = np.sort(np.concatenate([np.arange(0, 0.1, 0.0005) + n * 1e-6 for n in range(7)]))
    assert features.bursts(together, 0.1e-3) == 7
    assert features.bursts(np.arange(0, 0.1, 0.0005), 0.5e-3) == 1


def test_drops_of_a_full_queue_follow_no_law_however_some_spacings_lie() -> None:
    """Of bfifo(limit="168 KB") at 61 Mbit/s and 13 ms: 6 of 419 spacings lay on a line to 2.6 %."""
    f = judged(fifo_fill(), gentle(BUFFER_MS, BUFFER_MS)).features
    assert f.gentle_all is not None
    assert f.buffer_s is not None
    by_chance = replace(f.gentle_all, law=0.026, law_run=6, interval_s=0.057)
    full = verdict.judge(replace(f, gentle_all=by_chance))
    assert (full.aqm.value, full.discipline.value) == ("no", verdict.FIFO)
    early = replace(by_chance, delay_s=f.buffer_s / 4, first_delay_s=f.buffer_s / 8, spread_s=f.buffer_s / 4)
    assert verdict.judge(replace(f, gentle_all=early)).aqm.value == "yes"
    below = replace(early, delay_s=0.001)
    assert verdict.judge(replace(f, gentle_all=below)).aqm.value == "no", "CoDel's target is 5 % of 57 ms"


def test_a_code_point_starves_only_where_its_loss_is_no_chance() -> None:
    """Of 64 code points behind a bucket some lose 8 of 20 where a fifth of all is lost."""
    assert features.by_chance(8, 20, 0.2) == pytest.approx(0.0321, abs=1e-4)
    assert features.by_chance(8, 20, 0.2) > features.CHANCE / 64
    # A band that starves loses all, and a few are enough.
    assert features.by_chance(3, 3, features.LEAST_LOST) < features.CHANCE / 64


def test_without_a_queue_nothing_is_told() -> None:
    idle = phase("fill", [flow()], [100], packets(0, np.arange(100), np.full(100, 5.0)))
    quiet = phase(
        "gentle",
        [flow(), flow(), flow(1e5, 52)],
        [100, 100, 20],
        *(packets(n, np.arange(count), np.full(count, 5.0)) for n, count in ((0, 100), (1, 100), (2, 20))),
    )
    found = judged(idle, quiet)
    for name, _ in answers.QUESTIONS:
        assert not getattr(found, name).told, name
    empty = judged(phase("fill", [flow()], [10], packets(0, [], [])))
    assert not empty.discipline.told
    assert empty.features.rate_bps is None


def test_the_rows_and_the_page_have_every_answer_with_its_reason() -> None:
    report = records.read(text(fifo_fill(), gentle(BUFFER_MS, BUFFER_MS), notes=["a note"]))
    found = answers.verdicts(report)
    rows = answers.rows(report, found[0])
    assert rows[0][:2] == ("discipline", "FIFO")
    assert rows[2][:2] == ("rate", "9.99 Mbit/s") or rows[2][1].startswith("10.0")
    html = page(report, found, "The queue")
    assert html.count("data:image/png;base64,") == 2
    assert "a note" in html
    assert "<script" not in html
    json.dumps(answers.as_json(report, found))


def plan_of(directory: Path, options: str) -> list[Command]:
    path = directory / "experiment.py"
    link = 'link = Link(rate="20 Mbit/s", base_rtt="20 ms")'
    path.write_text(f'"""Which?"""\nfrom narrows.spec import *\n{link}\ntest = identify({options})\n')
    (plan,) = plan_file(path).plans
    return [item for item in plan.traffic if isinstance(item, Command)]


def test_its_options_become_arguments(tmp_path: Path) -> None:
    server, client = plan_of(tmp_path, 'ways="up", mode="quick", most_rate="50 Mbit/s", cleared=True')
    at = "10.0.2.1:24603"
    assert server.argv[1:] == ("identify-server", "--listen", at, "--most-mbit", "50", "--clear-tos")
    assert client.argv[1:] == (
        "identify-client", "--server", at, "--ways", "up", "--mode", "quick", "--most-mbit", "50",
    )  # fmt: skip


@pytest.mark.parametrize("options", ['ways="sideways"', 'mode="slow"', 'most_rate="10 kbit/s"', "port=0"])
def test_an_option_that_cannot_be_is_one_clear_error(tmp_path: Path, options: str) -> None:
    with pytest.raises(SpecError):
        plan_of(tmp_path, options)
