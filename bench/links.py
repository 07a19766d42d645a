"""What `narrows paths` reads of links below IP, beside what was declared, on conditions drawn anew.

    python bench/links.py [--conditions 60] [--seed 1] [--out results/links]

Each condition is a medium or a plain rate, rates and a path's delay, all drawn from the seed; one download is
captured at both ends. Held against what was declared are: the base RTT (the path's, and the least that the
schedules add), the packets of an aggregate (of Wi-Fi: the mean that turns of the run carried, by its table
`media`), the period of turns (TTI, frame, MAP), and the time between reallocations. Says of each how many are
within 10 %, how many are NULL, and how many were named where nothing of the kind was declared. Runs that are
there already are not made again.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import polars as pl

from narrows.media.schedule import Schedule, decoded
from narrows.paths import tables
from narrows.paths.read import Settings, read
from narrows.plan.model import Medium, Plan

WITHIN = 0.1
MS = 1_000_000
TURN_NS = {"lte": MS, "nr": MS // 2, "satellite": 1_333_000}
NEVER_NS = 10**12
FULL_BYTES = 1000
"""A packet of data, not an ACK."""
HEAD = '''"""What does narrows paths read of links below IP?"""

from narrows.spec import Link, axis, bulk, capture, docsis, fq_codel, lte, nr, satellite, tap, wifi

'''
TAIL = """
flow = bulk(cca="cubic", duration=seconds)
capture("server", snap="96 B")
capture("client", snap="96 B")
tap("summary")
"""


class Condition(NamedTuple):
    """One Link, and what is declared of it; None: nothing."""

    model: str
    options: str
    seconds: int
    turn_ns: int | None
    every_ns: int | None


class Quantity(NamedTuple):
    """What is read at one end, in a column of `connections`."""

    name: str
    end: str
    column: str


QUANTITIES = (
    Quantity("base RTT", "server", "base_rtt_ns"),
    Quantity("packets of an aggregate", "client", "aggregate_segments"),
    Quantity("period of turns", "client", "turn_period_ns"),
    Quantity("period of turns", "server", "turn_period_ns"),
    Quantity("reallocation", "server", "reallocation_period_ns"),
)


def condition(draw: random.Random) -> Condition:
    """One of six kinds."""
    rate, seed, map_ms = draw.randint(8, 60), draw.randint(1, 999), draw.randint(1, 4)
    first, every = draw.choice([(2, 5), (12, 15)])
    media = {
        "wifi": f'medium=wifi(rate="{2 * rate} Mbit/s", stations={draw.randint(0, 2)}, '
        f'failure="{draw.randint(0, 10)} %", packets={draw.choice([8, 16, 32])}, seed={seed})',
        "lte": f'medium=lte(rate="{rate} Mbit/s", grant="{draw.randint(4, 20)} ms", seed={seed})',
        "nr": f'medium=nr(rate="{rate} Mbit/s", grant="{draw.randint(2, 10)} ms", seed={seed})',
        "satellite": f'medium=satellite(rate="{rate} Mbit/s", first="{first} s", every="{every} s", '
        f'spread="{draw.randint(2, 20)} ms", seed={seed})',
        "docsis": f'rate="{rate} Mbit/s", medium_up=docsis(rate="{rate // 4} Mbit/s", map="{map_ms} ms", '
        f"grant_maps={draw.randint(2, 5)})",
        "rate": f'rate="{rate} Mbit/s"',
    }
    model = draw.choice(list(media))
    steps = model == "satellite"
    return Condition(
        model,
        f'{media[model]}, base_rtt="{draw.randint(10, 80)} ms", queue=fq_codel()',
        90 if steps else 5,
        map_ms * MS if model == "docsis" else TURN_NS.get(model),
        every * 1000 * MS if steps else None,
    )


def experiment(drawn: Sequence[Condition]) -> str:
    def axis(name: str, values: Sequence[str]) -> str:
        lines = "".join(f'    "{n}": {value},\n' for n, value in enumerate(values))
        return f'{name} = axis("condition", {{\n{lines}}})\n'

    links = axis("link", [f"Link({each.options})" for each in drawn])
    return HEAD + links + axis("seconds", [f'"{each.seconds} s"' for each in drawn]) + TAIL


def least_ns(media: Sequence[Medium], seconds: int) -> int:
    """The least that packets take there and back from a queue to the other end, within the same 100 ms."""
    asked, holds = 0, [0] * (10 * seconds)
    for medium in media:
        turns = decoded(medium.unit_ns, medium.turns)
        waits = min(turn.wait_ns for turn in turns if turn.bytes)
        asked += waits * (medium.grant_turns or int(medium.by_demand))
        if medium.by_demand:
            asked += min(turn.hold_ns for turn in turns)
            continue
        own: dict[int, int] = {}
        for at_ns, turn in Schedule(turns, medium.repeat_ns).times(seconds * 1000 * MS):
            if turn.bytes and not turn.lost:
                place = at_ns // (100 * MS)
                own[place] = min(own.get(place, turn.hold_ns), turn.hold_ns)
        holds = [hold + own.get(place, NEVER_NS) for place, hold in enumerate(holds)]
    return asked + min(holds)


def carried(run: Path) -> float | None:
    """How many packets of data a turn carried on average, those that were sent again included."""
    sent = pl.read_parquet(run / "media.parquet").filter(
        pl.col("direction") == "down", pl.col("tries") > 0, pl.col("bytes") >= FULL_BYTES
    )
    return float(sent["tries"].sum() / sent["turn"].n_unique())


def declared(each: Condition, plan: Plan, run: Path) -> Mapping[Quantity, float | None]:
    """What should be read of each quantity; None: nothing. A quantity that is left out may be read or not."""
    base, packets, at_client, at_server, every = QUANTITIES
    told: dict[Quantity, float | None] = {
        base: plan.link.base_rtt_ns + least_ns(plan.media, each.seconds),
        at_client: each.turn_ns if each.model != "docsis" else None,
        at_server: each.turn_ns,
        every: each.every_ns,
    }
    # Blocks and frames come together, too, but nothing says how many.
    if each.model in ("wifi", "docsis", "rate"):
        told[packets] = carried(run) if each.model == "wifi" else None
    return told


def plans(runs: Path) -> Iterator[tuple[Plan, Path]]:
    for file in runs.glob("*/plan.json"):
        yield Plan.read(file), file.parent


def found(log: Path) -> Mapping[str, Any]:
    """The row of the connection with most payload."""
    with tempfile.TemporaryDirectory() as folder:
        read([str(log)], Path(folder), Settings(min_duration_ns=10**9), jobs=1)
        rows = tables.load(Path(folder), "connections").sort("payload_bytes").to_dicts()
    return rows[-1] if rows else {}


def said(quantity: Quantity, value: float | None) -> str:
    if value is None:
        return "NULL"
    return f"{value / MS:.2f} ms" if quantity.column.endswith("_ns") else f"{value:.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--conditions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/links"))
    asked = parser.parse_args()
    draw = random.Random(f"narrows links {asked.seed}")
    drawn = [condition(draw) for _ in range(asked.conditions)]
    text = experiment(drawn)
    # A folder of its own for each drawing, so that no run is of another one.
    folder = asked.out / hashlib.sha256(text.encode()).hexdigest()[:8]
    folder.mkdir(parents=True, exist_ok=True)
    file, runs = folder / "links_drawn.py", folder / "runs"
    file.write_text(text)
    narrows = Path(sys.executable).with_name("narrows")
    if code := subprocess.run([narrows, "run", file, "--out", runs], check=False).returncode:
        return code
    pairs: dict[Quantity, list[tuple[float | None, float | None]]] = {each: [] for each in QUANTITIES}
    made = {plan.key["condition"]: (plan, run) for plan, run in plans(runs)}
    for n, each in enumerate(drawn):
        plan, run = made[str(n)]
        ends = {end: found(run / "raw" / f"{end}.pcapng") for end in ("server", "client")}
        known = declared(each, plan, run)
        parts = []
        for quantity, told in known.items():
            seen = ends[quantity.end].get(quantity.column)
            pairs[quantity].append((told, seen))
            if told is not None or seen is not None:
                parts.append(
                    f"{quantity.name} ({quantity.end}) {said(quantity, told)}: {said(quantity, seen)}"
                )
        print(f"{n:>3} {each.model:9} {'; '.join(parts)}", flush=True)
    for quantity, both in pairs.items():
        print(summary(quantity, both))
    return 0


def summary(quantity: Quantity, pairs: Sequence[tuple[float | None, float | None]]) -> str:
    told = [(known, seen) for known, seen in pairs if known is not None]
    errors = [abs(seen / known - 1) for known, seen in told if seen is not None]
    false = [seen for known, seen in pairs if known is None and seen is not None]
    right = sum(error <= WITHIN for error in errors)
    middle = f"{median(errors):.1%}" if errors else "unknown"
    return (
        f"{quantity.name} (at the {quantity.end}): "
        f"within {WITHIN:.0%} on {right} of {len(told)} that declare it, NULL on {len(told) - len(errors)}, "
        f"median error {middle}; named on {len(false)} of the {len(pairs) - len(told)} others"
    )


if __name__ == "__main__":
    sys.exit(main())
