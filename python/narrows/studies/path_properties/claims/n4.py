from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import polars as pl

from narrows.judging.parts import Item, Judge, Mark, Number, Share, median_of, percent, plain_of
from narrows.paths.proxies import WINDOWS_KB
from narrows.paths.proxies import judge as suspect
from narrows.runs.observed import Observed
from narrows.studies.path_properties.population import sessions
from narrows.studies.path_properties.seen import SENDER, Seen, seen
from narrows.studies.path_properties.testbed import PROXY

RIGHT = 0.9
"""Nine of ten that are called proxied are, and nine of ten that are proxied are called so."""
SIZES = (500, 2_000, 10_000)
POPULATIONS = 20
RATES = ("precision", "recall")


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
    for noisy, words in ((False, "within their ranges"), (True, "a third beside their ranges")):
        for size in SIZES:
            both = [_rates(seed, size, noisy) for seed in range(POPULATIONS)]
            for index, name in enumerate(RATES):
                under = {"sessions": str(size), "devices": words}
                number = median_of(name, "1", [one[index] for one in both], under, percent=True)
                found += [] if number is None else [number]
    return tuple(found)


def window(one: Seen) -> float | None:
    """The initial receive window."""
    value = one.value("initial_rwnd_bytes")
    return None if value is None else float(value)


def suspected(one: Seen) -> float | None:
    """The share of device classes whose session would be suspected with the window that a capture has."""
    if window(one) is None:
        return None
    made = pl.DataFrame({"device": list(WINDOWS_KB), "asn": 1}).with_columns(
        initial_rwnd_bytes=pl.lit(one.value("initial_rwnd_bytes"), pl.Int64)
    )
    return float(suspect(made)["proxy_suspected"].mean() or 0.0)  # type: ignore[arg-type]


def alike(of: Seen | Sequence[Seen]) -> float | None:
    """1 where the window reads alike in all captures of a run, else 0."""
    windows = {window(one) for one in of} if isinstance(of, Sequence) else {None}
    return float(len(windows) == 1 and None not in windows)


def sessions_seen(runs: Sequence[Observed]) -> Iterator[Item]:
    """Sessions through a real proxy, as the sender sees them; and every other run with its captures."""
    by_run: dict[str, list[Seen]] = {}
    for one in seen(runs):
        by_run.setdefault(one.run.run_id, []).append(one)
    for run_id, captures in by_run.items():
        if captures[0].run.key["path"] != PROXY:
            yield Item(captures, {"path": OTHERS}, (run_id,))
        else:
            yield from (
                Item(one if one.place == SENDER else None, {"path": PROXY}, (run_id,)) for one in captures
            )


OTHERS = "without a proxy"
REAL = Share(
    "classes suspected through HAProxy on Linux", read=lambda one: suspected(one) if one else None,
    where={"path": PROXY},
)  # fmt: skip
ALIKE = Share(
    "runs whose window reads alike at every place", read=alike, where={"path": OTHERS}, take=plain_of(min)
)
judge = Judge(
    "N4",
    "A session is proxied when its initial receive window lies more than 10 KB outside its device class's "
    "20th to 80th percentile, in an AS where more than 10 % of the sessions do",
    "sections 5.4.4 and 5.8",
    "n1_conditions.py",
    by=("path",),
    items=sessions_seen,
    measures=(REAL, ALIKE),
    derive=lambda found: rates() if found else (),
    hidden=(ALIKE.name,),
    marks=(
        *(Mark(f"{name} {percent(RIGHT)} and more", name, RIGHT) for name in RATES),
        Mark("the window reads alike at every place", ALIKE.name, 1),
        Mark(f"through HAProxy {percent(RIGHT)} of device classes and more are suspected", REAL.name, RIGHT),
    ),
    under=f"{POPULATIONS} made-up populations each; one AS in ten has proxies, for 60 % of its sessions",
    decided_by={"sessions": "10000"},
)
