"""What the queue is: from features to answers, each with how sure and from what. Pure.

The thresholds were set on one half of a sampled grid and judged on the other (docs/identify.md has both). An
answer that is less sure than `SURE` is "cannot tell", with the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from narrows.tools.identify import features, records
from narrows.tools.identify.features import FEW, Features, Signals

SURE = 0.8
MS = 1e-3
LAWS = ((0.045, 6), (0.08, 12))
"""CoDel's law: the largest error, and how many spacings it must hold for."""
CLOCK, CLOCK_RUN = 0.18, 16
"""The same in time, over a medium, which moves drops a little: one of 600 rows at random comes so close."""
LEAST_INTERVAL_S, HIDES_LAW_S = 0.05, 3 * MS
MARKS = 3
AQM_PACKETS, SLACK_PACKETS, PIE_ACTS_S = 1000, 3, 0.045
"""Linux' default limit of CoDel and PIE, and the delay above which PIE acts within a phase: three times its
target of 15 ms, as its probability begins at 0 and grows slowly while it is small (RFC 8033, 4.2 and 5.2)."""
OF_A_BUFFERFUL = 0.7
SHALLOW = 0.5
QUIET_S = 0.002
CLOCK_S = 0.1 * MS
"""Below this a wait is not seen: stamps of a host."""
TINY_PACKETS = 3
"""A buffer that holds no more is all of a packet's wait, and of its differences."""
FULL, TARGET_OF_INTERVAL = 0.85, 0.03
"""A part of the full queue's delay: drops at more are its own. And a part of CoDel's interval: drops at a
delay of less are not CoDel's, whose target is 5 to 10 % of it (RFC 8289, 4.4)."""
TURN_PACKETS, TURN_LEAST_S, STEADY_PACKETS = 1.5, 0.4 * MS, 0.7
"""Arrivals of a full queue farther from even ones than the first two are a medium's, up to the third none."""
DEEPER = 1.5
"""Much excess that waits so much longer than in the queue that little excess fills waits in another, too."""
NEARLY, SINGLED_OUT = 0.08, 0.6
COMMON_PACKETS, COMMON_S = 8, MS
"""A sparse flow with a queue of its own waits for no more."""
BAND_0, BAND_2 = {4, 5}, {2, 3}
"""Linux' pfifo_fast: the low three bits of code points that choose another band than 1
(`ip_tos2prio`, `prio2band`)."""

FIFO, HEAD_DROP, PFIFO_FAST, PRIO = "FIFO", "head-drop FIFO", "pfifo_fast", "strict priority"
CODEL, FQ_CODEL, SFQ, PIE, FQ_PIE = "CoDel", "FQ-CoDel", "SFQ", "PIE", "FQ-PIE"
CAKE, DUALPI2, POLICER = "CAKE", "DualPI2", "policer"
RED, CHOKE, SFB = "RED", "CHOKe", "SFB"
OR, TWO = " or ", "two queues"


def names(said: str) -> list[str]:
    """The disciplines that an answer names: those that cannot be told apart together."""
    return said.split(OR)


NAMED = {
    "pfifo": FIFO, "bfifo": FIFO, "pfifo_head_drop": HEAD_DROP, "pfifo_fast": PFIFO_FAST, "prio": PRIO,
    "codel": CODEL, "fq_codel": FQ_CODEL, "sfq": SFQ, "pie": PIE, "docsis_pie": PIE, "fq_pie": FQ_PIE,
    "cake": CAKE, "dualpi2": DUALPI2, "red": RED, "choke": CHOKE, "sfb": SFB,
}  # fmt: skip
"""What an answer calls each kind of queue."""


def is_right(said: str | None, kinds: Sequence[str]) -> bool | None:
    """Whether an answer names the queue of the first kind, alone or among those that it cannot tell apart; of
    two queues one of them. None: it has no word for that kind."""
    if kinds[0] not in NAMED:
        return None
    if said is not None and said.startswith(TWO):
        return len(kinds) > 1 and any(NAMED.get(kind, TWO) in said.removeprefix(TWO) for kind in kinds)
    return said is not None and NAMED[kinds[0]] in names(said)


