"""The topology of some runs, drawn from their plans: hosts above, servers below, what stands between them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from narrows.comparing.conditions import queue_of, queue_rank, rate_text
from narrows.figures.drawing import Drawing, Missing, Result, count_runs, run_ids
from narrows.figures.style import DIRECTION, canvas, queue_name, styled
from narrows.plan.model import LinkDirection
from narrows.runs.capacity import medium_bps
from narrows.runs.observed import DIRECTIONS, Observed, is_background

NODE_COLOUR, EDGE_COLOUR = "#eef2f6", "#35506b"
WIDTH_IN, ROW_IN, LINE_IN, FONT = 4.0, 0.62, 0.155, 8.0
NOTE_CHARACTERS, MOST_NAMED = 34, 3
BOX_CHARACTERS = 15
MEDIA = {"wifi": "Wi-Fi", "lte": "LTE", "docsis": "DOCSIS"}
"""As people write them; others as they are."""
HOSTS, HOME, ROUTER, PATH, SERVERS = ORDER = ("client", "home", "router", "path", "server")


def time_text(ns: float) -> str:
    """ "250 µs", "20 ms"."""
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(ns) >= scale:
            return f"{ns / scale:g} {unit}"
    return f"{ns:g} ns"


@dataclass(frozen=True)
class _Level:
    """What stands side by side, and what is said of it."""

    boxes: tuple[str, ...]
    notes: tuple[str, ...]


def topology(runs: Sequence[Observed], name: str, title: str) -> Result:
    """One drawing of all runs: where settings differ between runs, all are named, of many the first and the
    last."""
    if not runs:
        return Missing(name, title, "there is no run in this directory")
    levels = _levels(runs)
    notes = [[line for note in level.notes for line in wrap(note, NOTE_CHARACTERS)] for level in levels]
    heights = [max(ROW_IN, LINE_IN * len(lines) + 0.2) for lines in notes]
    figure, [[axes]] = canvas(1, 1, WIDTH_IN, row_in=sum(heights))
    with styled():
        axes.set_axis_off()
        axes.set_xlim(0, WIDTH_IN)
        axes.set_ylim(-sum(heights), 0)
        middle = [-sum(heights[:k]) - height / 2 for k, height in enumerate(heights)]
        for level, lines, y in zip(levels, notes, middle, strict=True):
            _level(axes, level, "\n".join(lines), y)
        for above, below in pairwise(middle):
            for x, (start, end) in (
                (0.55, (above - 0.19, below + 0.19)),
                (0.85, (below + 0.19, above - 0.19)),
            ):
                axes.add_patch(
                    FancyArrowPatch(
                        (x, start),
                        (x, end),
                        arrowstyle="-|>",
                        mutation_scale=8,
                        color=EDGE_COLOUR,
                        linewidth=0.9,
                    )
                )
    ids = run_ids(runs)
    caption = (
        "The topology under test: each node is a network namespace; arrows down are the upload, arrows up "
        f"the download. MTU {runs[0].link.mtu_bytes} bytes. Where runs differ, all settings are listed. "
        f"{count_runs(len(ids))}."
    )
    return Drawing(name, title, caption, ids, figure)


def _level(axes: Axes, level: _Level, note: str, y: float) -> None:
    wide = 1.3 / len(level.boxes)
    for k, box in enumerate(level.boxes):
        left = 0.05 + k * wide
        axes.add_patch(
            FancyBboxPatch(
                (left + 0.03, y - 0.16), wide - 0.06, 0.32, boxstyle="round,pad=0.02,rounding_size=0.05",
                facecolor=NODE_COLOUR, edgecolor=EDGE_COLOUR, linewidth=0.9,
            )
        )  # fmt: skip
        axes.text(left + wide / 2, y, box, ha="center", va="center", fontsize=FONT, weight="bold")
    axes.text(1.5, y, note, ha="left", va="center", fontsize=FONT, linespacing=1.25)


def _levels(runs: Sequence[Observed]) -> list[_Level]:
    """From the hosts to the servers; of a Dumbbell receivers, router and senders."""
    plan = runs[0].plan
    by = {role: [node.name for node in plan.nodes if node.role == role] for role in ORDER}
    if runs[0].link.pairs:
        receivers = {sum(node.role == HOSTS for node in run.plan.nodes) for run in runs}
        rtts = _all(runs, lambda run: [time_text(p.base_rtt_ns) for p in run.link.pairs])
        senders = {sum(len(p.senders) for p in run.link.pairs) for run in runs}
        return [
            _Level(("receivers" if max(receivers) > 1 else "receiver",), (_nodes(receivers),)),
            _Level(("router",), tuple(_router(runs))),
            _Level(("senders",), (_nodes(senders), f"base RTT {rtts}, all on the way back")),
        ]
    found = [_Level(_boxes(by[HOSTS], "hosts"), _traffic(runs))]
    if by[HOME]:
        found.append(_Level(("home router",), tuple(_home(runs))))
    found.append(_Level(("ISP" if by[HOME] else "router",), tuple(_router(runs))))
    if by[PATH]:
        found.append(_Level(("path",), tuple(_path(runs))))
    return [*found, _Level(_boxes(by[SERVERS], "servers"), ())]


def _boxes(names: Sequence[str], word: str) -> tuple[str, ...]:
    """Names side by side where they have room; else how many there are."""
    fits = sum(map(len, names)) + 2 * (len(names) - 1) <= BOX_CHARACTERS
    return tuple(names) if fits else (f"{len(names)} {word}",) if len(names) > 1 else tuple(names)


def _all(runs: Sequence[Observed], read: Callable[[Observed], Iterable[str]]) -> str:
    """What runs say, each once."""
    said = list(dict.fromkeys(text for run in runs for text in read(run)))
    few = said if len(said) <= MOST_NAMED else [said[0], "…", said[-1]]
    return " / ".join(few)


def _nodes(counts: set[int]) -> str:
    least, most = min(counts), max(counts)
    span = f"{most}" if least == most else f"{least} to {most}"
    return f"{span} node{'s' if most > 1 else ''}"


def _traffic(runs: Sequence[Observed]) -> tuple[str, ...]:
    """What the experiment starts, by its own names."""
    names = list(
        dict.fromkeys(part.item for run in runs for part in run.plan.traffic if not is_background(part))
    )
    return (
        ", ".join(
            names
            if len(names) <= MOST_NAMED + 2
            else [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} more"]
        ),
    )


def _home(runs: Sequence[Observed]) -> list[str]:
    """Its queue each way and what that is shaped to."""

    def side(run: Observed, way: str) -> str:
        home = run.link.home
        queue = None if home is None else home.up if way == "up" else home.down
        return "no queue of its own" if queue is None else _queue(queue)

    return [f"{DIRECTION[way]}: {_all(runs, lambda run, way=way: [side(run, way)])}" for way in DIRECTIONS]  # type: ignore[misc]


def _queue(side: LinkDirection) -> str:
    rate = f" at {rate_text(side.rate_bps)}" if side.rate_bps else ""
    return f"{queue_name(side.queue)}{rate}"


def _router(runs: Sequence[Observed]) -> list[str]:
    """What limits each way, and the queue before it; both ways in one line where they are alike."""

    def side(run: Observed, way: str) -> str:
        of = run.link.down if way == "down" else run.link.up
        medium = next((each for each in run.plan.media if each.direction == way), None)
        if medium is not None:
            bps = medium_bps(run.plan, way)
            named = MEDIA.get(medium.model, medium.model)
            return f"{named}, {rate_text(round(bps, -4))} on average" if bps else named
        rate = run.link.rate_down_bps if way == "down" else run.link.rate_up_bps
        return f"{rate_text(rate)} ({of.shaper or 'line'})" if rate else "no limit"

    def queue(run: Observed, way: str) -> str:
        return queue_name((run.link.queue if way == "down" else run.link.queue_up) or "none")

    said = []
    for read in (side, queue):
        runs = sorted(runs, key=lambda run: queue_rank(queue_of(run)))
        ways = {way: _all(runs, lambda run, way=way, read=read: [read(run, way)]) for way in DIRECTIONS}  # type: ignore[misc]
        alike = len(set(ways.values())) == 1
        said += [ways["down"]] if alike else [f"{DIRECTION[way]}: {text}" for way, text in ways.items()]
    bursts = _all(runs, lambda run: [run.key["burst"]] if "burst" in run.key else [])
    return [*said, f"burst: {bursts}"] if bursts else said


def _path(runs: Sequence[Observed]) -> list[str]:
    """What the way to the servers adds."""
    said = [f"base RTT {_all(runs, lambda run: [time_text(run.link.base_rtt_ns)])}"]
    lines = _all(runs, lambda run: [rate_text(run.link.line_rate_bps)] if run.link.line_rate_bps else [])
    losses = _all(
        runs,
        lambda run: [
            f"{side.loss_percent:g} %" for side in (run.link.down, run.link.up) if side.loss_percent
        ],
    )
    said += [f"line rate {lines}"] if lines else []
    return said + ([f"loss {losses}"] if losses else [])
