"""One line a speed test, best first: how far off its throughput and its latency under load are.

A speed test has a line for what it says first: its first declared figure of throughput, and its first of
latency or responsiveness, in each direction. Variations of a test are not lines of their own. Latency is held
against what other traffic's packets met where that is known, else against what the test's own met.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from narrows.calibrate.calibration import Calibration
from narrows.calibrate.compare import Summary
from narrows.calibrate.readings import declared
from narrows.calibrate.tables import in_unit, of_tools
from narrows.spec.under_test import VARIED
from narrows.tools.reading import THIRD, Reading


@dataclass(frozen=True)
class Line:
    """A speed test and what is said of it."""

    tool: str
    text: str


def heading(calibration: Calibration) -> str:
    """What the lines are about, and in which order they stand."""
    queues = (
        calibration.runs["queue" if "queue" in calibration.axes else "link_queue"]
        .drop_nulls()
        .unique(maintain_order=True)
        .to_list()
    )
    behind = f" behind {', '.join(map(str, queues))}" if queues else ""
    return f"How far off is each speed test{behind}? Best first:"


def note(calibration: Calibration) -> str:
    """How to read the lines."""
    truths = {s.whose for s in of_tools(calibration) if not s.relative}
    met = "what other traffic's packets met" if THIRD in truths else "what the test's own packets met"
    few = any(s.bias.median_interval is None for s in of_tools(calibration))
    sure = (
        "95 % interval in brackets, where there are six runs or more" if few else "95 % interval in brackets"
    )
    against = f", of latency against {met} in the queue" if truths else ""
    return (
        f"Errors are medians of n runs in each direction ({sure}): of throughput as a share of the capacity "
        f"that was left{against}. A test's place is its places in throughput and in latency together."
    )


def lines(calibration: Calibration) -> list[Line]:
    """A line for each test that answered, best first; then those that did not, with the reason."""
    rank = _declared_order()
    by_tool: dict[str, list[Summary]] = {}
    for one in of_tools(calibration):
        if VARIED not in one.tool:
            by_tool.setdefault(one.tool, []).append(one)
    rates = {tool: _first([s for s in some if s.relative], rank) for tool, some in by_tool.items()}
    delays = {tool: _first(_of_others(some), rank) for tool, some in by_tool.items()}
    place = {tool: _place(tool, rates) + _place(tool, delays) for tool in by_tool}
    ordered = sorted(by_tool, key=lambda tool: (place[tool], _furthest(rates[tool]), tool))
    said = [Line(tool, _text(rates[tool], delays[tool])) for tool in ordered]
    return said + [Line(tool, reason) for tool, reason in calibration.left_out if tool not in by_tool]


def _declared_order() -> dict[str, int]:
    """The place of each figure among those that its tool declares, by the words that tables use."""
    words = [of.words for of in declared().values() if isinstance(of, Reading)]
    return {text: place for place, text in reversed(list(enumerate(words)))}


def _of_others(some: Sequence[Summary]) -> list[Summary]:
    """Answers on delay, against what others met where that is known."""
    delays = [s for s in some if not s.relative]
    return [s for s in delays if s.whose == THIRD] or delays


def _first(some: Sequence[Summary], rank: dict[str, int]) -> list[Summary]:
    """The answer that the tool declares first, in each direction that it has."""
    if not some:
        return []
    metric = min((s.metric for s in some), key=lambda words: (rank.get(words, len(rank)), words))
    return [s for s in some if s.metric == metric and s.typical is not None]


def _furthest(some: Sequence[Summary]) -> float:
    return max((abs(s.typical or 0.0) for s in some), default=float("inf"))


def _place(tool: str, every: dict[str, list[Summary]]) -> int:
    """How many tests are nearer; a test without such an answer comes after all that have one."""
    return sum(_furthest(some) < _furthest(every[tool]) for some in every.values())


def _text(rates: Sequence[Summary], delays: Sequence[Summary]) -> str:
    parts = [
        f"throughput {_each(rates)}" if rates else "says nothing of throughput",
        f"latency, shown as {delays[0].metric}, {_each(delays)}"
        if delays
        else "says nothing of latency under load",
    ]
    counts = sorted({s.bias.n for s in (*rates, *delays)})
    return f"{'; '.join(parts)} (n = {' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))})"


def _each(some: Sequence[Summary]) -> str:
    """`down 1.2 % too low [−1.4 % to −1.1 %], up 0.0 % off`."""
    return ", ".join(_off(s) for s in some)


def _off(one: Summary) -> str:
    text = str(in_unit(one, one.typical))
    amount = text.lstrip("+−")
    how = "off" if text == amount else f"too {'high' if text[0] == '+' else 'low'}"
    interval = one.bias.relative_interval if one.relative else one.bias.median_interval
    ends = "" if interval is None else f" [{in_unit(one, interval.low)} to {in_unit(one, interval.high)}]"
    return f"{one.direction} {amount} {how}{ends}"