def said(text: str) -> dict[str, str | None]:
    """The discipline of each way by what the client wrote; None: it cannot be told. NoRecords where it wrote
    no report."""
    report = records.read(text)
    return {way: judge(features.of(report, way)).discipline.value for way in report.ways}


@dataclass(frozen=True)
class Answer:
    """One answer. `value` None: cannot tell, and `why` is the reason."""

    value: str | None
    sure: float
    """From 0 to 1: the least of what the steps to it are worth."""
    why: str

    @property
    def told(self) -> bool:
        return self.value is not None


def cannot(why: str, sure: float = 0.0) -> Answer:
    return Answer(None, sure, why)


@dataclass(frozen=True)
class Verdict:
    """All answers about one way."""

    way: str
    features: Features
    per_flow: Answer
    aqm: Answer
    drops_at: Answer
    classes: Answer
    ecn: Answer
    policer: Answer
    below: Answer
    discipline: Answer


def judge(f: Features) -> Verdict:
    """The answers of one way."""
    law, law_why = _law(f)
    per_flow = _per_flow(f)
    two = _two_queues(f, per_flow, law)
    aqm = _aqm(f, law, law_why)
    if two is not None and not law and not _marks(f):
        aqm = cannot(two.why)
    drops_at = _drops_at(f)
    classes = _classes(f, per_flow)
    ecn = _ecn(f)
    policer = _policer(f)
    discipline = two or _discipline(f, per_flow, aqm, drops_at, classes, policer, law, law_why)
    if discipline.told and discipline.sure < SURE:
        discipline = cannot(f"perhaps {discipline.value}: {discipline.why}", discipline.sure)
    return Verdict(f.way, f, per_flow, aqm, drops_at, classes, ecn, policer, _below(f), discipline)


def _ms(seconds: float | None) -> str:
    return "?" if seconds is None else f"{seconds / MS:.3g} ms"


def _law(f: Features) -> tuple[bool, str]:
    """Whether signals are spaced by CoDel's law, in either phase."""
    for name, found in (("fill", f.fill), ("gentle", f.gentle_all)):
        if found is None:
            continue
        if _at_the_end(found, f) or _below_target(found):
            continue
        if (found.interval_s or 1.0) < LEAST_INTERVAL_S and _constant(f.gentle, f):
            continue  # of a full queue's many spacings some lie on a line
        if found.law is not None and any(found.law < most and found.law_run >= run for most, run in LAWS):
            return True, (
                f"{found.law_run} spacings of drops in the phase {name} follow"
                f" {_ms(found.interval_s)} / sqrt(n) within {found.law:.1%}"
            )
        if found.clock is not None and found.clock < CLOCK and found.clock_run >= CLOCK_RUN and _turns(f):
            return True, (
                f"the times of {found.clock_run} drops in the phase {name} follow"
                f" {_ms(found.clock_interval_s)} / sqrt(n) within {found.clock:.0%} of a spacing"
            )
    return False, "spacings of drops do not follow CoDel's law"


def _at_the_end(signals: Signals, f: Features) -> bool:
    """Whether all drops of a phase are those of a full queue, which needs no law: of many spacings some
    always lie on a line."""
    full = f.buffer_s is not None and signals.delay_s is not None and signals.delay_s >= FULL * f.buffer_s
    return full and _constant(signals, f) is True


def _below_target(signals: Signals) -> bool:
    return (signals.delay_s or 0.0) < TARGET_OF_INTERVAL * (signals.interval_s or 0.0)


def _least_wait(f: Features) -> float:
    """Below this a difference of delays is noise."""
    return max(2.5 * (f.packet_s or 0), 1.5 * f.noise_s, 1.5 * _turns(f), 0.3 * MS)


def _turns(f: Features) -> float:
    """How far a medium moves arrivals; 0 where none is seen."""
    turn = f.turn_s or 0.0
    return turn if turn > max(TURN_PACKETS * (f.packet_s or 0), TURN_LEAST_S) else 0.0


