"""A made-up population of sessions of which everything is known: devices, proxies, busy hours. No guest runs.

Windows: two thirds of a device class' sessions offer what its published range holds, the rest lie up to 30
KB beside it. Proxies stand in some ASs and take a share of their sessions; half of what a proxy offers is
above 1000 KB (section 5.8). Delays are log-normal with a median of 80 ms and a third quartile of 200 ms
(section 5.5.1); sessions come three times as often in the evening as at night.
"""

import numpy as np
import polars as pl

from narrows.metrics.statistics.arrays import Floats
from narrows.paths.proxies import WINDOWS_KB
from narrows.units import NS_PER_H, NS_PER_MS

DELAY_MEDIAN_MS, DELAY_SPREAD = 80.0, 1.358
BUSY_H, QUIET_H = (18, 21), (3, 6)
IN_RANGE = 2 / 3


def sessions(
    seed: int,
    number: int,
    *,
    ases: int = 100,
    proxied_ases: float = 0.1,
    proxied_share: float = 0.6,
    busy_ms: float = 0.0,
    pairs: int = 1,
) -> pl.DataFrame:
    """Sessions with what `narrows paths` and the metadata would know, and the truth in `true_proxy`."""
    rng = np.random.default_rng(seed)
    makers = list(WINDOWS_KB)
    maker = rng.integers(len(makers), size=number)
    asn = rng.integers(ases, size=number)
    proxy = (asn < round(ases * proxied_ases)) & (rng.random(number) < proxied_share)
    low, high = (np.array([WINDOWS_KB[m][i] for m in makers])[maker] * 1000.0 for i in (0, 1))
    inside = rng.random(number) < IN_RANGE
    beside = rng.uniform(-30_000, 30_000, number)
    own = np.where(inside, rng.uniform(low, high), np.where(beside < 0, low + beside, high + beside))
    theirs = np.where(
        rng.random(number) < 0.5, rng.uniform(1e6, 4e6, number), rng.uniform(14_600, 1e6, number)
    )
    hour = _hours(rng, number)
    delay = DELAY_MEDIAN_MS * np.exp(DELAY_SPREAD * rng.standard_normal(number))
    delay += np.where((hour >= BUSY_H[0]) & (hour < BUSY_H[1]), busy_ms, 0.0)
    return pl.DataFrame(
        {
            "device": pl.Series(makers).gather(maker),
            "asn": asn,
            "initial_rwnd_bytes": np.where(proxy, theirs, own).astype(np.int64),
            "true_proxy": proxy,
            "country": pl.Series([f"C{i}" for i in range(pairs)]).gather(rng.integers(pairs, size=number)),
            "network": pl.repeat("wifi", number, eager=True),
            "utc_offset_h": np.zeros(number),
            "start_ns": (hour * NS_PER_H).astype(np.int64),
            "peak_queueing_delay_ns": (delay * NS_PER_MS).astype(np.int64),
        }
    )


def _hours(rng: np.random.Generator, number: int) -> Floats:
    """Hours of the day of sessions: three times as many in the busy window as in the quiet one."""
    weights = np.full(24, 1.5)
    weights[slice(*BUSY_H)] = 3.0
    weights[slice(*QUIET_H)] = 1.0
    whole = rng.choice(24, size=number, p=weights / weights.sum())
    return np.asarray(whole + rng.random(number), dtype=np.float64)
