"""The criteria of RFC 9743, sections 5 to 7, in its order.

The text gives few limits ("does not provide normative guidance on the acceptable thresholds"). Where it or a
document that it cites gives one, that is the mark; else the contestant is held against the worse of CUBIC and
Reno in the same scene, which the text names as what a proposal's harm is compared with.
"""

from narrows.judging.items import Read, quantity
from narrows.judging.judge import Measure, Share
from narrows.judging.marks import Mark
from narrows.runs.observed import Observed
from narrows.runs.quantities import under
from narrows.standards import reads
from narrows.standards.rfc9743.scenes import FLOWS, SCENES, SHORTS
from narrows.standards.suite import Criteria, Suite, against_baselines, median

MORE, LESS, TWICE = 1.25, 0.75, 2.0
"""So much worse than the worse baseline may be: a quarter; of losses twice, as RFC 9743 asks for no more than
that they are not excessive."""
FEW = 0.02
"""Below 2 % losses are not called excessive (draft-ietf-ccwg-bbr, LossThresh)."""
STARVED = 0.1
"""Of its fair part: who has less is starved."""
RTT_S = 0.04
BREAKER = 10.0
"""RFC 8083, 4.3: so many times what TCP would have."""
SHORT = [f"short-{n}" for n in range(SHORTS)]
MANY = [f"flows-{n}" for n in range(FLOWS)]


def over_equation(run: Observed) -> float | None:
    """The rate over what RFC 8083's equation gives TCP at that loss, without a queue's delay."""
    loss = float(run.key["loss"].rstrip("%")) / 100
    fair = reads.MSS_BYTES * 8 / (RTT_S * (2 * loss / 3) ** 0.5)
    rate = reads.sent("flow", 10, 30)(run)
    return None if rate is None else rate / fair


def met(what: str) -> Read:
    """What the media stream meets while the flow loads the link."""
    return quantity(what, under("media", "flow"))


def share_of(item: str = "flow", since: float = 5, until: float = 20) -> Measure:
    return Share("part of the link", read=reads.share(item, since, until), take=median)


def delay_of(since: float = 5, until: float = 20) -> Measure:
    return Measure("queueing delay, p95", "ms", reads.queueing_ms(0.95, since, until), take=median)


def loss_of(since: float = 5, until: float = 20) -> Measure:
    return Share("losses at the bottleneck", read=reads.lost(since, until), take=median)


USED = "uses at least 75 % of what the worse of CUBIC and Reno does"
WAITS = "queueing delay (p95) at most 1.25 times that of the worse of CUBIC and Reno"
LOSES = "losses at most twice those of the worse of CUBIC and Reno, or below 2 %"


def uses(measure: Measure, words: str = USED) -> Mark:
    return against_baselines(measure, words, least=LESS)


def waits(measure: Measure, words: str = WAITS, where: dict[str, str] | None = None) -> Mark:
    return against_baselines(measure, words, most=MORE, floor=1.0, where=where)


def loses(measure: Measure, words: str = LOSES) -> Mark:
    return against_baselines(measure, words, most=TWICE, floor=FEW)


