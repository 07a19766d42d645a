"""Both ends of a path: what the Rust core says of the log of a sender beside that of a receiver."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from narrows.errors import EngineError, NarrowsError
from narrows.paths import binary


@dataclass(frozen=True)
class Between:
    """What happened to the data segments of the address that sent most payload. Times are in nanoseconds.

    `sent`: within the time that both logs cover; the rest of the sender's is `outside`. `unmatched`: only
    the receiver's log has them. `reordered`: arrived after one that was sent later (RFC 4737).
    `least_delay_ns`: the one-way delay and how far the two clocks are apart. `delay_variation_p99_ns`: the
    99th percentile less the least. `jitter_ns`: mean absolute difference of the delays of segments that
    arrive one after another (RFC 5481). `same_by`: what the same segments agree in beside sequence number,
    length and timestamp; without ports or identification a NAT changed them.
    """

    sent: int
    arrived: int
    lost: int
    outside: int
    unmatched: int
    reordered: int
    least_delay_ns: int | None
    delay_variation_p99_ns: int | None
    jitter_ns: int | None
    same_by: str


def compare(sender: str | Path, receiver: str | Path) -> Between:
    """Raises NarrowsError where the two are not of the same packets."""
    command = [str(binary.find()), "ends", str(sender), str(receiver)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        raise EngineError(f"narrows-paths failed: {done.stderr.strip()}", remedy=binary.REMEDY)
    said = json.loads(done.stdout)
    if "error" in said:
        error = said["error"]
        raise NarrowsError(error["message"], where=error["where"] or None, remedy=error["remedy"] or None)
    return Between(**said["between"])