def _below(f: Features) -> Answer:
    """What serves the queue: a rate, or a medium's turns."""
    if f.turn_s is None or f.packet_s is None or f.is_outrun:
        return cannot("no full queue")
    if (f.longest_s or 0.0) <= _least_wait(f):
        return cannot("no queue was built")
    words = f"packets of the full queue leave up to {_ms(f.turn_s)} from even; one takes {_ms(f.packet_s)}"
    if _turns(f):
        return Answer("a medium, or jitter", 0.9, words)
    if f.turn_s <= max(STEADY_PACKETS * f.packet_s, CLOCK_S):
        return Answer("a steady rate", 0.95, words)
    return cannot(words)


def _two_queues(f: Features, per_flow: Answer, law: bool) -> Answer | None:
    """Two queues in a row that both act, which no one queue's features explain; None where one does."""
    if f.is_outrun or f.fill is None or f.gentle is None:
        return None
    packet, turns, noise = f.packet_s or 0.0, _turns(f), f.noise_s
    deep = f.fill.delay_s if f.fill.delay_s is not None else 0.0
    apart = f.apart
    least = max(COMMON_PACKETS * packet, 3 * turns, 3 * noise, COMMON_S)
    flows = OR.join((FQ_CODEL, CAKE)) if law or _marks(f) else "queues of flows"
    if apart is not None:
        common = min(apart.b_s, apart.sparse_s)
        more = apart.a_s - max(apart.b_s, apart.sparse_s)
        waits = f"a sparse flow waits {_ms(apart.sparse_s)} behind what all share"
        if common > least and more > max(0.1 * common, least):
            return Answer(f"{TWO}: FIFO and {flows}", 0.9, f"{waits}, and A {_ms(more)} more, in its own")
        unlike = apart.z > 5 and apart.b_signals < 0.15 * apart.a_signals and apart.a_signals > 0.02
        if common > least and unlike and abs(more) < 0.1 * common:
            words = f"{waits}, as A does, which alone loses: {apart.a_signals:.1%}, B {apart.b_signals:.1%}"
            return Answer(f"{TWO}: FIFO and {flows}{OR}{SFB}", 0.9, words)
    gentle = f.gentle if per_flow.value == "yes" else f.gentle_all
    if gentle is not None and gentle.delay_s is not None and _constant(gentle, f):
        less = deep - gentle.delay_s if _is_full(gentle) else 0.0
        if f.fill.count >= FEW and deep > DEEPER * gentle.delay_s and min(less, gentle.delay_s) > least:
            mine = SFQ if per_flow.value == "yes" else FIFO
            words = f"little excess fills a queue of {_ms(gentle.delay_s)}; much waits {_ms(deep)} at drops"
            return Answer(f"{TWO}: {mine} and {'one of CoDel' if law else 'another'}", 0.9, words)
    standing = f.standing_s or 0.0
    if per_flow.value != "no" or standing <= max(PIE_ACTS_S, least) or _constant(f.fill, f) is not False:
        return None
    if (f.gentle_all is not None and f.gentle_all.count < FEW) or standing - deep > max(0.3 * deep, least):
        words = (
            f"all wait {_ms(standing)} of little excess, which no AQM left; much is dropped at {_ms(deep)}"
        )
        return Answer(f"{TWO}: FIFO and another", 0.9, f"{words}, spread {_ms(f.fill.spread_s)}")
    return None


def _per_flow(f: Features) -> Answer:
    apart = f.apart
    if apart is None:
        return cannot("too few packets arrived")
    words = (
        f"A, which exceeds its share, waits {_ms(apart.a_s)} and loses {apart.a_signals:.1%};"
        f" B waits {_ms(apart.b_s)} and loses {apart.b_signals:.1%}, a sparse flow {_ms(apart.sparse_s)}"
    )
    least = _least_wait(f)
    waits = apart.a_s > least
    signalled = apart.a_signals > 0.005
    if not waits and not signalled:
        return cannot(f"no queue could be built: {words}")
    if waits and apart.a_s > 2 * least:
        if apart.b_s < 0.4 * apart.a_s and apart.sparse_s < 0.4 * apart.a_s:
            return Answer("yes", 0.99, words)
        if apart.b_s > 0.7 * apart.a_s and apart.sparse_s > 0.6 * apart.a_s:
            return Answer("no", 0.99, words)
    if signalled and apart.z > 5 and apart.b_signals < 0.15 * apart.a_signals:
        return Answer("yes", 0.95, words)
    if signalled and apart.b_signals > 0.4 * apart.a_signals:
        return Answer("no", 0.95, words)
    return cannot(f"A and B are neither alike nor apart: {words}")


