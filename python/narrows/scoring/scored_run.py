"""Which packets are the tool's own, and when it loaded the link each way.

A direction is loaded in a tenth of a second in which the tool's own packets of data size (500 bytes and more:
acknowledgements and pings are smaller) took at least 1 % of the rate that the direction had then, and 10 % of
the share of the rate that they took in the busiest one (a speed test's own messages are no load), and in a
pause of less than a second between two such. A share above 1, of a bucket that lets a burst pass, is 1.
So a tool that loads one way after the other is loaded at two times that do not overlap, one that loads both
at once at two that do, and one that goes to and fro (Cloudflare's) in several spans each way, without knowing
which tool it is. Longer pauses are left out: what the queue did then is no truth of a load.

The reach of this rule: a tool that a competitor holds below 1 % of the rate has no window.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray

from narrows.metrics.statistics.arrays import Floats, ascends
from narrows.plan.model import Plan
from narrows.runs.capacity import Steps, given_bits, slower_hop
from narrows.runs.observed import DIRECTIONS

DATA_BYTES = 500
LOADED_SHARE = 0.01
OF_BUSIEST = 0.1
BIN_NS = 100_000_000
PAUSE_NS = 1_000_000_000
COLUMNS = ("t_ns", "bytes", "sojourn_ns")
Window = tuple[int, int]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Load:
    """The spans in which a direction was loaded, in order; what begins in [start, stop) of one counts."""

    spans: tuple[Window, ...]

    @property
    def start_ns(self) -> int:
        """When it began."""
        return self.spans[0][0]

    @property
    def window(self) -> Window:
        """As long as all spans together, from the beginning on."""
        return self.start_ns, self.start_ns + sum(stop - start for start, stop in self.spans)

    def of(self, t_ns: Floats, *columns: Floats) -> list[Floats]:
        """The rows of ascending times that count, the pauses taken out of the times: all are in `window`."""
        cuts = [np.searchsorted(t_ns, span) for span in self.spans]
        if len(cuts) == 1:
            return [column[cuts[0][0] : cuts[0][1]] for column in (t_ns, *columns)]
        shifted, end = [], self.start_ns
        for (low, high), (start, stop) in zip(cuts, self.spans, strict=True):
            shifted.append(t_ns[low:high] - (start - end))
            end += stop - start
        rest = [np.concatenate([column[low:high] for low, high in cuts]) for column in columns]
        return [np.concatenate(shifted), *rest]

    def those(self, t_ns: Integers, column: Integers) -> Integers:
        """The rows of a column whose ascending times count."""
        cuts = [np.searchsorted(t_ns, span) for span in self.spans]
        parts = [column[low:high] for low, high in cuts]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def own_items(plan: Plan, test: str) -> list[str]:
    """The plan's items that belong to the tool under test: its own, and those it was lowered to."""
    return [i.id for i in plan.traffic if i.item == test]


