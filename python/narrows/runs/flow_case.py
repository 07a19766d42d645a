"""The conditions of a run of many flows, from its plan and kernel alone: rate, CCAs, flows, RTTs, buffer.

A condition is never read from the name of an experiment or of an axis, so any run with a flow tap serves.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from narrows import qdiscs
from narrows.headers import ETHERNET_HEADER_BYTES, ETHERNET_MTU
from narrows.plan.items import AtTime, TcpBulk
from narrows.plan.model import LinkSummary, Plan
from narrows.plan.sysctls import asked_for
from narrows.runs.observed import Observed
from narrows.units import Rate, Size

SEGMENTATION = ("tso", "gso", "gro")
DROP_TAIL = tuple(each.__name__ for each in qdiscs.every() if each.is_drop_tail)
TOGETHER_NS = 1_000_000_000
EXACT = "exact"
Options = tuple[tuple[str, str], ...]
Draw = tuple[int, tuple[tuple[str, int, int], ...]]
"""A seed and, of each group of flows, its name, number and start (ns): what was drawn before a run began."""


@dataclass(frozen=True, order=True)
class FlowCase:
    """One condition; runs of the same one differ by seed."""

    rate_bps: int
    mix: tuple[tuple[str, int], ...]
    """CCA and number of its flows, by name."""
    rtts_ms: tuple[float, ...]
    queue: str
    buffer_bytes: int | None
    """What a drop-tail queue holds; None of any other queue."""
    start: str
    """"spread", or "together" where all flows start within a second."""
    offloads: str
    """"on" if segmentation offloads are, else "off"."""
    timers: str = EXACT
    """"exact", or how late they were."""
    kernel: str = ""
    """What a kernel with configuration of its own was given (`HZ=100`), and which modules were loaded into it
    with which parameters (`tcp_mine window=20`)."""
    besides: str = ""
    """What else is not as in every run: a path that loses, jitters, changes or has another MTU or line rate
    ("loss 1 %"), and what the experiment or its flows set at the hosts (`tcp_ecn=1`)."""
    variant: str = ""
    """Where the same queue or its shaper was set in several ways, the options that tell this one (`flows
    1024`)."""

    @property
    def flows(self) -> int:
        return sum(count for _, count in self.mix)

    @property
    def ccas(self) -> tuple[str, ...]:
        return tuple(cca for cca, _ in self.mix)

    def count(self, cca: str) -> int:
        return dict(self.mix).get(cca, 0)

    @property
    def is_usual(self) -> bool:
        """Whatever the queue: random starts, no super-packets, exact timers, our kernel, nothing besides."""
        plain = self.start == "spread" and self.offloads == "off" and self.timers == EXACT
        return plain and not self.kernel and not self.besides

    @property
    def rtt(self) -> str:
        """ "20 ms", or "20+100 ms"."""
        return "+".join(f"{rtt:g}" for rtt in self.rtts_ms) + " ms"

    @property
    def rate(self) -> str:
        """ "100 Mbit/s", or "10 Gbit/s"."""
        return str(Rate(self.rate_bps))

    def mixed(self) -> str:
        """ "10 bbr + 10 reno"."""
        return " + ".join(f"{count} {cca}" for cca, count in self.mix)

    def words(self) -> str:
        """For a table or a caption."""
        holds = "" if self.buffer_bytes is None else str(Size(self.buffer_bytes))
        queue = " ".join(word for word in (self.queue, holds, self.variant) if word)
        return ", ".join([self.rate, self.mixed(), self.rtt, queue, *self.besides_words()])

    def besides_words(self) -> list[str]:
        """What is not as in every run: start, offloads, timers, kernel, and whatever else."""
        extra = ["starts together"] if self.start == "together" else []
        extra += ["offloads on"] if self.offloads == "on" else []
        extra += [f"timers {self.timers}"] if self.timers != EXACT else []
        return extra + [word for word in (self.kernel, self.besides) if word]


def flow_case(run: Observed) -> FlowCase | None:
    """The condition of a run; None if it has no bulk flows with a CCA of their own, or no rate."""
    plan = run.plan
    items = _bulks(plan)
    rate = run.link.rate_down_bps
    if not items or not rate:
        return None
    mix: dict[str, int] = defaultdict(int)
    for item in items:
        if item.cca is None:
            return None
        mix[item.cca] += item.flows
    used = {item.sender for item in items}
    rtts = {pair.base_rtt_ns / 1e6 for pair in run.link.pairs if used & set(pair.senders)}
    return FlowCase(
        rate_bps=int(rate),
        mix=tuple(sorted(mix.items())),
        rtts_ms=tuple(sorted(rtts or {run.link.base_rtt_ns / 1e6})),
        queue=run.queue,
        buffer_bytes=_buffer_bytes(run.link),
        start="together" if max(item.start_spread_ns for item in items) <= TOGETHER_NS else "spread",
        offloads="on" if any(plan.link.offloads.get(name, False) for name in SEGMENTATION) else "off",
        timers=_timers(plan),
        kernel=_kernel(run),
        besides=", ".join([*_path(run.link), *asked_for(plan.sysctls)]),
    )


def _bulks(plan: Plan) -> list[TcpBulk]:
    return [item for item in plan.traffic if isinstance(item, TcpBulk)]


def limit_bytes(link: LinkSummary) -> float | None:
    """What a drop-tail queue holds at most, in bytes of frames; of other queues "full" has no one meaning."""
    down = link.down
    if link.queue not in DROP_TAIL:
        return None
    if down.limit_packets is not None:
        return float(down.limit_packets * (link.mtu_bytes + ETHERNET_HEADER_BYTES))
    return None if down.limit_bytes is None else float(down.limit_bytes)


def _buffer_bytes(link: LinkSummary) -> int | None:
    size = limit_bytes(link)
    return None if size is None else int(size)


def _path(link: LinkSummary) -> list[str]:
    loss = max(link.down.loss_percent, link.up.loss_percent)
    jitter_ns = max(link.down.jitter_ns, link.up.jitter_ns)
    line_bps = link.line_rate_bps
    words = [f"loss {loss:g} %"] if loss else []
    words += [f"jitter {jitter_ns / 1e6:g} ms"] if jitter_ns else []
    words += [f"MTU {link.mtu_bytes}"] if link.mtu_bytes != ETHERNET_MTU else []
    words += [f"line rate {line_bps / 1e6:g} Mbit/s"] if line_bps else []
    return [*words, *link.changes]


def _options(link: LinkSummary) -> Options:
    """How queue and shaper were set; what a drop-tail queue holds is `buffer`, and the rate is the link's."""
    down = link.down
    options = {} if link.queue in DROP_TAIL else dict(down.queue_options)
    options.pop("bandwidth", None)
    for name, value in (("shaper", down.shaper), ("burst", down.burst_bytes), ("cburst", down.cburst_bytes)):
        if value is not None:
            options[name] = str(value)
    return tuple(sorted(options.items()))


