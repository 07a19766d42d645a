"""Latency by rate and qdisc: the RTT samples of the speed test's own connection.

That is TCPInfo.RTT over the test, which is latency under load; the official NDT7 client's "latency" is the
last MinRTT, which is not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from narrows.figures.by_rate import also, by_rate
from narrows.figures.drawing import Result
from narrows.metrics.statistics.arrays import Floats, clean
from narrows.runs.observed import Observed


def _rtt_ms(run: Observed, direction: str) -> Floats:
    return clean(run.rtts_ms[direction].value) if direction in run.rtts_ms else np.empty(0)


def latency_by_rate(runs: Sequence[Observed], name: str, title: str, conditions: str = "") -> Result:
    """Box of the pooled RTT samples of all repetitions."""
    return by_rate(
        runs,
        name=name,
        title=title,
        what="Round-trip time during the speed test, from its own connection (TCPInfo.RTT of the server's "
        "measurement "
        f"messages, about 40 per direction and run){also(conditions)}. Boxes pool the samples of all "
        f"repetitions: median, quartiles, whiskers 5 to 95 %.",
        y_label="RTT during the test [ms]",
        values_of=_rtt_ms,
        points=False,
    )
