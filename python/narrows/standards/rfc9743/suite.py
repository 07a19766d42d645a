"""The criteria of RFC 9743, sections 5 to 7, in its order.

The text gives few limits ("does not provide normative guidance on the acceptable thresholds"). Where it or a
document that it cites gives one, that is the bound; else CUBIC and Reno in the same scene are the measure,
with which the text compares a proposal's harm.
"""

from functools import partial

from narrows.judging.items import quantity
from narrows.judging.judge import Measure
from narrows.runs.observed import Observed
from narrows.runs.quantities import under
from narrows.standards import reads
from narrows.standards.rfc9743.scenes import BURST, FLOWS, SCENES, SHORTS
from narrows.standards.suite import Criteria, Limit, Suite, beside, limit, measured

RTT_S = 0.04
uses = partial(beside, least=0.75)
"""A quarter worse than the worse baseline is borne; twice the losses, as they are only not to be excessive:
below 2 % none are (draft-ietf-ccwg-bbr, LossThresh)."""
waits = partial(beside, most=1.25, floor=1.0)
loses = partial(beside, most=2.0, floor=0.02)


def used(since: float = 5, until: float = 20, item: str = "flow") -> Measure:
    return measured("part of the link", "%", reads.share(item, since, until))


def delay(since: float = 5, until: float = 20) -> Measure:
    return measured("queueing delay, p95", "ms", reads.queueing_ms(0.95, since, until))


def loss(since: float = 5, until: float = 20) -> Measure:
    return measured("losses at the bottleneck", "%", reads.lost(since, until))


def over_equation(run: Observed) -> float | None:
    """The rate over what RFC 8083's equation (4.3) gives TCP at that loss, without a queue's delay."""
    fair = reads.MSS_BYTES * 8 / (RTT_S * (2 * float(run.key["loss"].rstrip("%")) / 300) ** 0.5)
    rate = reads.sent("flow", 10, 30)(run)
    return None if rate is None else rate / fair


def short_and_long() -> tuple[Limit, Limit]:
    took = reads.completion_s([f"short-{n}" for n in range(SHORTS)])
    return beside(measured("a short flow of 100 KB takes", "s", took), most=1.25), uses(used(6, 24))


_ = Criteria()
# fmt: off
text, rig = "a matter of the text, not of runs", "none is built here"
# From 5 s after all is lost timeouts are of 5, 10, 20 s, each with a probe or two.
_.add("C1", "Stops, or backs off to one packet a round trip and then further, when losses persist", "5.1.1",
      "collapse",
      limit(measured("packets a round trip", "", reads.packets("flow", 20, 40, RTT_S), {"loss": "60%"}),
             most=1),
      limit(measured("packets in 25 s without feedback", "", reads.packets("flow", 15, 40, 25),
             {"loss": "100%"}), most=8),
      by=("loss",))
_.add("C2", "Does not keep excessive queues: no longer than CUBIC and Reno, which do not avoid them", "5.1.2",
      "tail_drop", beside(delay(), most=1.05, floor=1.0, where={"buffer": "4BDP"}), by=("path", "buffer"))
_.add("C3", "Does not cause excessive losses", "5.1.3", "several", loses(loss(10, 30)), by=("buffer",))
_.add("C4", "Several flows of it share the link", "5.1.4", "several",
      beside(measured("Jain's index", "", reads.jain([f"flows-{n}" for n in range(FLOWS)], 10, 30)),
             least=0.9),
      by=("buffer",))
_.add("C5", "New and short flows, and long ones, of its own", "5.1.5", "short_same", *short_and_long())
left = measured("what is left to the other flow", "%", reads.share("other", 10, 40))
_.add("C6", "Starves no flow of CUBIC or Reno: leaves it a tenth of its half", "5.2", "beside", limit(left,
      least=0.05),
      by=("other", "buffer"))
_.add("C7", "Does no more harm to CUBIC and Reno than they to each other", "5.2.1", "beside", uses(left),
      waits(delay(10, 40)), loses(loss(10, 40)), by=("other", "buffer"))
met = measured("round trips of media, p95", "ms", quantity("loaded_rtt_p95_ms", under("media", "flow")))
_.add("C8", "Coexists with real-time flows", "5.2.2", "realtime", waits(met), loses(loss(4, 20)),
      by=("buffer",))
_.add("C9", "Short flows of CUBIC beside a long one of its own", "5.2.3", "short_beside", *short_and_long())
_.add("C10", "A long flow of CUBIC beside short ones of its own", "5.2.3", "long_beside", *short_and_long())
_.cannot("C11", "Deviations from RFC 2914 and RFC 7141 are explained", "5.3.1", text)
_.cannot("C12", "Can be deployed incrementally", "5.3.2", text)
_.add("C13", "Works on paths with tail-drop queues", "6.1", "tail_drop", uses(used()), loses(loss()),
      by=("path", "buffer"))
_.cannot("C14", "Works through tunnels", "6.2", f"tunnels: {rig}")
_.add("C15", "Works on wired paths", "6.3", "tail_drop", uses(used()), waits(delay()), by=("path", "buffer"),
      where={"buffer": "1BDP"})
_.add("C16", "Works on wireless paths: capacity and delay that vary", "6.4", "wireless", waits(delay()),
      uses(measured("what it gets", "bit/s", reads.sent("flow", 5, 20))), by=("medium",))
_.add("C17", "Works on wireless paths: losses that are not congestion's", "6.4", "radio_loss", uses(used()))
_.add("C18", "Works behind AQMs", "7.1", "aqm", uses(used(item="")), waits(delay()), loses(loss()),
      by=("queue",))
_.add("C19", "Answers congestion marks (ECT(0), RFC 3168)", "7.1", "ecn", waits(delay()), beside(
      measured("packets that were marked", "%", reads.of_tap("tap_marked", "flow", over="tap_departed")),
      most=2))
_.add("C20", "Stays within what circuit breakers allow", "7.2, RFC 8083 4.3", "breaker",
      limit(measured("times what TCP has by its equation", "", over_equation), most=10), by=("loss",))
_.add("C21", "Works when the minimum delay changes", "7.3", "varying", uses(used(5, 30)))
_.add("C22", "Works when the delay jitters", "7.3", "jitter", uses(used()))
_.add("C23", "Works at very low rates", "7.4", "constrained", uses(used(10, 60)), waits(delay(10, 60)))
_.add("C24", "Works on paths with high delay", "7.5", "satellite", uses(used(20, 60)))
_.cannot("C25", "Withstands senders, receivers and routers that misbehave", "7.6",
      f"receivers and routers that lie: {rig}")
_.add("C26", "Works when packets are reordered", "7.7", "reorder", uses(used()))
_.add("C27", "Bears a sudden onset of congestion", "7.8", "onset", loses(loss(10, 15)), uses(used(22, 30)))
_.add("C28", "Bears a link that goes and comes", "7.8", "broken", uses(used(5, 30)))
_.add("C29", "Bears changes of the path", "7.9", "reroute", uses(used(10, 30)), loses(loss(20, 25)))
_.cannot("C30", "Harms nobody over several paths", "7.10", f"multipath transports: {rig}")
_.add("C31", "Works in data centres", "7.11", "data_centre", beside(
      measured("a transfer of a burst takes", "s", reads.completion_s([f"burst-{n}" for n in range(BURST)])),
      most=1.25))

SUITE = Suite(
    "rfc9743", "Specifying New Congestion Control Algorithms", "RFC 9743 (BCP 133), sections 5 to 7", SCENES,
    tuple(_.made),
)
