"""What a second of QUIC costs: quinn with CUBIC at three rates, tap `summary`, no qlog.

Each rate is run for two lengths: the difference of their costs is a second's.
"""

from __future__ import annotations

from functools import partial

from per_second import per_second
from rows import Bench, Row

SHORT_S, LONG_S = 2, 6
RATES = (20, 100, 300)
TEXT = '''"""What does this cost?"""
from narrows.spec import Link, bdp, bfifo, quic, tap
link = Link(rate="{} Mbit/s", base_rtt="20 ms", queue=bfifo(limit=bdp(1)))
mine = quic("quinn", stop="{} s")
tap("summary")
'''


def row(bench: Bench) -> Row:
    """Wall seconds per virtual second at each rate."""
    each = {}
    for rate in RATES:
        bench.say(f"quinn at {rate} Mbit/s")
        each[rate], _ = per_second(bench, partial(TEXT.format, rate), SHORT_S, LONG_S)
    found = ", ".join(f"{cost:.2f}" for cost in each.values())
    rates = ", ".join(map(str, RATES))
    name = f"quinn alone at {rates} Mbit/s, 20 ms, wall s per virtual s"
    return Row(name, "to be said", found, None, "CUBIC, FIFO of 1 BDP, tap summary", {"wall_s": each})