def load_spans(own: Mapping[str, tuple[Integers, Integers]], rates: Mapping[str, Steps]) -> dict[str, Load]:
    """The load of each direction that was loaded; `own`: times and bytes of the tool's own departures;
    `rates`: the steps of each direction's rate, none where nothing shapes."""
    loads: dict[str, Load] = {}
    for direction in DIRECTIONS:
        t_ns, size = own.get(direction, (np.zeros(0, dtype=np.int64),) * 2)
        data = np.where(size >= DATA_BYTES, size, 0)
        if not data.any():
            continue
        if not ascends(t_ns):  # of several hops
            order = np.argsort(t_ns, kind="stable")
            t_ns, data = t_ns[order], data[order]
        first, last = (int(t) // BIN_NS for t in t_ns[[0, -1]])
        cuts = np.searchsorted(t_ns, np.arange(first, last + 2) * BIN_NS)
        bins = np.diff(np.concatenate(([0], np.cumsum(data)))[cuts])
        used = _used(bins, first, rates.get(direction, ()))
        busiest = min(1.0, float(used.max())) if rates.get(direction) else float(used.max())
        least = LOADED_SHARE if rates.get(direction) else 0.0
        loaded = first + np.flatnonzero((bins > 0) & (used >= least) & (used >= OF_BUSIEST * busiest))
        if loaded.size:
            breaks = np.flatnonzero(np.diff(loaded) > PAUSE_NS // BIN_NS) + 1
            spans = [(part[0] * BIN_NS, (part[-1] + 1) * BIN_NS) for part in np.split(loaded, breaks)]
            loads[direction] = Load(tuple((int(start), int(stop)) for start, stop in spans))
    return loads


def _used(bins: Integers, first: int, rate: Steps) -> Floats:
    """What the packets of each bin took of the rate there was; bytes where nothing shapes. Of an outage it is
    without end: what passes then takes all there is."""
    if not rate:
        return bins.astype(np.float64)
    edges = (first + np.arange(bins.size + 1, dtype=np.float64)) * BIN_NS
    could = np.diff(given_bits(rate, edges)) / 8.0
    used: Floats = np.divide(bins, could, out=np.full(bins.shape, np.inf), where=could > 0)
    return np.where(bins > 0, used, 0.0)


@dataclass(frozen=True)
class Packets:
    """What left one hop in one direction at t >= 0, of one party, in order of time."""

    t_ns: Integers
    bytes: Integers
    sojourn_ns: Integers
    flow: Integers
    tcp: NDArray[np.bool_]


def meant(plan: Plan, queue: pl.DataFrame) -> pl.DataFrame:
    """The rows of the bottleneck: of a Home, in each direction, those of the slower of its two shapers."""
    if plan.link.home is None:
        return queue
    slower = pl.lit(False)
    text = [pl.col(name).cast(pl.String) for name in ("hop", "direction")]
    for way in DIRECTIONS:
        slower = slower | ((text[0] == slower_hop(plan, way)) & (text[1] == way))
    return queue.filter(slower)


def packets(
    queue: pl.DataFrame, flows: pl.DataFrame, party_of: Callable[[str | None], str]
) -> dict[tuple[str, str, str], Packets]:
    """Departures by hop, direction and party; the group of a packet is looked up by numbers: a join costs
    more.
    """
    (hops, hop), (ways, way) = (_numbered(queue[name]) for name in ("hop", "direction"))
    known = flows.select(pl.col("hop", "direction", "item", "protocol").cast(pl.String), pl.col("flow"))
    flow, places = _flows(queue["flow"], known["flow"])
    # A row per hop and direction, a place per flow; the last place is of packets whose flow is unknown.
    group = np.zeros((len(hops) * len(ways), places), dtype=np.int16)
    tcp = np.zeros(group.shape, dtype=np.bool_)
    names: list[tuple[str, str, str]] = []
    for pair, (at, to) in enumerate(product(hops, ways)):
        mine = known.filter((pl.col("hop") == at) & (pl.col("direction") == to))
        parties, group[pair] = [party_of(None)], len(names)
        for place, item, protocol in mine.select("flow", "item", "protocol").iter_rows():
            party = party_of(item)
            parties += [] if party in parties else [party]
            group[pair, place], tcp[pair, place] = len(names) + parties.index(party), protocol == "tcp"
        names += [(at, to, party) for party in parties]
    entry = (hop * len(ways) + way) * places + (flow if flow.min(initial=0) >= 0 else flow % places)
    of = group.reshape(-1)[entry]
    t_ns, size, sojourn = (queue[name].to_numpy() for name in COLUMNS)
    if t_ns.min(initial=0) < 0:
        of[t_ns < 0] = len(names)
    found: list[tuple[int, tuple[str, str, str], Packets]] = []
    for n, name in enumerate(names):
        rows = np.flatnonzero(of == n)
        if rows.size:
            first, when = int(rows[0]), t_ns[rows]
            if not ascends(when):
                rows = rows[np.argsort(when, kind="stable")]
                when = t_ns[rows]
            part = Packets(
                t_ns=when,
                bytes=size[rows].astype(np.int64),
                sojourn_ns=sojourn[rows],
                flow=flow[rows].astype(np.int64),
                tcp=tcp.reshape(-1)[entry[rows]],
            )
            found.append((first, name, part))
    begins = {
        name[:2]: min(first for first, each, _ in found if each[:2] == name[:2]) for _, name, _ in found
    }
    return {name: part for _, name, part in sorted(found, key=lambda one: begins[one[1][:2]])}


def _numbered(labels: pl.Series) -> tuple[list[str], NDArray[np.int32]]:
    """The different labels, and each row's place among them."""
    held = labels if isinstance(labels.dtype, pl.Categorical | pl.Enum) else labels.cast(pl.Categorical)
    codes = held.to_physical()
    first = codes.arg_unique()
    place = np.zeros(int(codes.max() or 0) + 1, dtype=np.int32)  # type: ignore[arg-type]
    place[codes.gather(first).to_numpy()] = np.arange(first.len())
    return held.gather(first).cast(pl.String).to_list(), place[codes.to_numpy()]


def _flows(numbers: pl.Series, known: pl.Series) -> tuple[NDArray[np.int32], int]:
    """Each packet's flow, -1 where it is unknown, and how many places a table of flows needs."""
    most = max(int(numbers.max() or 0), int(known.max() or 0))  # type: ignore[arg-type]
    held = numbers.cast(pl.Int32)
    return (held.fill_null(-1) if held.null_count() else held).to_numpy(), most + 2
