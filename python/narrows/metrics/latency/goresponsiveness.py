"""RPM as goresponsiveness computes it. It is not the draft's number.

Definition (network-quality/goresponsiveness: rpm/calculations.go, utilities/math.go, constants/constants.go
of 2023 to 2024, docs/sources.md): a foreign probe's whole time (tcp + tls + http) counts as three round
trips of a third each. Then, of self and foreign times apart, either the mean of the lowest
int(n x 5 %) or the element at index int(n x 90 %) of the sorted times (no interpolation);
RPM = 60000 / ((self + foreign) / 2): times are averaged and then inverted. The draft inverts and then
averages (`narrows.metrics.latency.responsiveness`). At 10 ms foreign and 100 ms self that is 1091 against
3300: the slower half rules here, the faster half there, and fair queueing is where they part most.

It reports both figures, "P90" and "Single-Sided 5% Trimmed Mean". The second keeps what it says it trims:
its option rpm.tmp is documented as the "percent of measurements to trim" and is 5 unless set, but TrimBy
keeps that percentage, the LOWEST twentieth. Its own output shows it (issue 57: 526 beside self times of mean
437 ms and maximum 2063 ms; the best 95 % of those have a mean of at least 349 ms, which allows no more than
344). `trim_percent=95` is what the draft asks for. Fewer than 20 self probes have no trimmed mean (Go divides
0 by 0 there, here it is None).

Unit: round trips per minute (1/min); times in ms.
"""

from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.arrays import Floats, Values, partitioned
from narrows.metrics.statistics.columns import sample
from narrows.units import MS_PER_MINUTE

ROUND_TRIPS = 3  # of a foreign probe: tcp, tls, http
TRIM_PERCENT = 5  # of the samples that it keeps
PERCENTILE = 90


@dataclass(frozen=True)
class GoResponsiveness:
    """Both of its figures, and self and foreign apart."""

    p90_rpm: float | None
    mean_rpm: float | None
    self_p90_rpm: float | None = None
    self_mean_rpm: float | None = None
    foreign_p90_rpm: float | None = None
    foreign_mean_rpm: float | None = None


def goresponsiveness(
    foreign_total_ms: Values, self_ms: Values, trim_percent: int = TRIM_PERCENT, percentile: int = PERCENTILE
) -> GoResponsiveness:
    """Its figures; None where one kind of probe is missing or has too few samples."""
    foreign, own = sample(foreign_total_ms), sample(self_ms)
    if foreign is None or own is None:
        return GoResponsiveness(None, None)
    self_mean, self_p = _trimmed(own, 1, trim_percent), _percentile(own, 1, percentile)
    thirds = foreign / ROUND_TRIPS
    foreign_mean = _trimmed(thirds, ROUND_TRIPS, trim_percent)
    foreign_p = _percentile(thirds, ROUND_TRIPS, percentile)
    mean = None if self_mean is None or foreign_mean is None else (self_mean + foreign_mean) / 2.0
    return GoResponsiveness(
        p90_rpm=_per_minute((self_p + foreign_p) / 2.0),
        mean_rpm=_per_minute(mean),
        self_p90_rpm=_per_minute(self_p),
        self_mean_rpm=_per_minute(self_mean),
        foreign_p90_rpm=_per_minute(foreign_p),
        foreign_mean_rpm=_per_minute(foreign_mean),
    )


def _per_minute(time_ms: float | None) -> float | None:
    """Round trips per minute; of no time there is no number (Go has +Inf there)."""
    return MS_PER_MINUTE / time_ms if time_ms else None


def _trimmed(x: Floats, times: int, percent: int) -> float | None:
    """Mean of the lowest of the samples, each of which occurs `times` times."""
    # float32, as in TrimBy: the product decides how many are kept
    keep = int(np.float32(x.size * times) * (np.float32(percent) / np.float32(100.0)))
    if keep == 0:
        return None
    whole, rest = divmod(keep, times)
    lowest = partitioned(x, min(whole, x.size - 1))
    total = float(lowest[:whole].sum()) * times + (float(lowest[whole]) * rest if rest else 0.0)
    return total / keep


def _percentile(x: Floats, times: int, percent: int) -> float:
    """The element at that share of the sorted samples, each of which occurs `times` times."""
    index = int(percent / 100.0 * (x.size * times)) // times
    return float(partitioned(x, index)[index])
