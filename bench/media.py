"""What a medium costs: one CUBIC flow for 10 s at 100 Mbit/s, against the same Link without one.

The medium is 8333 opportunities a second of a packet each, so that both carry the same.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from measure import Spread
from rows import Bench, Row
from study import one

from narrows.plan.build import plan_file
from narrows.plan.model import Plan

MOST_RATIO = 1.5
TEXT = '''"""What does this cost?"""
from narrows.spec import Link, bulk, fq_codel, opportunities, tap
link = Link({what}, base_rtt="20 ms", queue=fq_codel())
flow = bulk(cca="cubic", duration="10 s")
tap("summary")
'''
LINKS = {"rate": 'rate="100 Mbit/s"', "medium": 'medium=opportunities("even.csv")'}


def _plan(what: str) -> Plan:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "even.csv").write_text(
            "time_us,bytes\n" + "".join(f"{120 * n},1500\n" for n in range(1, 10_001))
        )
        file = Path(folder) / "medium.py"
        file.write_text(TEXT.format(what=what))
        return plan_file(file).plans[0]


def row(bench: Bench) -> Row:
    """Wall time of both, in turns."""
    walls: dict[str, list[float]] = {name: [] for name in LINKS}
    plans = {name: _plan(what) for name, what in LINKS.items()}
    for n in range(bench.repeats):
        for name, plan in plans.items():
            bench.say(f"100 Mbit/s, {name}, {n + 1} of {bench.repeats}")
            walls[name].append(one(bench, plan).wall_s)
    rate, medium = (Spread.of(walls[name]) for name in LINKS)
    ratio = medium.median / rate.median
    return Row(
        "CUBIC at 100 Mbit/s: a medium / a rate, wall",
        f"≤ {MOST_RATIO} ×",
        f"{ratio:.2f} ×",
        ratio <= MOST_RATIO,
        f"wall {rate.text()} s with HTB, {medium.text()} s with a medium; 10 virtual s",
        {"wall_s": walls},
    )
