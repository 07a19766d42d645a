"""Before and after on one page: an HTML file that needs nothing beside it."""

import time
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from narrows.line.tune.measure import FLOWS, Echoes, Loaded, Measured
from narrows.line.tune.measure import server as named
from narrows.line.tune.tuning import Tuned, quantile
from narrows.units import Rate

WIDTH, HEIGHT, EDGE = 640, 300, 40
WHEN: tuple[tuple[str | None, str, str], ...] = (
    (None, "alone", "#888888"),
    ("down", "during download", "#1f6fb4"),
    ("up", "during upload", "#c0504d"),
)
LOADS = {"iperf3": f"iperf3, {FLOWS} flows of TCP", "udp": "UDP, whose rate is searched after RFC 9097"}

Row = tuple[str, ...]


def rows(tuned: Tuned) -> list[Row]:
    """The table: what, before, after."""
    if tuned.before is None or tuned.after is None:
        return []
    both = (tuned.before, tuned.after)
    made: list[Row] = []
    for way, words in (("down", "download"), ("up", "upload")):
        rates = [Rate(round(_loaded(each, way).rate_bps / 1e4) * 10_000) for each in both]
        made.append((f"{words}, IP layer", *map(str, rates)))
    for of, words, _ in WHEN:
        for q, label in ((0.5, "median"), (0.95, "p95")):
            found = [quantile(_echoes(each, of), q) for each in both]
            cells = ["none answered" if ms is None else f"{ms:.1f} ms" for ms in found]
            made.append((f"round trip {words}, {label}", *cells))
    cells = []
    for each in both:
        parts = [_echoes(each, of) for of, _, _ in WHEN]
        lost = sum(part.lost for part in parts)
        cells.append(f"{lost} of {lost + sum(len(part.rtt_ms) for part in parts)}")
    made.append(("echoes lost", *cells))
    return made


def verdicts(tuned: Tuned) -> list[str]:
    """Whether the queue has moved, each way, and what to do if it has not."""
    made = []
    for way in ("down", "up"):
        moved = tuned.moved(way)
        if moved is None:
            why = "no --server"
            if tuned.after is not None:
                why = "UDP fills the ISP's queue whatever stands behind it; iperf3:// can tell"
            made.append(f"{way}: not checked ({why})")
        elif moved:
            made.append(f"{way}: the queue is at home")
        else:
            less = f"a --share smaller than {tuned.wish.setting.share:g} may move it"
            made.append(f"{way}: the queue is still the ISP's, or nothing filled it; {less}")
    return made


def write(tuned: Tuned, path: Path) -> None:
    """Write the page; a file that is there stays."""
    assert tuned.before is not None
    assert tuned.after is not None
    assert tuned.wish.server is not None
    both = (("Before", tuned.before), ("After", tuned.after))
    top_ms = max(max(_echoes(each, of).rtt_ms, default=1.0) for _, each in both for of, _, _ in WHEN)
    loader = PackageLoader("narrows.line.tune", ".")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    text = environment.get_template("page.html.j2").render(
        wan=tuned.wish.setting.wan,
        verdicts=verdicts(tuned),
        made_at=time.strftime("%Y-%m-%d %H:%M %z"),
        seconds=tuned.wish.seconds,
        server=tuned.wish.server,
        load=LOADS[named(tuned.wish.server).tool],
        rows=rows(tuned),
        legend=[(words, colour) for _, words, colour in WHEN],
        pictures=[
            (title, [(c, _cdf(_echoes(each, of), top_ms)) for of, _, c in WHEN]) for title, each in both
        ],
        width=WIDTH,
        height=HEIGHT,
        edge=EDGE,
        top_ms=f"{top_ms:.0f}",
        commands=[" ".join(words) for words in tuned.lines],
        explained=tuned.wish.setting.explained(),
    )
    with path.open("x") as file:
        file.write(text)


def _loaded(measured: Measured, way: str) -> Loaded:
    return measured.down if way == "down" else measured.up


def _echoes(measured: Measured, way: str | None) -> Echoes:
    return measured.idle if way is None else _loaded(measured, way).echoes


def _cdf(echoes: Echoes, top_ms: float) -> str:
    """The points of a line in the picture."""
    values = sorted(echoes.rtt_ms)
    wide, high = WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE
    return " ".join(
        f"{EDGE + ms / top_ms * wide:.1f},{HEIGHT - EDGE - (n + 1) / len(values) * high:.1f}"
        for n, ms in enumerate(values)
    )