def _constant(signals: Signals | None, f: Features) -> bool | None:
    """Whether all signals of a phase came at one delay or one length, the full queue's; None: too few, or no
    more apart than a medium moves them."""
    if signals is None or signals.spread_s is None or signals.held_spread is None:
        return None
    delay, first = signals.delay_s or 0.0, signals.first_delay_s or 0.0
    held, first_held = signals.held or 0.0, signals.first_held or 0.0
    slack = max(0.12 * delay, 3 * (f.packet_s or 0), 2 * f.noise_s)
    if signals.spread_s <= slack and abs(first - delay) <= slack:
        return True
    packets = max(0.12 * held, 3)
    if signals.held_spread <= packets and abs(first_held - held) <= packets:
        return True
    moved = 2 * _turns(f)
    return None if moved and signals.spread_s <= moved and abs(first - delay) <= moved else False


def _is_full(signals: Signals) -> bool:
    """Whether each drop of a phase came to a full queue. RED's first do not, and then its queue stays as
    long as a full one."""
    held, least = signals.held or 0.0, signals.least_held or 0.0
    return least >= held - max(NEARLY * held, 3)


def _delay_at(signals: Signals | None) -> float:
    return 0.0 if signals is None else signals.delay_s or 0.0


def _hides_pie(f: Features) -> bool:
    """Whether the buffer is Linux' default limit of PIE, and too short for it to act."""
    packets, shortest = f.buffer_packets or 0, f.buffer_s or 0
    return abs(packets - AQM_PACKETS) < SLACK_PACKETS and shortest < PIE_ACTS_S


def _is_shallow(f: Features) -> bool:
    """Whether little excess is dropped at much less delay than much: a full queue has one delay, to within a
    few packets that come together."""
    less = _delay_at(f.fill) - _delay_at(f.gentle)
    few = max(TINY_PACKETS * (f.packet_s or 0), 2 * f.noise_s)
    return _delay_at(f.gentle) < SHALLOW * _delay_at(f.fill) and less > few


def _aqm(f: Features, law: bool, law_why: str) -> Answer:
    if law:
        return Answer("yes", 0.99, law_why)
    if f.low_latency is not None and f.low_latency < 0.4 and (f.ce_l4s or 0) > 0.05 and not _is_apart(f):
        return Answer(
            "yes", 0.99, f"ECT(1) waits {f.low_latency:.0%} of the rest, and {f.ce_l4s:.0%} is marked"
        )
    if _marks(f):
        return Answer("yes", 0.99, f"{f.ce:.1%} of ECT(0) is marked")
    if f.is_outrun:
        return cannot(
            f"the probe's own bursts of {f.burst_packets} packets fill the buffer of {f.buffer_packets:.0f}: "
            "drops at any delay are theirs"
        )
    fill, gentle = _constant(f.fill, f), _constant(f.gentle, f)
    longest = f.longest_s or 0
    if fill is None and gentle is None:
        if _turns(f) and f.fill is not None and f.fill.spread_s is not None:
            return cannot(f"drops are no farther apart than a medium moves them: {_ms(_turns(f))}")
        if longest > 0.25:
            return Answer("no", 0.95, f"packets waited up to {_ms(longest)} and nothing was dropped")
        return cannot("nothing was dropped")
    spread = [
        f"{name}: drops at {_ms(s.delay_s)}, spread {_ms(s.spread_s)}, the first at {_ms(s.first_delay_s)}"
        for name, s in (("fill", f.fill), ("gentle", f.gentle))
        if s is not None and s.spread_s is not None
    ]
    why = "; ".join(spread)
    if fill is not None and gentle is not None and _is_shallow(f):
        return Answer("yes", 0.95, f"less excess, less delay at drops: {why}")
    if fill is not False and gentle is not False:
        if _hides_pie(f):
            return cannot(
                f"drops only where the queue is full, but at {_ms(f.buffer_s)} of {AQM_PACKETS} packets PIE"
                " would do so too: that is hardly more than its target of 15 ms, or less"
            )
        sure = 0.98 if fill and (gentle or gentle is None) else 0.9
        return Answer("no", sure, f"drops only where the queue is full: {why}")
    if fill is False and gentle is not True:
        return Answer("yes", 0.95, f"drops long before the queue is full: {why}")
    if gentle is False and fill is True:
        return Answer("yes", 0.85, f"drops before the queue is full when little is too much: {why}")
    return cannot(f"drops at many delays in one phase alone: {why}")


