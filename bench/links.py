"""What `narrows paths` reads of links below IP, beside what was declared, on conditions drawn anew.

    python bench/links.py [--conditions 60] [--seed 1] [--out results/links]

Each condition is a medium, rates and a path's delay drawn from the seed; one download of 5 s is captured at
the server, and the base RTT that `narrows paths` finds in the capture is held against the declared one: the
path's, and the least that the medium's schedules add (a block's time, a grant, the nearest satellite). Says
how many are within 10 %. Runs that are there already are not made again.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from narrows.media.schedule import decoded
from narrows.paths import tables
from narrows.paths.read import Settings, read
from narrows.plan.build import plan_file
from narrows.plan.model import Medium, Plan

WITHIN = 0.1
HEAD = '''"""What does narrows paths read of links below IP?"""

from narrows.spec import Link, axis, bulk, capture, docsis, fq_codel, lte, nr, satellite, tap, wifi

link = axis("condition", {
'''
TAIL = """})
flow = bulk(cca="cubic", duration="5 s")
capture("server", snap="96 B")
tap("summary")
"""


def condition(draw: random.Random) -> str:
    """The options of one Link."""
    rate = draw.randint(8, 60)
    seed = draw.randint(1, 999)
    media = [
        f'medium=wifi(rate="{2 * rate} Mbit/s", stations={draw.randint(0, 2)}, '
        f'failure="{draw.randint(0, 10)} %", packets={draw.choice([8, 16, 32])}, seed={seed})',
        f'medium=lte(rate="{rate} Mbit/s", grant="{draw.randint(4, 20)} ms", seed={seed})',
        f'medium=nr(rate="{rate} Mbit/s", grant="{draw.randint(2, 10)} ms", seed={seed})',
        f'medium=satellite(rate="{rate} Mbit/s", first="2 s", every="5 s", length="10 s", '
        f'spread="{draw.randint(2, 20)} ms", seed={seed})',
        f'rate="{rate} Mbit/s", medium_up=docsis(rate="{rate // 4} Mbit/s", map="{draw.randint(1, 4)} ms", '
        f"grant_maps={draw.randint(2, 5)})",
    ]
    return f'{draw.choice(media)}, base_rtt="{draw.randint(10, 80)} ms", queue=fq_codel()'


def least_ns(medium: Medium) -> int:
    """The least that a packet takes from the queue to the other end."""
    turns = [turn for turn in decoded(medium.unit_ns, medium.turns) if turn.bytes and not turn.lost]
    waits = min(turn.wait_ns for turn in turns)
    asked = waits * (medium.grant_turns or int(medium.by_demand))
    return asked + min(turn.hold_ns for turn in turns)


def declared_ns(plan: Plan) -> int:
    return plan.link.base_rtt_ns + sum(least_ns(each) for each in plan.media)


def found_ns(log: Path) -> int | None:
    """The base RTT that `narrows paths` finds; None: it finds none."""
    with tempfile.TemporaryDirectory() as folder:
        read([str(log)], Path(folder), Settings(min_duration_ns=10**9), jobs=1)
        rows = tables.load(Path(folder), "connections").sort("payload_bytes").to_dicts()
    return rows[-1]["base_rtt_ns"] if rows else None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--conditions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/links"))
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    draw = random.Random(f"narrows links {asked.seed}")
    lines = [f'    "{n}": Link({condition(draw)}),\n' for n in range(asked.conditions)]
    file = asked.out / "links_drawn.py"
    file.write_text(HEAD + "".join(lines) + TAIL)
    narrows = Path(sys.executable).with_name("narrows")
    runs = asked.out / "runs"
    if code := subprocess.run([narrows, "run", file, "--out", runs], check=False).returncode:
        return code
    errors = []
    known = {plan.key["condition"]: plan for plan in plan_file(file).plans}
    for log in sorted(runs.glob("*/raw/*.pcapng")):
        number = Plan.read(log.parents[1] / "plan.json").key["condition"]
        told, seen = declared_ns(known[number]), found_ns(log)
        model = " and ".join(each.model for each in known[number].media[:1])
        if seen is None:
            print(f"{number:>3} {model:10} declared {told / 1e6:6.2f} ms, found none")
            errors.append(1.0)
            continue
        errors.append(abs(seen / told - 1))
        known_ms, found_ms = told / 1e6, seen / 1e6
        print(f"{number:>3} {model:10} {known_ms:6.2f} ms, found {found_ms:6.2f} ms: {seen / told - 1:+.1%}")
    right = sum(error <= WITHIN for error in errors)
    print(
        f"base RTT within {WITHIN:.0%} on {right} of {len(errors)} conditions, "
        f"median error {median(errors):.1%}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
