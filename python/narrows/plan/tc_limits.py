"""What `tc` and the kernel take of each option of a queue or shaper: the lowest and the highest value.

It is the one table of limits: what is outside is refused with the line of the experiment, before anything
runs. A value that tc takes and the kernel then cuts to fewer bits counts as not taken. The test
`tests/interop/test_tc_limits.py` holds every row against the real tc: lowest, highest, one beyond.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from narrows.spec.base import SpecObject
from narrows.spec.shapers import Shaper, tbf
from narrows.units import Duration, Rate, Size

U16, U32 = 2**16 - 1, 2**32 - 1
S32 = 2**31 - 1
BUCKET_NS = 2**32 * 64
"""tc says a bucket as its time at the rate, in ticks of 64 ns, in 32 bits: 274.9 s."""

_NS = {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9}


@dataclass(frozen=True)
class Limit:
    """Of one option, in its `unit`. `ours` says why narrows stops before tc does: beyond the highest, tc is
    not asked. `power`: only powers of two are kept; `whole`: no parts of a percent."""

    lowest: float
    highest: int
    unit: str
    ours: str = ""
    power: bool = False
    whole: bool = False

    def value(self, number: Any) -> Any:
        """A number of the unit as an option's value."""
        if self.unit in _NS:
            return Duration(round(number * _NS[self.unit]))
        if self.unit == "%":
            return f"{number} %"
        return Size(number) if self.unit == "bytes" else Rate(number) if self.unit == "bit/s" else number

    def number(self, value: Any) -> float:
        """An option's value as a number of the unit."""
        if isinstance(value, Duration):
            return value.ns / _NS[self.unit]
        if isinstance(value, Size):
            return value.bytes
        return value.bps if isinstance(value, Rate) else float(value)

    def text(self, number: float) -> str:
        """For people."""
        value = self.value(number)
        return f"{value:g}" if isinstance(value, float) else str(value)


def _count(highest: int = U32, lowest: int = 1, **more: Any) -> Limit:
    return Limit(lowest, highest, "", **more)


def _bytes(highest: int = U32, lowest: int = 1, **more: Any) -> Limit:
    return Limit(lowest, highest, "bytes", **more)


_TIME = Limit(0, U32, "us")
_RATE = Limit(8, 34_359_738_360, "bit/s")
"""In 32 bits of bytes per second."""
_FREE_RATE = Limit(8, 10**13, "bit/s", ours="more than any link here")
_SHARE = Limit(0.01, 100, "%", ours="a share")
_ANY_SHARE = Limit(0, 100, "%", ours="a share")
_FRAMES = "more than any queue of frames needs"