def _marks(f: Features) -> bool:
    """Whether ECT(0) is marked: nothing but an AQM does that."""
    return (f.ce_count or 0) >= MARKS


def _is_apart(f: Features) -> bool:
    return _per_flow(f).value == "yes"


def _drops_at(f: Features) -> Answer:
    if f.survivors is None or f.buffer_packets is None:
        return cannot("the queue never was full")
    words = f"{f.survivors} packets behind the last drop, of {f.buffer_packets:.0f} that the buffer holds"
    lost = min(max(f.overload or 0.3, 0.05), 0.9)
    if f.buffer_packets * lost < 4:
        return _drops_at_of_few(f, words)
    if f.survivors >= 0.6 * f.buffer_packets:
        return Answer("head", 0.95, words)
    if f.survivors <= 0.35 * f.buffer_packets:
        return Answer("tail", 0.95, words)
    return cannot(words)


def _drops_at_of_few(f: Features, words: str) -> Answer:
    """The signs of a short buffer: packets sent evenly are lost evenly, and only with head drop does the last
    bufferful lose none, which is a longer row of survivors than any before."""
    run, held, survivors = f.longest_run, f.buffer_packets or 0.0, f.survivors or 0
    if run is None or f.is_outrun or run + 1 > OF_A_BUFFERFUL * held:
        return cannot(f"the buffer is too short: {words}")
    words += f"; while it was full no more than {run} in a row"
    if survivors > run and survivors >= OF_A_BUFFERFUL * held:
        return Answer("head", 0.9, words)
    return Answer("tail", 0.9, words) if survivors <= run else cannot(words)


def _classes(f: Features, per_flow: Answer) -> Answer:
    better = [each.dscp for each in f.code_points if each.treated == "better"]
    worse = [each.dscp for each in f.code_points if each.treated == "worse"]
    if f.tins is not None and abs(f.tins) > 0.6:
        how = "worse" if f.tins > 0 else "better"
        return Answer("weights", 0.95, f"CS1 is served {how} than best effort when both exceed their share")
    if not f.code_points:
        return cannot("no sweep of code points")
    if f.bleached:
        return cannot("all code points arrive as 0: they are cleared on the way")
    if per_flow.value == "yes":
        return Answer("none seen", 0.8, "sparse flows of all code points pass alike")
    known = [each for each in f.code_points if each.treated != "unknown"]
    if len(known) < 0.7 * len(f.code_points):
        return cannot("no queue that a code point could pass")
    if not better and not worse:
        return Answer("none", 0.95, f"all {len(known)} code points tried wait alike")
    words = f"better: {better or 'none'}; worse: {worse or 'none'}"
    return Answer("priority", 0.95 if len(better) + len(worse) > 1 else 0.85, words)


