"""The topology of a run, drawn: nodes, the bottleneck's two queues with their settings, rates and delays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from narrows.comparing.conditions import given, queue_of, queue_rank, rate_text
from narrows.figures.drawing import Drawing, Missing, Result, count_runs, run_ids
from narrows.figures.style import PAGE_IN, canvas, queue_name, styled
from narrows.runs.observed import Observed, is_background

NODE_COLOUR = "#eef2f6"
EDGE_COLOUR = "#35506b"
ORDER = {"client": 0, "home": 1, "router": 2, "path": 3, "server": 4}


def time_text(ns: float) -> str:
    """ "250 µs", "20 ms"."""
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(ns) >= scale:
            return f"{ns / scale:g} {unit}"
    return f"{ns:g} ns"


def topology(runs: Sequence[Observed], name: str, title: str) -> Result:
    """One drawing of all runs: where settings differ between runs, their range is written."""
    if not runs:
        return Missing(name, title, "there is no run in this directory")
    nodes = _drawn(runs)
    figure, grid = canvas(1, 1, PAGE_IN, row_in=1.45)
    axes = grid[0][0]
    with styled():
        axes.set_axis_off()
        axes.set_xlim(-0.55, len(nodes) - 0.45)
        axes.set_ylim(-1.15, 0.6)
        for x, node in enumerate(nodes):
            axes.add_patch(
                FancyBboxPatch(
                    (x - 0.24, -0.22),
                    0.48,
                    0.44,
                    boxstyle="round,pad=0.02,rounding_size=0.06",
                    facecolor=NODE_COLOUR,
                    edgecolor=EDGE_COLOUR,
                    linewidth=0.9,
                )
            )
            axes.text(x, 0.0, node.name, ha="center", va="center", fontsize=8.5, weight="bold")
            axes.text(x, -0.32, _note(node, runs), ha="center", va="top", fontsize=6.6, linespacing=1.35)
        for x in range(len(nodes) - 1):
            for y, (a, b) in ((0.1, (x + 0.74, x + 0.26)), (-0.1, (x + 0.26, x + 0.74))):
                axes.add_patch(
                    FancyArrowPatch(
                        (a, y), (b, y), arrowstyle="-|>", mutation_scale=8, color=EDGE_COLOUR, linewidth=0.9
                    )
                )
        axes.text(
            len(nodes) / 2 - 0.5,
            0.82,
            "← download    ·    upload →",
            ha="center",
            fontsize=7.5,
            color=EDGE_COLOUR,
        )
    ids = run_ids(runs)
    link = runs[0].link
    caption = (
        f"The topology under test: each node is a network namespace. Base RTT "
        f"{_range(runs)}, "
        f"MTU {link.mtu_bytes} bytes. Where runs differ, all settings are listed. {count_runs(len(ids))}."
    )
    return Drawing(name, title, caption, ids, figure)


@dataclass(frozen=True)
class _Box:
    name: str
    role: str


def _drawn(runs: Sequence[Observed]) -> list[_Box]:
    """The nodes from left to right; the senders of a Dumbbell as one, and its receivers."""
    boxes = [_Box(node.name, node.role) for node in runs[0].plan.nodes]
    nodes = sorted(boxes, key=lambda n: (ORDER.get(n.role, 9), n.name))
    if not runs[0].link.pairs:
        hosts = [n for n in nodes if n.role == "client"]
        if len(hosts) == 1:
            return nodes
        return [_Box(f"{len(hosts)} hosts", "client"), *(n for n in nodes if n not in hosts)]
    several = max(map(_receivers, runs)) > 1
    return [
        _Box("receivers" if several else "receiver", "receivers"),
        *(n for n in nodes if n.role == "router"),
        _Box("senders", "senders"),
    ]


def _receivers(run: Observed) -> int:
    return sum(node.role == "client" for node in run.plan.nodes)


def _nodes(counts: set[int]) -> str:
    """ "1 node", "2 to 5 nodes"."""
    least, most = min(counts), max(counts)
    span = f"{most}" if least == most else f"{least} to {most}"
    return f"{span} node{'s' if most > 1 else ''}"


def _senders(runs: Sequence[Observed]) -> str:
    counts = {sum(len(p.senders) for p in r.link.pairs) for r in runs}
    rtts = sorted({p.base_rtt_ns for r in runs for p in r.link.pairs})
    return f"{_nodes(counts)}\nbase RTT {' / '.join(time_text(v) for v in rtts)},\nall on the way back"


def _received(runs: Sequence[Observed]) -> str:
    counts = set(map(_receivers, runs))
    return "receives all flows" if max(counts) == 1 else f"{_nodes(counts)},\none for each sender's flows"


def _note(node: _Box, runs: Sequence[Observed]) -> str:
    role = node.role
    if role == "router":
        return _router(runs)
    if role == "home":
        return _home_router(runs)
    if role == "senders":
        return _senders(runs)
    if role == "receivers":
        return _received(runs)
    if role == "path":
        delays = sorted({side.delay_ns for r in runs for side in (r.link.down, r.link.up)})
        lines = ["one-way delay " + " / ".join(time_text(v) for v in delays)]
        lines_of_rate = sorted({r.link.line_rate_bps for r in runs if r.link.line_rate_bps})
        if lines_of_rate:
            lines.append("line rate " + " / ".join(rate_text(v) for v in lines_of_rate))
        losses = sorted({side.loss_percent for r in runs for side in (r.link.down, r.link.up)} - {0.0})
        if losses:
            lines.append("loss " + " / ".join(f"{v:g} %" for v in losses))
        return "\n".join(lines)
    if any(r.tested for r in runs):
        return {"client": "speed test, probe", "server": "speed test server"}.get(role, "")
    return ", ".join(_traffic(runs)) if role == "client" else ""


def _home_router(runs: Sequence[Observed]) -> str:
    """The home router's queues each way, and the rates that they are shaped to."""
    lines = []
    homes = [run.link.home for run in runs]
    for word in ("egress", "ingress"):
        queues = [None if h is None else h.up if word == "egress" else h.down for h in homes]
        names = list(dict.fromkeys("none" if q is None else queue_name(q.queue) for q in queues))
        rates = sorted({q.rate_bps for q in queues if q is not None and q.rate_bps is not None})
        lines.append(f"{word}: {' / '.join(names[:3])}{' …' if len(names) > 3 else ''}")
        if rates:
            several = len(rates) > 2
            lines.append(f"at {rate_text(rates[0])}{' …' if several else ''}"
                         f"{f' {rate_text(rates[-1])}' if len(rates) > 1 else ''}")  # fmt: skip
    return "\n".join(lines)