_ = Criteria()
A_ROUND = Measure(
    "packets a round trip", "", reads.packets_a_round("flow", 20, 40, RTT_S), {"loss": "60%"}, median
)
IN_ALL = Measure(
    "packets in 25 s without any feedback", "",
    reads.packets_a_round("flow", 15, 40, 25.0), {"loss": "100%"}, median,
)  # fmt: skip
_.add(
    "C1", "Stops, or backs off to one packet a round trip and then further, when losses persist", "5.1.1",
    "collapse", (A_ROUND, IN_ALL),
    (
        Mark("at most one packet a round trip while 60 % are lost", A_ROUND.name, most=1.0),
        # From 5 s after the loss of all on timeouts double: at most 5, 10, 20 s, each with a probe or two.
        Mark("the time between packets doubles: at most 8 in 25 s", IN_ALL.name, most=8.0),
    ),
    ("loss",),
)  # fmt: skip
DELAY, LOSS, USE = delay_of(), loss_of(), share_of()
_.add(
    "C2", "Does not keep excessive queues", "5.1.2", "tail_drop", (DELAY,),
    (against_baselines(DELAY, "queueing delay (p95) at most that of the worse of CUBIC and Reno, which do not "
                       "avoid queues", most=1.05, floor=1.0, where={"buffer": "4BDP"}),),
    ("path", "buffer"),
)  # fmt: skip
MANY_LOSS = loss_of(10, 30)
_.add(
    "C3", "Does not cause excessive losses", "5.1.3", "several", (MANY_LOSS,), (loses(MANY_LOSS),), ("buffer",)
)
FAIR = Measure("Jain's index", "", reads.jain(MANY, 10, 30), take=median)
_.add(
    "C4", "Several flows of it share the link", "5.1.4", "several", (FAIR,),
    (against_baselines(FAIR, "Jain's index at least 0.9 of that of the worse of CUBIC and Reno", least=0.9),),
    ("buffer",),
)  # fmt: skip
TOOK = Measure("a short flow of 100 KB takes", "s", reads.completion_s(SHORT), take=median)
LONG = share_of("flow", 6, 24)
SHORT_MARKS = (
    against_baselines(TOOK, "short flows take at most 1.25 times what they do with the worse of CUBIC and Reno", most=MORE),
    against_baselines(LONG, "the long flow has at least 75 % of what it has with the worse of CUBIC and Reno", least=LESS),
)  # fmt: skip
_.add("C5", "New and short flows, and long ones, of its own", "5.1.5", "short_same", (TOOK, LONG), SHORT_MARKS)
LEFT = Share("what is left to the other flow", read=reads.share("other", 10, 40), take=median)
OTHER = ("other", "buffer")
_.add(
    "C6", "Starves no flow of CUBIC or Reno", "5.2", "beside", (LEFT,),
    (Mark("at least a tenth of its half", LEFT.name, least=STARVED / 2),), OTHER,
)  # fmt: skip
MIXED_DELAY, MIXED_LOSS = delay_of(10, 40), loss_of(10, 40)
_.add(
    "C7", "Does no more harm to CUBIC and Reno than they to each other", "5.2.1", "beside",
    (LEFT, MIXED_DELAY, MIXED_LOSS),
    (
        against_baselines(LEFT, "leaves at least 75 % of what the worse of CUBIC and Reno does", least=LESS),
        waits(MIXED_DELAY), loses(MIXED_LOSS),
    ),
    OTHER,
)  # fmt: skip
MET = Measure("round trip of a media stream, p95", "ms", met("loaded_rtt_p95_ms"), take=median)
MEDIA_LOSS = loss_of(4, 20)
_.add(
    "C8", "Coexists with real-time flows", "5.2.2", "realtime", (MET, MEDIA_LOSS),
    (
        against_baselines(MET, "round trips (p95) at most 1.25 times those beside the worse of CUBIC and Reno", most=MORE),
        loses(MEDIA_LOSS),
    ),
    ("buffer",),
)  # fmt: skip
_.add(
    "C9", "Short flows of CUBIC beside a long one of its own", "5.2.3", "short_beside", (TOOK, LONG), SHORT_MARKS
)
_.add(
    "C10", "A long flow of CUBIC beside short ones of its own", "5.2.3", "long_beside", (TOOK, LONG), SHORT_MARKS
)
_.cannot("C11", "Deviations from RFC 2914 and RFC 7141 are explained", "5.3.1", "a matter of the text, not of runs")
_.cannot("C12", "Can be deployed incrementally", "5.3.2", "a matter of the text, not of runs")
_.add(
    "C13", "Works on paths with tail-drop queues", "6.1", "tail_drop", (USE, LOSS), (uses(USE), loses(LOSS)),
    ("path", "buffer"),
)  # fmt: skip
_.cannot("C14", "Works through tunnels", "6.2", "no tunnel is built here")
_.add(
    "C15", "Works on wired paths", "6.3", "tail_drop", (USE, DELAY), (uses(USE), waits(DELAY)), ("path", "buffer"),
    where={"buffer": "1BDP"},
)  # fmt: skip
MEDIUM = Measure("what it gets", "bit/s", reads.sent("flow", 5, 20), take=median)
_.add(
    "C16", "Works on wireless paths: capacity and delay that vary", "6.4", "wireless", (MEDIUM, DELAY),
    (uses(MEDIUM), waits(DELAY)), ("medium",),
)  # fmt: skip
_.add("C17", "Works on wireless paths: losses that are not congestion's", "6.4", "radio_loss", (USE,), (uses(USE),))
TWO = Share("part of the link", read=lambda run: reads.share("", 5, 20)(run), take=median)
_.add(
    "C18", "Works behind AQMs", "7.1", "aqm", (TWO, DELAY, LOSS), (uses(TWO), waits(DELAY), loses(LOSS)), ("queue",)
)
MARKED = Share("packets that were marked", read=reads.of_tap("tap_marked", "flow", over="tap_departed"), take=median)
_.add(
    "C19", "Answers congestion marks (ECT(0), RFC 3168)", "7.1", "ecn", (MARKED, DELAY),
    (
        against_baselines(MARKED, "at most twice the marks of the worse of CUBIC and Reno", most=TWICE),
        waits(DELAY),
    ),
)  # fmt: skip
EQUATION = Measure("times what TCP would have by its equation", "", over_equation, take=median)
_.add(
    "C20", "Stays within what circuit breakers allow", "7.2, RFC 8083 4.3", "breaker", (EQUATION,),
    (Mark("at most ten times the rate of TCP's equation", EQUATION.name, most=BREAKER),), ("loss",),
)  # fmt: skip
LATER = share_of("flow", 5, 30)
_.add("C21", "Works when the minimum delay changes", "7.3", "varying", (LATER,), (uses(LATER),))
_.add("C22", "Works when the delay jitters", "7.3", "jitter", (USE,), (uses(USE),))
SLOW, SLOW_DELAY = share_of("flow", 10, 60), delay_of(10, 60)
_.add(
    "C23", "Works at very low rates", "7.4", "constrained", (SLOW, SLOW_DELAY), (uses(SLOW), waits(SLOW_DELAY))
)
FAR = share_of("flow", 20, 60)
_.add("C24", "Works on paths with high delay", "7.5", "satellite", (FAR,), (uses(FAR),))
_.cannot("C25", "Withstands senders, receivers and routers that misbehave", "7.6", "no receiver or router here lies")
_.add("C26", "Works when packets are reordered", "7.7", "reorder", (USE,), (uses(USE),))
AT_ONSET = loss_of(10, 15)
BACK = share_of("flow", 22, 30)
_.add(
    "C27", "Bears a sudden onset of congestion", "7.8", "onset", (AT_ONSET, BACK),
    (loses(AT_ONSET), uses(BACK)),
)  # fmt: skip
_.add("C28", "Bears a link that goes and comes", "7.8", "broken", (LATER,), (uses(LATER),))
MOVED, MOVED_LOSS = share_of("flow", 10, 30), loss_of(20, 25)
_.add(
    "C29", "Bears changes of the path", "7.9", "reroute", (MOVED, MOVED_LOSS), (uses(MOVED), loses(MOVED_LOSS))
)
_.cannot("C30", "Harms nobody over several paths", "7.10", "no multipath transport is built here")
BURST = Measure("a transfer of a burst takes", "s", reads.completion_s([f"burst-{n}" for n in range(8)]), take=median)
_.add(
    "C31", "Works in data centres", "7.11", "data_centre", (BURST,),
    (against_baselines(BURST, "a burst's transfers take at most 1.25 times what they do with the worse of CUBIC and Reno", most=MORE),),
)  # fmt: skip

SUITE = Suite(
    "rfc9743",
    "Specifying New Congestion Control Algorithms",
    "RFC 9743 (BCP 133), sections 5 to 7",
    SCENES,
    tuple(_.made),
)
