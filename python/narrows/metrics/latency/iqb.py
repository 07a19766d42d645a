"""Internet Quality Barometer: for how much of what six uses of the Internet require a path is good enough.

Definition (m-lab/iqb, library of October 2025, calculator and default configuration): each use has four
requirements with a weight and a threshold. Throughput has to be above it, latency and loss below it; a use's
score is the weighted share of requirements that are met, and the barometer the mean of the uses. Every
threshold comes from a survey of experts.

Deviation: the library takes quantiles of many users' tests, and where a dataset is missing leaves it out.
Here it is one path, and what was not measured makes the score None.

Unit: share of 1. Rates in bit/s, latency in ms, loss as a share of 1.
"""

import math

VERSION = "m-lab/iqb, October 2025"
USES: dict[str, tuple[tuple[int, float], tuple[int, float], tuple[int, float], tuple[int, float]]] = {
    "web": ((3, 10e6), (2, 10e6), (4, 100.0), (4, 0.01)),
    "video": ((4, 25e6), (2, 10e6), (4, 100.0), (4, 0.01)),
    "audio": ((4, 10e6), (1, 5e6), (3, 100.0), (4, 0.01)),
    "conferencing": ((4, 25e6), (4, 25e6), (4, 50.0), (4, 0.005)),
    "backup": ((4, 10e6), (4, 25e6), (2, 100.0), (4, 0.01)),
    "gaming": ((4, 25e6), (4, 25e6), (5, 10.0), (4, 0.005)),
}
"""Weight and threshold of download, upload, latency and loss. Uses weigh the same."""


def iqb(
    download_bps: float | None, upload_bps: float | None, latency_ms: float | None, loss: float | None
) -> dict[str, float | None]:
    """The score of each use, and of all as `all`."""
    measured = (download_bps, upload_bps, latency_ms, loss)
    known = [value for value in measured if value is not None and not math.isnan(value)]
    if len(known) < len(measured):
        return dict.fromkeys((*USES, "all"))
    down_bps, up_bps, rtt_ms, lost_share = known
    scores: dict[str, float | None] = {}
    for use, (down, up, latency, lost) in USES.items():
        met = (
            (down[0], down_bps > down[1]),
            (up[0], up_bps > up[1]),
            (latency[0], rtt_ms < latency[1]),
            (lost[0], lost_share < lost[1]),
        )
        scores[use] = sum(weight for weight, is_met in met if is_met) / sum(weight for weight, _ in met)
    scores["all"] = sum(score for score in scores.values() if score is not None) / len(USES)
    return scores
