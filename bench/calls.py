"""What a second of a call costs: two browsers directly, aiortc's two ends, two browsers through LiveKit.

Each is run for two lengths: the difference of their costs is a second's. Media go one way, 720 lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from per_second import per_second
from rows import Bench, Row

SHORT_S, LONG_S = 6, 12
CASES = {
    "two browsers, VP9": ('codec="VP9"', 0.8),
    "aiortc": ('program="aiortc"', 0.8),
    "two browsers and LiveKit": ('through="livekit"', 1.5),
}
"""Options, and wall seconds per virtual second at most."""
TEXT = '''"""What does this cost?"""
from narrows.spec import Link, bdp, bfifo, call, tap
link = Link(rate="8 Mbit/s", base_rtt="50 ms", queue=bfifo(limit=bdp(2)))
c = call({}, sends="down", stop="{} s")
tap("summary")
'''


def rows(bench: Bench) -> Iterator[Row]:
    """Wall seconds per virtual second of each."""
    for name, (options, most) in CASES.items():
        bench.say(f"a call: {name}")
        text = partial(TEXT.format, options)
        each, start = per_second(bench, text, SHORT_S, LONG_S)
        yield Row(
            f"a call of {name}, wall s per virtual s",
            f"≤ {most} s",
            f"{each:.2f} s, and {start:.0f} s to start",
            each <= most,
            f"8 Mbit/s, one way, from {SHORT_S} and {LONG_S} virtual s, medians of {bench.repeats}",
            {"wall_s": each},
        )
