"""How often is `narrows whatif` right? Worlds that the fit knows nothing of, in which both arms are run.

    python bench/whatif.py --size 20 --seed 1 --out results/whatif-worlds

Each world is run as it is, with a capture of its sender; from that file alone the path is fitted and each
change is predicted; then the change is run in the world, with the same seed. A world whose result.json is
there is not made again; with --engine netns the worlds are this host's kernel in real time. Two baselines
stand beside: "as before" (nothing changes), and the capture's own throughput, as a rate that moves by tenths
of a second before a deep queue."""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from narrows.cli.whatif import maker, read_captures
from narrows.errors import NarrowsError
from narrows.plan.build import plan_experiment
from narrows.plan.model import Plan
from narrows.spec.load import load
from narrows.whatif.capacity import HEADERS_BYTES
from narrows.whatif.measured import Measured, measure
from narrows.whatif.session import Session
from narrows.whatif.tables import Pair, pair_of
from narrows.whatif.written import Change, called

RATES_MBIT, RTTS_MS, BUFFERS_BDP = (2.0, 300.0), (8.0, 250.0), (0.3, 4.0)
LENGTH_S, MOST_BYTES, LEAST_BYTES = 8.0, 50e6, 2e6
KINDS = ("tail", "aqm", "loss", "policer", "moving", "medium", "cross", "short", "home", "several")
AQMS = ("fq_codel()", "codel()", "pie()", "cake()", "fq_pie()", "sfq()", "docsis_pie()")
METRICS = ("goodput_bps", "rtt_p95_s")
MATTERS = 0.10
"""A truth that moves by less than this is no difference to be right about."""


@dataclass(frozen=True)
class World:
    """One path and its traffic, and what a change does to it."""

    name: str
    kind: str
    rate_mbit: float
    rtt_ms: float
    queue: str
    cca: str
    transfers: tuple[tuple[float, int], ...]
    rate: Callable[[float], str] = field(repr=False)
    """The rate's words, scaled."""
    more: str = ""
    others: tuple[str, ...] = ()
    up: bool = False
    router: str = ""
    """Of a Home: the home router's words; {queue} where the queue that matters is."""

    def changes(self, base_s: float, draw: random.Random) -> dict[str, Change]:
        """The five changes, as a person would ask for them."""
        # A base RTT is that of the path as it is seen: what media and homes add is in it.
        longer = 2.0 if self.rtt_ms < 60 else 1.5
        found = {
            "cca": Change(cca="bbr" if self.cca != "bbr" else "cubic"),
            "rate": Change(rate="70 %"),
            "rtt": Change(base_rtt=f"{base_s * longer * 1e3:.3f} ms"),
            "sysctl": Change(
                sysctls=(("net.ipv4.tcp_wmem", f"4096 16384 {draw.choice([131072, 262144, 524288])}"),)
            ),
        }
        if self.kind != "policer":
            found["queue"] = Change(queue="fq_codel" if "fifo" in self.queue else "pfifo(limit=200)")
        return found

    def text(self, change: Change, base_s: float = 0.0) -> str:
        """The experiment of one arm."""
        scale = float(change.rate.rstrip("% ")) / 100 if change.rate else 1.0
        base_ms = self.rtt_ms
        if change.base_rtt:
            base_ms += float(change.base_rtt.removesuffix(" ms")) - base_s * 1e3
        queue = (
            f"{change.queue if change.queue.endswith(')') else change.queue + '()'}"
            if change.queue
            else self.queue
        )
        side = "client" if self.up else "server"
        words = f'{self.rate(scale)}, base_rtt="{base_ms:.3f} ms", {self.more}'
        if self.router:
            words += f"router={self.router.format(queue=queue)}, "
        if queue and "{queue}" not in self.router:
            words += f"queue={queue}, queue_up={queue if self.up else 'pfifo()'}, "
        sysctls = f"sysctls={{'{side}': {dict(change.sysctls)!r}}}" if change.sysctls else ""
        kind = "Home" if self.router else "Link"
        flows = [
            f'flow_{n} = bulk(cca="{change.cca or self.cca}", bytes="{size} B", start="{at:.2f} s", '
            f'direction="{"up" if self.up else "down"}")'
            for n, (at, size) in enumerate(self.transfers)
        ]
        return "\n".join(
            [
                '"""What if?"""', "from narrows.spec import *", f"link = {kind}({words}{sysctls})", *flows,
                *self.others,
                f'sender = capture("{side}", snap="96 B")', 'tap("off")', "repeat(1)", "",
            ]
        )  # fmt: skip


