"""N4: sessions with odd initial windows, in ASs with many of them, go through proxies."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np
import polars as pl

from narrows.paths.proxies import WINDOWS_KB
from narrows.paths.proxies import judge as suspect
from narrows.runs.observed import Observed
from narrows.studies.path_properties.population import sessions
from narrows.studies.path_properties.seen import SENDER, Seen, seen
from narrows.studies.path_properties.testbed import PROXY
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, median_of, not_measured

RIGHT = 0.9
"""Nine of ten that are called proxied are, and nine of ten that are proxied are called so."""
SIZES = (500, 2_000, 10_000)
POPULATIONS = 20

CLAIM = Claim(
    "N4",
    "A session is proxied when its initial receive window lies more than 10 KB outside its device class's "
    "20th to 80th percentile, in an AS where more than 10 % of the sessions do",
    "sections 5.4.4 and 5.8",
    "n1_conditions.py",
    "10000 sessions",
)


def _rates(seed: int, number: int, noisy: bool) -> tuple[float, float]:
    """Precision and recall of one population; `noisy` devices offer windows beside their range."""
    made = sessions(seed, number)
    if not noisy:
        made = made.filter(pl.col("true_proxy") | suspect(made)["proxy_suspected"].not_())
    found = suspect(made)
    called = found["proxied"].fill_null(False).to_numpy()
    true = found["true_proxy"].to_numpy()
    both = float(np.sum(called & true))
    return both / max(float(np.sum(called)), 1.0), both / max(float(np.sum(true)), 1.0)


@cache
def rates() -> tuple[Number, ...]:
    """Precision and recall, medians over populations, of each size and kind of them."""
    found: list[Number] = []
    for noisy, words in ((False, "devices within their ranges"), (True, "a third of devices beside them")):
        for size in SIZES:
            both = [_rates(seed, size, noisy) for seed in range(POPULATIONS)]
            for index, name in enumerate(("precision", "recall")):
                number = median_of(name, "1", [one[index] for one in both], f"{size} sessions, {words}")
                found += [] if number is None else [number]
    return tuple(found)


def _window(one: Seen) -> float | None:
    value = one.value("initial_rwnd_bytes")
    return None if value is None else float(value)


def through_proxy(captures: Iterable[Seen]) -> Number | None:
    """Of sessions through a real proxy, as the sender sees them: the share of device classes whose session
    would be suspected with the window that the proxy offers."""
    shares = []
    for one in captures:
        if one.place == SENDER and one.run.key["path"] == PROXY and _window(one) is not None:
            made = pl.DataFrame({"device": list(WINDOWS_KB), "asn": 1}).with_columns(
                initial_rwnd_bytes=pl.lit(one.value("initial_rwnd_bytes"), pl.Int64)
            )
            shares.append(float(suspect(made)["proxy_suspected"].mean() or 0.0))  # type: ignore[arg-type]
    return median_of("classes suspected through HAProxy on Linux", "1", shares, "the window that it offers")


def judge(runs: Iterable[Observed]) -> Verdict:
    """Precision and recall over made-up populations; and whether the window reads alike at every place."""
    captures = seen(runs)
    if not captures:
        return not_measured(CLAIM, "no captures")
    numbers = rates()
    marks = {f"{number.name}, {number.conditions}": number.value >= RIGHT for number in numbers}
    by_run: dict[str, set[float | None]] = {}
    for one in captures:
        if one.run.key["path"] == PROXY:
            continue
        by_run.setdefault(one.run.run_id, set()).add(_window(one))
    if by_run:
        marks["the window reads alike at every place"] = all(
            len(values) == 1 and None not in values for values in by_run.values()
        )
    real = through_proxy(captures)
    if real is not None:
        numbers = (*numbers, real)
        marks["a session through HAProxy is suspected, whatever the device"] = real.value >= RIGHT
    wrong = [name for name, right in marks.items() if not right]
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"at least {RIGHT:.0%} in all but: {', '.join(wrong) or 'none'}",
        numbers,
        f"{POPULATIONS} made-up populations each; one AS in ten has proxies, for 60 % of its sessions",
        ids([one.run for one in captures]),
    )