def _ecn(f: Features) -> Answer:
    if f.ce is None:
        return cannot("not tried")
    if f.ecn_kept is False:
        return cannot("ECT is cleared on the way")
    if f.low_latency is not None and f.low_latency < 0.4 and (f.ce_l4s or 0) > 0.05 and not _is_apart(f):
        return Answer(
            "L4S", 0.99, f"ECT(1) waits {f.low_latency:.0%} of the rest, and {f.ce_l4s:.0%} is marked"
        )
    if _marks(f) or (f.ce_l4s or 0) > 0.002:
        return Answer("marks", 0.99, f"{f.ce:.1%} of ECT(0) is marked, {f.ce_l4s or 0:.1%} of ECT(1)")
    if f.gentle is not None and f.gentle.count >= 8:
        return Answer("no marks", 0.95, "ECT packets are dropped, none is marked")
    return cannot("nothing was dropped or marked while ECT was sent")


def _policer(f: Features) -> Answer:
    if f.longest_s is None or f.packet_s is None or f.overload is None:
        return cannot("no rate found")
    # A policer holds nothing: no packet waits for another. A FIFO makes one wait for all that it holds.
    unseen = 2 * f.noise_s + CLOCK_S
    waits = f.longest_s > 1.5 * f.packet_s + unseen
    bucket = ""
    if f.first_rate_bps and f.rate_bps and f.first_rate_bps > 1.2 * f.rate_bps:
        bucket = f"; at first {f.first_rate_bps / f.rate_bps:.1f} times the rate: a bucket"
    if f.overload < 0.02 and not waits:
        return cannot("nothing waited and nothing was lost: no bottleneck was met")
    if f.overload > 0.05 and not waits and f.noise_s > QUIET_S:
        return cannot(f"the idle path's own {_ms(f.noise_s)} of noise could be the wait")
    if f.overload > 0.05 and not waits and f.longest_s > 0.5 * f.packet_s + unseen:
        return cannot(f"a policer, or a buffer of hardly more than a packet: packets wait {_ms(f.longest_s)}")
    if f.overload > 0.05 and not waits and (f.burst_packets or 0) >= TINY_PACKETS and not bucket:
        return cannot(
            f"a policer, or a buffer shorter than the probe's own bursts of {f.burst_packets} packets"
        )
    if f.overload > 0.05 and not waits and TINY_PACKETS * f.packet_s < unseen and not bucket:
        return cannot(
            f"a policer, or a short buffer: {TINY_PACKETS} packets take {_ms(TINY_PACKETS * f.packet_s)}, "
            f"which is not seen in {_ms(unseen)}"
        )
    if f.overload > 0.05 and not waits:
        return Answer("yes", 0.9, f"{f.overload:.0%} lost and no packet waits ({_ms(f.longest_s)}){bucket}")
    return Answer("no", 0.95, f"packets wait up to {_ms(f.longest_s)}{bucket}")


def _discipline(
    f: Features,
    per_flow: Answer,
    aqm: Answer,
    drops_at: Answer,
    classes: Answer,
    policer: Answer,
    law: bool,
    law_why: str,
) -> Answer:
    if policer.value == "yes":
        return Answer(POLICER, policer.sure, policer.why)
    if not per_flow.told:
        return cannot(per_flow.why)
    if per_flow.value == "yes":
        return _of_flows(f, per_flow, aqm, classes, law, law_why)
    hidden = not aqm.told and _hides_pie(f)
    if not aqm.told and not hidden:
        return cannot(aqm.why)
    sure = min(per_flow.sure, aqm.sure) if aqm.told else per_flow.sure
    if aqm.value == "yes":
        if _ecn(f).value == "L4S":
            return Answer(DUALPI2, 0.97, aqm.why)
        if law:
            return Answer(CODEL, min(sure, 0.97), law_why)
        found, why = [PIE, RED], [f"one queue, drops before it is full: {aqm.why}"]
        if _constant(f.fill, f) and not _is_shallow(f):
            found, why = [CODEL, *found], ["the buffer is full before its drops show CoDel's law", *why]
        elif _turns(f) > HIDES_LAW_S:
            found, why = (
                [CODEL, *found],
                [f"a medium moves drops by {_ms(_turns(f))}, which hides CoDel's law", *why],
            )
        if f.low_latency is None or f.ecn_kept is False:
            found, why = [*found, DUALPI2], ["ECT(1) was not tried", *why]
        if _singles_out(f):
            found, why = [*found, CHOKE], ["A loses a larger share than B", *why]
        return Answer(OR.join(found), min(sure, 0.9), "; ".join(why))
    if classes.value == "priority":
        wrong = [each.dscp for each in f.code_points if each.treated not in (_band(each.dscp), "unknown")]
        name = PFIFO_FAST if len(wrong) <= 0.1 * len(f.code_points) else PRIO
        return Answer(name, min(sure, classes.sure), classes.why)
    found, why = [HEAD_DROP if drops_at.value == "head" else FIFO], [f"one queue, {drops_at.why}"]
    if hidden:
        found, why = [*found, PIE], [*why, aqm.why]
    if f.bleached and drops_at.value != "head":
        found, why = [*found, PFIFO_FAST], [*why, "code points, and with them its bands, are cleared"]
    if _singles_out(f):
        found, why = [*found, CHOKE], [*why, "A loses a larger share than B"]
    if not classes.told:
        # Without an answer about code points, a FIFO and a band of pfifo_fast look alike.
        sure = min(sure, 0.85)
    if drops_at.told:
        return Answer(OR.join(found), min(sure, drops_at.sure), "; ".join(why))
    if f.buffer_s is None:
        return cannot(f"a FIFO, but dropping at head or tail cannot be told: {drops_at.why}")
    return Answer(OR.join([*found, HEAD_DROP]), sure, "; ".join(why))