def drawn(n: int, seed: int) -> World:
    """The n-th world; the kinds take turns."""
    draw = random.Random(f"{seed} {n}")

    def log(low: float, high: float) -> float:
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    kind = KINDS[n % len(KINDS)]
    rate, rtt = log(*RATES_MBIT), log(*RTTS_MS)
    if kind in ("medium", "moving"):
        rate = min(max(rate, 8.0), 100.0)
    buffer = max(log(*BUFFERS_BDP) * rate * rtt * 125, 15e3)
    tail = f'bfifo(limit="{buffer:.0f} B")'
    aqm = draw.choice(AQMS)
    queue = {"tail": tail, "aqm": aqm}.get(kind, tail if draw.random() < 0.6 else aqm)
    size = min(max(rate * 125e3 * LENGTH_S, LEAST_BYTES), MOST_BYTES)
    cca = draw.choice(["cubic", "cubic", "bbr", "reno"])
    transfers: tuple[tuple[float, int], ...] = ((0.0, int(size)),)
    others: tuple[str, ...] = ()
    more, up, router = "", False, ""

    def words(scale: float) -> str:
        return f'rate="{rate * scale:.3f} Mbit/s"'

    if kind == "loss":
        more = f'loss="{log(0.02, 1.0):.3f} %", loss_up="0 %", '
    elif kind == "policer":
        queue, more = (
            "",
            f'shaper=policer(burst="{max(log(0.3, 3) * rate * rtt * 125, 20e3):.0f} B"), shaper_up=htb(), ',
        )
    elif kind == "moving":
        which = n // len(KINDS) % 3
        words = [
            lambda scale: f'rate=lte_drive("{rate * scale:.3f} Mbit/s", seed={n}), rate_up="100 Mbit/s"',
            lambda scale: f'rate=square("{rate * scale / 2:.3f} Mbit/s", "{rate * scale:.3f} Mbit/s", '
            '"6 s"), rate_up="100 Mbit/s"',
            lambda scale: f'rate=leo("{rate * scale:.3f} Mbit/s", seed={n}), rate_up="100 Mbit/s"',
        ][which]  # fmt: skip
    elif kind == "medium":
        medium = ["wifi", "lte", "satellite", "nr"][n // len(KINDS) % 4]
        words = lambda scale: f"medium={medium}(rate='{rate * scale:.3f} Mbit/s'), rate_up='100 Mbit/s'"  # noqa: E731
    elif kind == "cross":
        more = "services=2, "
        flows = draw.choice([1, 1, 2, 4])
        others = (
            f'other = bulk(cca="{draw.choice(["cubic", "bbr"])}", flows={flows}, '
            f'duration="{2 * LENGTH_S} s", host=2)',
        )
    elif kind == "short":
        more = "services=2, "
        each = rate * 125e3 * draw.uniform(0.1, 0.5)
        others = tuple(
            f'other_{k} = bulk(bytes="{each:.0f} B", start="{k + draw.random():.2f} s", host=2)'
            for k in range(12)
        )
    elif kind == "home":
        up = draw.random() < 0.6
        at_home = draw.random() < 0.5
        way = "egress" if up else "ingress"
        more = f"queue={tail}, queue_up={tail}, " if at_home else ""
        router = f"home_router({way}={{queue}})" if at_home else "home_router()"
    elif kind == "several":
        transfers = tuple(
            (draw.uniform(0, 4) if k else 0.0, int(size / 4 * draw.uniform(0.5, 1.5))) for k in range(4)
        )
    return World(f"w{n:04}", kind, rate, rtt, queue, cca, transfers, words, more, others, up, router)


def runs(texts: dict[str, str], folder: Path, jobs: int, engine: str = "uml") -> dict[str, Path]:
    """The captures of some experiments of one run each, by name; those that failed are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    plans: list[Plan] = []
    for name, text in texts.items():
        file = folder / f"{name}.py"
        file.write_text(text)
        plans += plan_experiment(load(file)).plans
    made, _ = maker(engine, jobs)(plans, folder / "runs")
    logs = {plan.experiment: folder / "runs" / run / "raw" / "sender.pcapng" for run, plan in made.items()}
    return {name: log for name, log in logs.items() if log.exists()}


def read(log: Path, folder: Path) -> Pair:
    """The sender's pair of hosts of one capture."""
    return pair_of(log, *read_captures([log], folder))


def replayed(session: Session, cca: str, change: Change, folder: Path, name: str) -> str:
    """The baseline of a trace: what was acknowledged in each tenth of a second is what the path can carry.
    It is told the CCA that there was."""
    pair = session.pair
    width = 0.1
    folder.mkdir(parents=True, exist_ok=True)
    sums = np.bincount((pair.t / width).astype(int), weights=pair.acked) * 8 / width
    sums = np.maximum(sums * (1 + HEADERS_BYTES / pair.mss), 0.02 * sums.mean())
    scale = float(change.rate.rstrip("% ")) / 100 if change.rate else 1.0
    # Behind its end it goes on with its mean: a slower arm must not stand there.
    rows = [f"{n * width:.2f},{bps * scale:.0f}" for n, bps in enumerate([*sums, sums.mean()])]
    (folder / f"{name}.csv").write_text("\n".join(["time_s,rate_bps", *rows, ""]))
    base = change.base_rtt or f"{session.path.base_rtt_s.value * 1e3:.3f} ms"
    queue = called(change.queue) if change.queue else "pfifo()"
    sysctls = f", sysctls={{'server': {dict(change.sysctls)!r}}}" if change.sysctls else ""
    flows = [
        f'flow_{n} = bulk(cca="{change.cca or cca}", bytes="{t.bytes} B", start="{t.start_s:.3f} s")'
        for n, t in enumerate(session.path.transfers)
    ]
    rate = f'rate=trace("{name}.csv"), rate_up="1 Gbit/s", base_rtt="{base}"'
    link = f"link = Link({rate}, queue={queue}, queue_up=pfifo(){sysctls})"
    ends = ['sender = capture("server", snap="96 B")', 'tap("off")', "repeat(1)", ""]
    return "\n".join(['"""What if?"""', "from narrows.spec import *", link, *flows, *ends])


def judge(world: World, out: Path, draws: int, jobs: int, seed: int, engine: str) -> list[dict[str, Any]]:
    """All changes of one world: truth, prediction and baselines."""
    log = runs({"as_it_is": world.text(Change())}, out / "world", 1, engine).get("as_it_is")
    known = {"world": world.name, "kind": world.kind, "cca": world.cca, "rate": world.rate_mbit}
    known |= {"rtt": world.rtt_ms, "queue": world.queue, "more": world.more}
    if log is None:
        return [known | {"failed": "the world's own run"}]
    session = Session(log, out / "fit", read_captures, maker("uml", jobs))
    base_s = session.path.base_rtt_s.value
    changes = world.changes(base_s, random.Random(f"{seed} {world.name}"))
    truths = {name: world.text(change, base_s) for name, change in changes.items()}
    truth_logs = runs(truths, out / "world", jobs, engine)
    traces = {
        name: replayed(session, world.cca, change, out / "trace", name) for name, change in changes.items()
    }
    trace_logs = runs(traces, out / "trace", jobs)
    rows: list[dict[str, Any]] = []
    for name, change in changes.items():
        row: dict[str, Any] = known | {"change": name}
        if name not in truth_logs:
            rows.append(row | {"failed": "the world's changed run"})
            continue
        try:
            truth = measure(read(truth_logs[name], out / "world" / "paths"))
            trace = measure(read(trace_logs[name], out / "trace" / "paths")) if name in trace_logs else None
            answer = session.answer(change, draws)
        except Exception as error:
            traceback.print_exc()
            rows.append(row | {"failed": str(error)[:200]})
            continue
        row |= {"cannot": answer.cannot, "nearest": answer.nearest.parts if answer.nearest else None}
        row |= {"kept": [(case.kind.words(), case.cca) for case, _, _ in answer.kept]}
        row |= {"before": _of(session.capture), "truth": _of(truth), "trace": _of(trace) if trace else None}
        row |= {"said": {d.metric: [d.after, d.low, d.high] for d in answer.differences}}
        row |= {"pairs": [[_of(was), _of(changed)] for _, was, changed in answer.kept]}
        rows.append(row)
    return rows


def _of(measured: Measured) -> dict[str, float]:
    return {name: getattr(measured, name) for name in METRICS}


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """The bars, each beside its baselines."""
    whole = [row for row in rows if "failed" not in row]
    told = [row for row in whole if row["said"] and not row["cannot"]]
    lines = [
        f"{len({row['world'] for row in whole})} worlds, {len(whole)} changes; cannot answer: "
        f"{len(whole) - len(told)} ({(len(whole) - len(told)) / max(len(whole), 1):.0%}; bar 30 %); "
        f"failed: {len(rows) - len(whole)}"
    ]
    for metric, bar in (("goodput_bps", "10 %"), ("rtt_p95_s", "20 %")):
        errors = {
            "whatif": [abs(row["said"][metric][0] / row["truth"][metric] - 1) for row in told],
            "as before": [abs(row["before"][metric] / row["truth"][metric] - 1) for row in told],
            "trace": [abs(row["trace"][metric] / row["truth"][metric] - 1) for row in told if row["trace"]],
        }
        said = "; ".join(f"{name} {_median(each)}" for name, each in errors.items())
        lines.append(f"{metric}: median error (bar {bar}): {said}")
        inside = [row["said"][metric][1] <= row["truth"][metric] <= row["said"][metric][2] for row in told]
        lines.append(f"{metric}: the 90 % interval holds the truth in {_share(inside)} (bar 85 %)")
        moved = [row for row in told if abs(row["truth"][metric] / row["before"][metric] - 1) > MATTERS]
        ccas = [row for row in moved if row["change"] == "cca"]
        for name, some in (("which CCA is better", ccas), ("which arm is better, every change", moved)):
            right = [
                _sign(row["said"][metric][0], row, metric) == _sign(row["truth"][metric], row, metric)
                for row in some
            ]
            traced = [
                _sign(row["trace"][metric], row, metric) == _sign(row["truth"][metric], row, metric)
                for row in some
                if row["trace"]
            ]
            lines.append(f"{metric}: {name}, right in {_share(right)} (bar 90 %); trace {_share(traced)}")
        wrong = [
            not row["said"][metric][1] <= row["before"][metric] <= row["said"][metric][2]
            and _sign(row["said"][metric][0], row, metric) != _sign(row["truth"][metric], row, metric)
            and abs(row["said"][metric][0] / row["truth"][metric] - 1) > MATTERS
            for row in told
        ]
        lines.append(f"{metric}: sure and wrong in {_share(wrong)} (bar 3 %)")
    return lines


def _sign(value: float, row: dict[str, Any], metric: str) -> bool:
    return bool(value > row["before"][metric])


def _median(values: list[float]) -> str:
    return f"{np.median(values):.1%} (p90 {np.percentile(values, 90):.0%})" if values else "none"


def _share(values: list[bool]) -> str:
    return f"{sum(values)} of {len(values)} ({sum(values) / len(values):.0%})" if values else "none"


def main() -> int:
    """Make what is missing and print the bars."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first world")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("results/whatif-worlds"))
    parser.add_argument("--engine", default="uml", help="of the worlds: uml, or netns (real time, root)")
    parser.add_argument("--judge-only", action="store_true", help="make no runs")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for n in range(args.first, args.first + args.size):
        folder = args.out / f"{args.seed}-{n:04}"
        file = folder / "result.json"
        if not file.exists() and not args.judge_only:
            world = drawn(n, args.seed)
            folder.mkdir(parents=True, exist_ok=True)
            try:
                found = judge(world, folder, args.draws, args.jobs, args.seed, args.engine)
            except NarrowsError as error:
                found = [{"world": world.name, "kind": world.kind, "failed": str(error)[:300]}]
            file.write_text(json.dumps(found, indent=1))
        if file.exists():
            rows += json.loads(file.read_text())
    console = Console(soft_wrap=True, highlight=False, width=200)
    for kind in KINDS:
        some = [row for row in rows if row["kind"] == kind]
        if some:
            told = [row for row in some if row.get("said") and not row.get("cannot")]
            errors = [abs(row["said"]["goodput_bps"][0] / row["truth"]["goodput_bps"] - 1) for row in told]
            delays = [abs(row["said"]["rtt_p95_s"][0] / row["truth"]["rtt_p95_s"] - 1) for row in told]
            console.print(
                f"{kind}: {len(told)} of {len(some)} answered; goodput {_median(errors)}, "
                f"p95 RTT {_median(delays)}"
            )
    for row in rows:
        if why := row.get("failed") or row.get("cannot"):
            console.print(f"  {row['world']} {row['kind']} {row.get('change', '')}: {why}", markup=False)
    for line in summary(rows):
        console.print(line, markup=False)
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