def _that_tell(options: Options, every: Iterable[Options]) -> str:
    """The options that not all have alike."""
    shared = set.intersection(*(set(one) for one in every))
    return " ".join(f"{name} {value}".strip() for name, value in options if (name, value) not in shared)


def _kernel(run: Observed) -> str:
    loaded = [f"{module.name} {module.parameters}".strip() for module in run.plan.machine.modules]
    return ", ".join(word for word in (run.kernel_config, *loaded) if word)


def _draw(plan: Plan) -> Draw:
    """Two experiments may give one condition and seed other flows, which is another run, or the same flows
    for another time, which is the same run again."""
    starts = (
        (item.id, item.flows, item.start.at_ns if isinstance(item.start, AtTime) else 0)
        for item in _bulks(plan)
    )
    return plan.seed, tuple(sorted(starts))


def _length(run: Observed) -> tuple[float, int, str]:
    """What was measured, since a run may end before its plan does (`until_settled`)."""
    stops = (item.stop.at_ns for item in run.plan.traffic if isinstance(item.stop, AtTime))
    return (run.many.seconds if run.many is not None else 0.0, max(stops, default=0), run.run_id)


def _timers(plan: Plan) -> str:
    late = plan.machine.timer_latency
    return EXACT if late is None else f"{late.min_ns / 1e3:g} to {late.max_ns / 1e3:g} µs late"


def flow_cases(runs: Iterable[Observed]) -> dict[FlowCase, list[Observed]]:
    """Good runs with a flow tap, by condition, in order; each draw counts once, by its longest run."""
    several: dict[FlowCase, dict[Options, dict[Draw, list[Observed]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for run in runs:
        if run.ok and run.read_many is not None and (case := flow_case(run)) is not None:
            several[case][_options(run.link)][_draw(run.plan)].append(run)
    found = {
        dataclasses.replace(case, variant=_that_tell(options, by_options)): {
            draw: same[0] if len(same) == 1 else max(same, key=_length) for draw, same in by_draw.items()
        }
        for case, by_options in several.items()
        for options, by_draw in by_options.items()
    }

    def order(case: FlowCase) -> tuple[Any, ...]:
        return (
            case.rate_bps,
            case.ccas,
            case.flows,
            case.rtts_ms,
            case.queue,
            case.buffer_bytes or 0,
            case.words(),
        )

    return {case: [found[case][draw] for draw in sorted(found[case])] for case in sorted(found, key=order)}