LIMITS: Mapping[str, Mapping[str, Limit]] = {
    "pfifo": {"limit": _count()},
    "bfifo": {"limit": _bytes()},
    "pfifo_head_drop": {"limit": _count()},
    "codel": {"limit": _count(), "target": _TIME, "interval": _TIME, "ce_threshold": _TIME},
    "fq_codel": {
        "limit": _count(), "flows": _count(65536), "target": _TIME, "interval": _TIME,
        "quantum": _bytes(2**20), "memory_limit": _bytes(), "drop_batch": _count(), "ce_threshold": _TIME,
    },
    "sfq": {
        "limit": _count(lowest=2), "perturb": Limit(0, 2_147_483, "s"), "quantum": _bytes(2**20),
        "depth": _count(127, ours="what the kernel keeps"), "divisor": _count(65536, power=True),
        "flows": _count(65408, ours="what the kernel keeps"),
    },
    "pie": {
        "limit": _count(), "target": _TIME, "tupdate": _TIME, "alpha": _count(32, 0), "beta": _count(32, 0),
    },
    "fq_pie": {
        "limit": _count(), "flows": _count(65536), "target": _TIME, "tupdate": _TIME,
        "alpha": _count(32, 0), "beta": _count(32, 0), "quantum": _bytes(2**20), "memory_limit": _bytes(),
        "ecn_prob": Limit(0, 99, "%", whole=True),
    },
    "red": {
        "min": _bytes(), "max": _bytes(), "avpkt": _bytes(), "burst": _count(), "probability": _SHARE,
        "limit": _bytes(), "bandwidth": _RATE,
    },
    "choke": {
        "limit": _count(), "min": _count(), "max": _count(), "burst": _count(), "probability": _SHARE,
        "bandwidth": _RATE,
    },
    "sfb": {
        "limit": _count(), "rehash": Limit(0, U32, "ms"), "db": Limit(0, U32, "ms"), "max": _count(),
        "target": _count(), "increment": _ANY_SHARE, "decrement": _ANY_SHARE, "penalty_rate": _count(),
        "penalty_burst": _count(),
    },
    "hhf": {
        "limit": _count(), "quantum": _bytes(S32 // 2, ours=_FRAMES), "hh_limit": _count(2048),
        "reset_timeout": _TIME, "admit_bytes": _bytes(), "evict_timeout": _TIME,
        "non_hh_weight": _count(S32 // 1514, ours="its product with the quantum has 31 bits"),
    },
    "cake": {
        "bandwidth": _FREE_RATE, "memlimit": _bytes(), "fwmark": _count(), "rtt": _TIME,
        "overhead": Limit(-64, 256, ""), "mpu": _bytes(256, 0),
    },
    "dualpi2": {
        "limit": _count(), "memory_limit": _bytes(), "target": _TIME, "tupdate": _TIME,
        "alpha": Limit(1 / 256, 256, "", ours="RFC 9332 has 0.16"),
        "beta": Limit(1 / 256, 256, "", ours="RFC 9332 has 3.2"),
        "step_thresh": _TIME, "min_qlen_step": _count(lowest=0), "coupling_factor": _count(255),
        "c_protection": Limit(0, 100, "%"),
    },
    "fq": {
        "limit": _count(), "flow_limit": _count(), "quantum": _bytes(S32, ours=_FRAMES),
        "initial_quantum": _bytes(2**20), "maxrate": _RATE, "buckets": _count(262144, 2, power=True),
        "orphan_mask": _count(), "refill_delay": Limit(1, U32, "us"), "low_rate_threshold": _RATE,
        "ce_threshold": _TIME, "timer_slack": Limit(1, U32, "ns"), "horizon": _TIME,
    },
    "htb": {
        "burst": _bytes(),
        "cburst": _bytes(),
        "ceil": _FREE_RATE, "quantum": _bytes(), "overhead": _count(U16, 0), "mpu": _bytes(U16, 0),
    },
    "tbf": {
        "burst": _bytes(), "limit": _bytes(),
        "latency": Limit(1, U32, "us", ours="tc works in microseconds"), "peakrate": _FREE_RATE,
        "mtu": _bytes(),
        "overhead": _count(U16, 0), "mpu": _bytes(U16, 0),
    },
    "policer": {"burst": _bytes()},
}  # fmt: skip


def check(part: SpecObject, kind: str, frame_bytes: int) -> None:
    """Refuse, with the line of `part`, the first value that tc of this `kind` does not take."""
    for name, limit in LIMITS.get(kind, {}).items():
        value = part[name]
        if not isinstance(value, (int, float, Size, Duration, Rate)) or isinstance(value, bool):
            continue  # absent, or in BDP, which is checked where its bytes are known
        number = limit.number(value)
        if not limit.lowest <= number <= limit.highest:
            part.fail(
                f"{name}: tc takes no {value}",
                f"from {limit.text(limit.lowest)} to {limit.text(limit.highest)}",
            )
        if limit.whole and number != int(number):
            part.fail(f"{name}: tc takes whole percents, not {value} %", f'"{round(number)} %"')
        if limit.power and int(number) & (int(number) - 1):
            part.fail(
                f"{name}: {value} is not a power of two", f"such as {2 ** (int(number).bit_length() - 1)}"
            )
    if kind == "hhf":
        quantum = part["quantum"].bytes if part["quantum"] is not None else frame_bytes
        if quantum * part["non_hh_weight"] > S32:
            part.fail(f"quantum × non_hh_weight is {quantum * part['non_hh_weight']}", f"at most {S32}")
    if kind in ("red", "choke"):
        _check_early(part, kind)


def check_buckets(
    shaper: Shaper, rate: Rate, ceil: Rate, burst_bytes: int | None, cburst_bytes: int | None
) -> None:
    """Refuse buckets that take longer to fill than tc can say, and options of tbf that do not go together."""
    for name, bucket, at in (("burst", burst_bytes, rate), ("cburst", cburst_bytes, ceil)):
        if bucket is not None:
            _check_bucket(shaper, name, bucket, at)
    if isinstance(shaper, tbf) and shaper["latency"] is not None:
        waits = (rate * shaper["latency"]).bytes + (burst_bytes or 0)
        if waits > U32:
            shaper.fail(f"latency: {waits} bytes at {rate}", f"a limit below {U32} bytes")
    if isinstance(shaper, tbf) and shaper["peakrate"] is not None:
        if shaper["peakrate"] <= rate:
            shaper.fail(f"peakrate: {shaper['peakrate']} is not above the rate", f"above {rate}")
        _check_bucket(shaper, "mtu", shaper["mtu"].bytes, shaper["peakrate"])


def _check_bucket(part: SpecObject, name: str, bucket_bytes: int, rate: Rate) -> None:
    """A rate below what can be calibrated is refused as such, elsewhere."""
    if rate.bps >= 1000 and bucket_bytes * 8 * 10**9 > BUCKET_NS * rate.bps:
        most = BUCKET_NS * rate.bps // (8 * 10**9)
        part.fail(f"{name}: {bucket_bytes} bytes take over 274 s at {rate}", f'at most "{most} B"')


def _check_early(part: SpecObject, kind: str) -> None:
    """tc turns min, max and burst of RED into a filter of at most 31 halvings (iproute2, tc_red.c), and gives
    up where there is none. What it takes by default: max = limit / 4, min = max / 3, and as burst a third of
    2 min + max in average packets."""

    def given(name: str) -> int | None:
        value = part[name]
        return value.bytes if isinstance(value, Size) else value if isinstance(value, int) else None

    limit, average = given("limit"), given("avpkt") if kind == "red" else 1
    if limit is None or not average:
        return
    high = given("max") or ((given("min") or 0) * 3 if kind == "red" else 0) or limit // 4
    low = given("min") or high // 3
    burst = given("burst") or (2 * low + high) // (3 * average)
    unit = (lambda n: f'"{n} B"') if kind == "red" else str
    if kind == "choke" and high > limit:
        part.fail(f"max ({high}) is above limit ({limit})", f"max at most {limit}")
    if low >= high:
        part.fail(
            f"tc makes min {low} and max {high} of limit {limit}: min must be below max",
            f"limit at least {unit(12 * average)}, or both given",
        )
    if _halvings(low, burst, average) is None:
        part.fail(
            f"tc finds no filter for min {low}, max {high} and burst {burst}",
            f"limit at least {unit(12 * average)}, and burst at least {low // average + 1}",
        )


def _halvings(low: int, burst: int, average: int) -> int | None:
    a = burst + 1 - low / average
    if a < 1:
        return None
    for halvings in range(1, 32):
        weight = 0.5**halvings
        if a <= -math.expm1(burst * math.log1p(-weight)) / weight:
            return halvings
    return None
