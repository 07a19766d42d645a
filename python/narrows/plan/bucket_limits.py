"""What `tc` takes of a shaper's buckets, which depends on the rate."""

from narrows.spec.base import SpecObject
from narrows.spec.shapers import Shaper, tbf
from narrows.tc.limit import U32
from narrows.tc.place import TICK_NS
from narrows.units import Duration, Rate

BUCKET_NS = 2**32 * TICK_NS
"""tc says a bucket as its time at the rate, in ticks, in 32 bits: 274.9 s."""
TBF_DEFAULT_LATENCY = Duration(50_000_000)
"""tc asks for a limit or a latency, but the queue under the shaper, not TBF's own, is what holds packets."""


def check(shaper: Shaper, rate: Rate, ceil: Rate, burst_bytes: int | None, cburst_bytes: int | None) -> None:
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
        _check_bucket(shaper, "mtu", shaper["mtu"].bytes, shaper["peakrate"])


def _check_bucket(part: SpecObject, name: str, bucket_bytes: int, rate: Rate) -> None:
    """A rate below what can be calibrated is refused as such, elsewhere."""
    if rate.bps >= 1000 and bucket_bytes * 8 * 10**9 > BUCKET_NS * rate.bps:
        most = BUCKET_NS * rate.bps // (8 * 10**9)
        part.fail(f"{name}: {bucket_bytes} bytes take over 274 s at {rate}", f'at most "{most} B"')
