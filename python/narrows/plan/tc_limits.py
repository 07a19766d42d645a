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

TBF_DEFAULT_LATENCY = Duration(50_000_000)
"""tc asks for a limit or a latency, but the queue under the shaper, not TBF's own, is what holds packets."""

_NS = {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9}


@dataclass(frozen=True)
class Limit:
    """Of one option, in its `unit`. `ours` says why narrows stops before tc does: beyond the highest, tc is
    not asked. `power`: only powers of two are kept; `whole`: no parts of a percent; `step`: only multiples of
    it (the kernel's timers tick each ms); what is above 0 and below `finest` is kept as 0."""

    lowest: float
    highest: float
    unit: str
    ours: str = ""
    power: bool = False
    whole: bool = False
    step: int = 0
    finest: float = 0

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
_CODEL_TIME = Limit(2, U32, "us", ours="0 is not said by tc, and CoDel's clock ticks each 1.024 us")
_CE = Limit(0, U32 - 1, "us", finest=2)
_PIE_TARGET = Limit(1, U32 // 1000, "us", ours="the kernel keeps it in 32 bits of ns; 0 is not said by tc")
_TIMER = Limit(1000, 4_294_965_000, "us", step=1000, ours="a timer's whole ms; 0 is not said by tc")
_QUANTUM = _bytes(2**20, 256)
_MS = Limit(0, S32, "ms", ours="for ever beyond it")
_RATE = Limit(8, 34_359_738_360, "bit/s")
"""In 32 bits of bytes per second."""
_FREE_RATE = Limit(8, 10**13, "bit/s", ours="more than any link here")
_SHARE = Limit(0.01, 99.99, "%", ours="tc says 100 % as 2^32, of which 32 bits are 0")
_BLUE_SHARE = Limit(0, 100, "%", ours="a share", finest=100 / U16)
"""SFB's shares have 16 bits."""
_FRAMES = "more than any queue of frames needs"

LIMITS: Mapping[str, Mapping[str, Limit]] = {
    "pfifo": {"limit": _count()},
    "bfifo": {"limit": _bytes()},
    "pfifo_head_drop": {"limit": _count()},
    "codel": {
        "limit": _count(), "target": _CODEL_TIME, "interval": _CODEL_TIME, "ce_threshold": _CE,
    },
    "fq_codel": {
        "limit": _count(), "flows": _count(65536), "target": _CODEL_TIME, "interval": _CODEL_TIME,
        "quantum": _QUANTUM, "memory_limit": _bytes(2**31), "drop_batch": _count(),
        "ce_threshold": _CE,
    },
    "sfq": {
        "limit": _count(lowest=2), "perturb": Limit(0, 2_147_483, "s"), "quantum": _QUANTUM,
        "depth": _count(127, ours="what the kernel keeps"), "divisor": _count(65536, power=True),
        "flows": _count(65408, ours="what the kernel keeps"), "probability": _SHARE,
    },
    "pie": {
        "limit": _count(), "target": _PIE_TARGET, "tupdate": _TIMER, "alpha": _count(32),
        "beta": _count(32),
    },
    "fq_pie": {
        "limit": _count(), "flows": _count(65536), "target": _PIE_TARGET, "tupdate": _TIMER,
        "alpha": _count(32), "beta": _count(32), "quantum": _QUANTUM, "memory_limit": _bytes(),
        "ecn_prob": Limit(0, 99, "%", whole=True),
    },
    "red": {
        "min": _bytes(), "max": _bytes(), "avpkt": _bytes(), "burst": _count(), "probability": _SHARE,
        "limit": _bytes(), "bandwidth": _RATE,
    },
    "choke": {
        "limit": _count(128 * 1024 - 1), "min": _count(), "max": _count(), "burst": _count(),
        "probability": _SHARE, "bandwidth": _RATE,
    },
    "sfb": {
        "limit": _count(), "rehash": _MS, "db": _MS, "max": _count(),
        "target": _count(), "increment": _BLUE_SHARE, "decrement": _BLUE_SHARE, "penalty_rate": _count(),
        "penalty_burst": _count(),
    },
    "hhf": {
        "limit": _count(), "quantum": _bytes(S32 // 2, 256, ours=_FRAMES), "hh_limit": _count(2048),
        "reset_timeout": _TIMER, "admit_bytes": _bytes(), "evict_timeout": _TIMER,
        "non_hh_weight": _count(S32 // 1514, ours="its product with the quantum has 31 bits"),
    },
    "cake": {
        "bandwidth": _FREE_RATE, "memlimit": _bytes(), "rtt": Limit(1, U32, "us"),
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
        "limit": _count(), "flow_limit": _count(), "quantum": _QUANTUM,
        "initial_quantum": _bytes(2**20), "maxrate": _RATE, "buckets": _count(262144, 2, power=True),
        "orphan_mask": _count(), "refill_delay": _TIMER, "low_rate_threshold": _RATE,
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


def check(
    part: SpecObject, kind: str, values: Mapping[str, Any], frame_bytes: int, rate_bps: int | None = None
) -> None:
    """Refuse, with the line of `part`, the first value that tc of this `kind` does not take, or the kernel
    keeps as another. `values` are its options, BDPs as numbers."""
    for name, limit in LIMITS.get(kind, {}).items():
        value = values[name]
        if not isinstance(value, (int, float, Size, Duration, Rate)) or isinstance(value, bool):
            continue
        number = limit.number(value)
        if not limit.lowest <= number <= limit.highest:
            nearest = limit.lowest if number < limit.lowest else limit.highest
            part.fail(
                f"{name}: tc takes no {_said(value)}, or the kernel keeps another",
                f"from {limit.text(limit.lowest)} to {limit.text(limit.highest)}: "
                f"the nearest is {limit.text(nearest)}",
            )
        if limit.whole and number != int(number):
            part.fail(f"{name}: tc takes whole percents, not {value} %", f'"{round(number)} %"')
        if limit.power and int(number) & (int(number) - 1):
            part.fail(
                f"{name}: {value} is not a power of two", f"such as {2 ** (int(number).bit_length() - 1)}"
            )
        if limit.step and number % limit.step:
            nearest = max(limit.step, round(number / limit.step) * limit.step)
            part.fail(
                f"{name}: {value} is no multiple of {limit.text(limit.step)}, and the kernel keeps no other",
                f'the nearest is "{limit.text(nearest)}"',
            )
        if 0 < number < limit.finest:
            part.fail(
                f"{name}: the kernel keeps {_said(value)} as 0", f'at least "{limit.text(limit.finest)}"'
            )
    for name in ("memory_limit", "memlimit"):
        memory = values.get(name)
        if isinstance(memory, Size) and memory.bytes < packet_memory(frame_bytes):
            least = packet_memory(frame_bytes)
            part.fail(
                f"{name}: {memory} do not hold one packet: a frame of {frame_bytes} bytes takes {least} B",
                f'at least "{least} B"',
            )
    if kind == "hhf":
        quantum = values["quantum"].bytes if values["quantum"] is not None else frame_bytes
        if quantum * values["non_hh_weight"] > S32:
            part.fail(f"quantum × non_hh_weight is {quantum * values['non_hh_weight']}", f"at most {S32}")
    if kind == "sfq":
        _check_sfq(part, values)
    average = early(kind, values, rate_bps)
    if average is not None and average.wrong is not None:
        part.fail(*average.wrong)


def packet_memory(frame_bytes: int) -> int:
    """What a packet of a full frame may take (truesize): the next power of two, and its two heads."""
    return int(2 ** math.ceil(math.log2(frame_bytes + 64)) + 768)


def _said(value: Any) -> str:
    return f"{value:g} %" if isinstance(value, float) else str(value)


def _check_sfq(part: SpecObject, values: Mapping[str, Any]) -> None:
    """No more flows than hash buckets and packets, and no more packets than depth × flows."""
    flows = min(values["flows"], values["divisor"])
    if "flows" in part.given and values["flows"] > min(values["divisor"], values["limit"]):
        most = min(values["divisor"], values["limit"])
        part.fail(
            f"flows: the kernel keeps {most} of {values['flows']}: no more than divisor and limit",
            f"flows={most}, or a larger divisor and limit",
        )
    if values["limit"] > values["depth"] * flows:
        part.fail(
            f"limit: the kernel keeps {values['depth'] * flows} of {values['limit']}: depth × flows",
            f"at most {values['depth'] * flows}, or more flows",
        )


def check_buckets(
    shaper: Shaper, rate: Rate, ceil: Rate, burst_bytes: int | None, cburst_bytes: int | None
) -> None:
    """Refuse buckets that take longer to fill than tc can say, and options of tbf that do not go together."""
    for name, bucket, at in (("burst", burst_bytes, rate), ("cburst", cburst_bytes, ceil)):
        if bucket is not None:
            _check_bucket(shaper, name, bucket, at)
    if isinstance(shaper, tbf) and shaper["limit"] is None:
        waits = (rate * (shaper["latency"] or TBF_DEFAULT_LATENCY)).bytes
        if waits + (burst_bytes or 0) > U32:
            name = "burst" if shaper["latency"] is None else "latency"
            shaper.fail(
                f"{name}: burst and latency hold {waits + (burst_bytes or 0)} bytes at {rate}",
                f"at most {U32} bytes together",
            )
    if isinstance(shaper, tbf) and shaper["peakrate"] is not None:
        if shaper["peakrate"] <= rate:
            shaper.fail(f"peakrate: {shaper['peakrate']} is not above the rate", f"above {rate}")
        _check_bucket(shaper, "mtu", shaper["mtu"].bytes, shaper["peakrate"])


def _check_bucket(part: SpecObject, name: str, bucket_bytes: int, rate: Rate) -> None:
    """A rate below what can be calibrated is refused as such, elsewhere."""
    if rate.bps >= 1000 and bucket_bytes * 8 * 10**9 > BUCKET_NS * rate.bps:
        most = BUCKET_NS * rate.bps // (8 * 10**9)
        part.fail(f"{name}: {bucket_bytes} bytes take over 274 s at {rate}", f'at most "{most} B"')


@dataclass(frozen=True)
class Early:
    """What tc makes of the options of RED: its thresholds, and the weight of its average, 2^-halvings."""

    low: int
    high: int
    halvings: int | None
    wrong: tuple[str, str] | None
    """What tc or the kernel refuses, and what they take."""


def early(kind: str, values: Mapping[str, Any], rate_bps: int | None) -> Early | None:
    """RED's rule as tc and the kernel have it; None where there is no RED.

    tc (tc_red.c) takes by default a quarter of the limit as max, a third of max as min, and a third of
    2 min + max in average packets as burst. It turns them into a filter of at most 31 halvings, and the rate
    into a table of idle time. The kernel (red_check_params) wants max, shifted by the halvings, in 32 bits.
    """

    def given(name: str) -> int:
        value = values.get(name)
        return value.bytes if isinstance(value, Size) else int(value or 0)

    if kind not in ("red", "choke", "sfq") or (kind == "sfq" and values["redflowlimit"] is None):
        return None
    name = "redflowlimit" if kind == "sfq" else "limit"
    limit, average = given(name), 1 if kind == "choke" else given("avpkt") or 1000
    unit = str if kind == "choke" else (lambda n: f'"{n} B"')
    high = given("max") or (given("min") * 3 if kind == "red" else 0) or limit // 4
    low = given("min") or high // 3
    burst = given("burst") or (2 * low + high) // (3 * average)
    share = (2.0 if values["probability"] is None else values["probability"]) / 100
    halvings = None

    def found(wrong: tuple[str, str] | None) -> Early:
        return Early(low, high, halvings, wrong)

    if high > limit and kind != "red":
        return found((f"max ({high}) is above {name} ({limit})", f"max at most {unit(limit)}"))
    if low >= high:
        fault = f"tc makes min {low} and max {high} of {name} {limit}: min must be below max"
        return found((fault, f"{name} at least {unit(12 * average)}, or both given"))
    halvings = _halvings(low, burst, average)
    if halvings is None:
        fault = f"tc finds no filter for min {low}, max {high} and burst {burst}"
        least = low // average + 1
        remedy = f"burst at least {least}" if given("burst") else f"{name} at least {unit(12 * average)}"
        return found((fault, f"{remedy}, and burst at least {least}" if not given("burst") else remedy))
    if high.bit_length() + halvings >= 32:
        fault = f"the kernel takes no filter of {halvings} halvings with max {high} (burst {burst})"
        return found((fault, _less_burst(low, high, burst, average)))
    if share / (high - low) * 2**32 <= 1:
        return found((f"tc finds no slope for {share:%} between {low} and {high}", "a larger probability"))
    rate = values["bandwidth"].bps if values.get("bandwidth") is not None else rate_bps
    if kind != "sfq" and rate:
        idle_ticks = 31 * 2**halvings * average_ticks(1000 if kind == "choke" else average, rate)
        if idle_ticks >= 512 * 2**31:
            return found(
                (f"tc finds no table of idle time for burst {burst} at {Rate(rate)}", "a smaller burst")
            )
    return found(None)


def average_ticks(size_bytes: int, rate_bps: int) -> float:
    """tc's time for so many bytes."""
    return size_bytes * 8 * 10**9 / rate_bps / 64


def _less_burst(low: int, high: int, burst: int, average: int) -> str:
    least, most = low // average + 1, burst
    while least < most:
        middle = (least + most + 1) // 2
        halvings = _halvings(low, middle, average)
        fits = halvings is not None and high.bit_length() + halvings < 32
        least, most = (middle, most) if fits else (least, middle - 1)
    halvings = _halvings(low, least, average)
    fits = halvings is not None and high.bit_length() + halvings < 32
    return f"burst at most {least}" if fits else "a smaller max"


def _halvings(low: int, burst: int, average: int) -> int | None:
    a = burst + 1 - low / average
    if a < 1:
        return None
    for halvings in range(1, 32):
        weight = 0.5**halvings
        if a <= -math.expm1(burst * math.log1p(-weight)) / weight:
            return halvings
    return None
