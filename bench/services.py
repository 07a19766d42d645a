"""What a trial of each kind of service costs, and what a whole iteration of all pairs would.

Each kind is run for two lengths: the difference of their costs is a second's, the rest is the start, most of
it a browser's. An iteration is that of the thesis: ten services, every pair and each with itself, 8 and 50
Mbit/s, ten trials of 600 s. What 50 Mbit/s cost more is taken from two of the kinds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import combinations_with_replacement
from pathlib import Path

from measure import Spread
from rows import Bench, Row
from study import one

from narrows.plan.build import plan_file

SHORT_S, LONG_S = 15, 45
TRIAL_S, TRIALS, TESTBED_DAYS = 600, 10, 13
SERVICES = {"flow": 3, "download": 2, "batches": 2, "video": 3}
"""How many of the ten services cost as each kind does."""
ITEMS = {
    "flow": 'bulk(cca="cubic", stop="{s} s", host={host})',
    "download": 'download(cca="bbr", stop="{s} s", host={host})',
    "batches": 'download(cca="bbr", connections=5, chunk="1 MB", batches=True, stop="{s} s", host={host})',
    "video": 'video(cca="bbr", stop="{s} s", host={host})',
    "call": 'call(stop="{s} s", host={host})',
    "page": 'page(loads={loads}, every="6 s", host={host})',
}
PAIRS = (("flow", "flow"), ("flow", "download"), ("flow", "batches"), ("flow", "video"), ("video", "video"),
         ("flow", "call"), ("flow", "page"))  # fmt: skip
TEXT = '''"""What does a trial of these two cost?"""
from narrows.spec import Link, bulk, call, download, page, pfifo, sample, tap, video
link = Link(rate="{rate} Mbit/s", base_rtt="50 ms", queue=pfifo(limit={packets}), services=2)
one = {one}
other = {other}
tap("summary")
sample(tcp_info="5 s", qdisc=None, link=None)
'''


@dataclass(frozen=True)
class Kind:
    """What a pair of kinds costs: seconds of one core to start, and for each second of virtual time."""

    pair: tuple[str, str]
    rate_mbit: int
    start_s: float
    per_second: float


def _seconds(bench: Bench, pair: tuple[str, str], rate: int, seconds: int) -> list[float]:
    words = {"s": seconds, "loads": seconds // 6}
    one_, other = (ITEMS[kind].format(host=host, **words) for host, kind in enumerate(pair, start=1))
    text = TEXT.format(rate=rate, packets=128 if rate == 8 else 1024, one=one_, other=other)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "services.py"
        file.write_text(text)
        (plan,) = plan_file(file).plans
    for content in plan.contents:
        bench.engine.make(content)
    return [one(bench, plan).wall_s for _ in range(bench.repeats)]


def kinds(bench: Bench) -> Iterator[Kind]:
    """Each kind at 8 Mbit/s, and two at 50."""
    cases = [*((pair, 8) for pair in PAIRS), (("flow", "download"), 50), (("flow", "video"), 50)]
    for number, (pair, rate) in enumerate(cases, start=1):
        bench.say(f"services, {number} of {len(cases)}: {' + '.join(pair)} at {rate} Mbit/s")
        short, long = (Spread.of(_seconds(bench, pair, rate, s)).median for s in (SHORT_S, LONG_S))
        each = max(0.0, (long - short) / (LONG_S - SHORT_S))
        yield Kind(pair, rate, short - each * SHORT_S, each)


def iteration_core_hours(kinds: list[Kind]) -> float:
    """Of all pairs, both rates, ten trials. A pair of kinds that was not run costs what each does beside a
    flow, less the flow."""
    cost = {frozenset(kind.pair): kind for kind in kinds if kind.rate_mbit == 8}
    at_50 = {frozenset(kind.pair): kind.per_second for kind in kinds if kind.rate_mbit == 50}
    factors = {"video": ("flow", "video")}
    total = 0.0
    services = [kind for kind, count in SERVICES.items() for _ in range(count)]
    flow = cost[frozenset(("flow",))]
    for a, b in combinations_with_replacement(range(len(services)), 2):
        pair = frozenset((services[a], services[b]))
        known = cost.get(pair)
        if known is None:
            parts = [cost[frozenset(("flow", kind))] for kind in pair]
            start = sum(part.start_s for part in parts)
            each = sum(part.per_second for part in parts) * (2 / len(parts)) - flow.per_second
        else:
            start, each = known.start_s, known.per_second
        like = frozenset(factors.get("video" if "video" in pair else "", ("flow", "download")))
        more = at_50[like] / cost[like].per_second if cost[like].per_second else 1.0
        total += TRIALS * (2 * start + TRIAL_S * each * (1 + more))
    return total / 3600


def services(bench: Bench) -> list[Row]:
    """A row for each kind, and one for the iteration."""
    found = list(kinds(bench))
    rows = [
        Row(
            f"a trial of {' + '.join(kind.pair)}, {kind.rate_mbit} Mbit/s",
            "to be said",
            f"{kind.per_second:.2f} s of wall time per virtual second, and {kind.start_s:.0f} s to start",
            None,
            f"from {SHORT_S} and {LONG_S} virtual s, medians of {bench.repeats}",
            asdict(kind),
        )
        for kind in found
    ]
    hours = iteration_core_hours(found)
    told = Row(
        "an iteration of all pairs of ten services",
        f"testbed: {TESTBED_DAYS} days",
        f"{hours / 2 / 24:.1f} days on two cores ({hours:.0f} core-hours)",
        None,
        f"computed from the rows above: {TRIALS} trials of {TRIAL_S} s, 8 and 50 Mbit/s",
        {"core_hours": hours},
    )
    return [*rows, told]
