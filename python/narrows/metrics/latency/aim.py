"""AIM scores: Cloudflare's points for streaming, gaming and real-time communication.

Definition (@cloudflare/speedtest 1.14.1, aimMeasurementScoring and aimExperiencesDefs): each measurement
gives points by a table of thresholds, where a value at a threshold already falls into the next step; an
experience is the sum of its measurements' points, never below 0, and is classed bad, poor, average, good or
great by thresholds of its own. The increase of latency under load is max(down, up) - unloaded. Without a
measured packet loss its points are 0, which is not the 10 of a measured loss of 0: no loss test reads worse
than a perfect one.

Deviation: with only one direction's loaded latency the program computes max(x, undefined) = NaN and scores
it with the highest points (20); with a missing jitter likewise (10). Here an experience whose inputs are
incomplete has no score.

Unit: points. Inputs: latencies and jitter in ms, packet loss as share of 1, rates in bit/s.
"""

import bisect
import math
from dataclasses import dataclass

LATENCY_STEPS = ((10.0, 20.0, 50.0, 100.0, 500.0), (20, 10, 5, 0, -10, -20))
RATE_STEPS = ((1e6, 1e7, 5e7, 1e8), (0, 5, 10, 20, 30))
TABLES: dict[str, tuple[tuple[float, ...], tuple[int, ...]]] = {
    "packet_loss": ((0.01, 0.05, 0.25, 0.5), (10, 5, 0, -10, -20)),
    "latency": LATENCY_STEPS,
    "loaded_latency_increase": LATENCY_STEPS,
    "jitter": ((10.0, 20.0, 100.0, 500.0), (10, 5, 0, -10, -20)),
    "download": RATE_STEPS,
    "upload": RATE_STEPS,
}
CLASSES = ("bad", "poor", "average", "good", "great")
EXPERIENCES: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "streaming": (("latency", "packet_loss", "download", "loaded_latency_increase"), (15, 20, 40, 60)),
    "gaming": (("latency", "packet_loss", "loaded_latency_increase"), (5, 15, 25, 30)),
    "rtc": (("latency", "jitter", "packet_loss", "loaded_latency_increase"), (5, 15, 25, 40)),
}


@dataclass(frozen=True)
class Score:
    """Points of one experience and their class."""

    points: int
    name: str


def points(measurement: str, value: float | None) -> int | None:
    """Points of one measurement; None of a missing value, except packet loss, which then has 0."""
    if value is None or math.isnan(value):
        return 0 if measurement == "packet_loss" else None
    if math.isinf(value):
        raise ValueError(f"{measurement} is infinite: that is not a measurement")
    thresholds, given = TABLES[measurement]
    return given[bisect.bisect_right(thresholds, value)]


def aim_scores(
    latency_ms: float | None,
    down_loaded_latency_ms: float | None,
    up_loaded_latency_ms: float | None,
    jitter_ms: float | None,
    download_bps: float | None,
    packet_loss: float | None = None,
) -> dict[str, Score | None]:
    """Score of each experience; None where one of its measurements is missing."""
    idle, down, up = latency_ms, down_loaded_latency_ms, up_loaded_latency_ms
    increase = None
    if (
        idle is not None
        and down is not None
        and up is not None
        and not any(map(math.isnan, (idle, down, up)))
    ):
        increase = max(down, up) - idle
    scored = {
        "latency": points("latency", latency_ms),
        "loaded_latency_increase": points("loaded_latency_increase", increase),
        "jitter": points("jitter", jitter_ms),
        "download": points("download", download_bps),
        "packet_loss": points("packet_loss", packet_loss),
    }
    result: dict[str, Score | None] = {}
    for experience, (inputs, thresholds) in EXPERIENCES.items():
        known = [given for given in (scored[name] for name in inputs) if given is not None]
        total = max(0, sum(known))
        complete = len(known) == len(inputs)
        result[experience] = (
            Score(total, CLASSES[bisect.bisect_right(thresholds, total)]) if complete else None
        )
    return result