def _traffic(runs: Sequence[Observed]) -> list[str]:
    """The experiment's own names of what it starts, a few of them."""
    names = [i.id for r in runs for i in r.plan.traffic if not is_background(i)]
    distinct = list(dict.fromkeys(names))
    return distinct if len(distinct) <= 4 else [*distinct[:3], "…"]


def _router(runs: Sequence[Observed]) -> str:
    shapers = sorted({r.link.shaper for r in runs if r.link.shaper})
    queues = sorted({queue_of(r) for r in runs}, key=queue_rank)
    rates = sorted({r.rate_bps() for r in runs if r.link.rate_down_bps})
    ways = "both directions" if any(r.link.shaper_up for r in runs) else "downstream"
    text = [f"bottleneck, {ways} ({' / '.join(shapers) or 'no shaper'})"]
    if rates:
        span = " / ".join(rate_text(v) for v in rates)
        text.append(
            span
            if len(rates) <= 3
            else f"{rate_text(rates[0])} … {rate_text(rates[-1])} ({len(rates)} rates)"
        )
    text.append(" / ".join(queue_name(q) for q in queues[:4]) + (" …" if len(queues) > 4 else ""))
    bursts = given(runs, "burst")
    if bursts:
        text.append("burst: " + " / ".join(bursts))
    return "\n".join(text)


def _range(runs: Sequence[Observed]) -> str:
    return " / ".join(time_text(v) for v in sorted({r.link.base_rtt_ns for r in runs}))