def _singles_out(f: Features) -> bool:
    """Whether of one queue the flow that sends more loses a larger share: CHOKe compares an arrival with one
    that waits, and of those most are A's."""
    a = f.apart
    return a is not None and a.z > 5 and a.b_signals < SINGLED_OUT * a.a_signals


def _band(dscp: int) -> str:
    """How pfifo_fast treats a code point, beside best effort."""
    low = dscp & 7
    return "better" if low in BAND_0 else "worse" if low in BAND_2 else "same"


def _of_flows(f: Features, per_flow: Answer, aqm: Answer, classes: Answer, law: bool, law_why: str) -> Answer:
    apart = f.apart
    alike = apart is not None and apart.a_s < 1.5 * max(apart.b_s, apart.sparse_s)
    if alike and not law and classes.value != "weights":
        return cannot(
            "A alone loses, but waits no longer than the rest: SFB, CHOKe, or short queues of flows"
        )
    if law or _marks(f):
        why = law_why if law else f"{f.ce:.1%} of ECT(0) is marked"
        if classes.value == "weights":
            return Answer(CAKE, 0.97, f"{why}; {classes.why}")
        if f.collided is None:
            both = "whether flows collide was not tried, or many did not exceed their share"
            return Answer(OR.join((FQ_CODEL, CAKE)), min(per_flow.sure, 0.9), f"{why}; {both}")
        if f.uneven:
            both = "of 128 flows also those get unlike shares that do not collide, as with a FIFO before"
            return Answer(OR.join((FQ_CODEL, CAKE)), min(per_flow.sure, 0.9), f"{why}; {both}")
        if f.collided == 0:
            return Answer(CAKE, 0.9, f"{why}; of 128 flows none collide")
        return Answer(FQ_CODEL, 0.95, f"{why}; of 128 flows {f.collided} collide")
    if not aqm.told:
        return cannot(f"a queue for each flow, and {aqm.why}")
    if aqm.value == "no":
        return Answer(SFQ, min(per_flow.sure, aqm.sure), aqm.why)
    if classes.value == "weights":
        return Answer(CAKE, 0.85, f"{aqm.why}; {classes.why}")
    if f.collided == 0:
        return Answer(CAKE, 0.85, f"{aqm.why}; of 128 flows none collide")
    found, why = [FQ_PIE], f"drops before its queue is full: {aqm.why}"
    if not _is_shallow(f):
        found, why = [SFQ, *found], f"other traffic may change A's share, and with it its wait; {aqm.why}"
    if _turns(f) > HIDES_LAW_S:
        found.append(FQ_CODEL)
    return Answer(OR.join(found), min(per_flow.sure, aqm.sure, 0.9), why)
