"""Which frames of the camera were shown at the other end, when, how large, and how like.

The number in the picture counts 240 frames and begins again: a frame that is shown is the last one of its
number that was taken before. The end that sends may stop first, and what is shown a little later has numbers
whose last frames its log does not have: of these nothing is said.
"""

from bisect import bisect_right
from itertools import pairwise
from typing import Any

from narrows.store.parsers.common import Parsed
from narrows.tools.services.parse import ClientLog

AGAIN_MS = 8000.0
"""After so long the camera's numbers begin again."""


def frames(parsed: Parsed, way: str, receiver: ClientLog, sender: ClientLog) -> None:
    """Delays, likeness, and when the whole picture was there first."""
    shown = _of(receiver, "shown")
    taken: dict[int, list[float]] = {}
    for number, at_ms in _of(sender, "taken"):
        if number is not None:
            taken.setdefault(number, []).append(at_ms)
    times, delays, last = [], [], max((times[-1] for times in taken.values()), default=0.0)
    for number, at_ms, _ in shown:
        before = taken.get(number, []) if number is not None else []
        place = bisect_right(before, at_ms)
        if place and not last < before[place - 1] + AGAIN_MS <= at_ms:
            times.append(receiver.t_ns(at_ms))
            delays.append(at_ms - before[place - 1])
    parsed.add("call_frame_delay", "ms", times, delays, direction=way)
    ordered = sorted(delays)
    for share, name in ((0.5, "call_frame_delay_p50_ms"), (0.95, "call_frame_delay_p95_ms")):
        if ordered:
            parsed.figure(name, ordered[min(len(ordered) - 1, int(share * len(ordered)))], "ms", way)
    _whole(parsed, way, shown, receiver)
    _longest_gap(parsed, way, shown, receiver)
    quality = receiver.of("quality")
    parsed.add(
        "call_ssim", "1", receiver.times(quality), [each["ssim"] for each in quality], direction=way,
    )  # fmt: skip
    if quality:
        parsed.figure("call_ssim", sum(each["ssim"] for each in quality) / len(quality), "1", way)


def _whole(parsed: Parsed, way: str, shown: list[Any], receiver: ClientLog) -> None:
    """How long after the first frame one had all the camera's lines."""
    cameras = [each["height"] for each in receiver.of("camera")]
    whole = [at_ms for _, at_ms, lines in shown if cameras and lines == cameras[0]]
    if whole:
        parsed.figure("call_whole_after_ms", min(whole) - shown[0][1], "ms", way)


def _longest_gap(parsed: Parsed, way: str, shown: list[Any], receiver: ClientLog) -> None:
    """The longest time between two frames, and from the last one to the end: a picture that stands still for
    good is no freeze by W3C's count, which waits for the next frame."""
    ends = [line["at_ms"] for line in receiver.of("frames")]
    times = [at_ms for _, at_ms, _ in shown]
    if times and ends:
        gaps = [b - a for a, b in pairwise([*times, max(times[-1], ends[-1])])]
        parsed.figure("call_longest_gap_ms", max(gaps), "ms", way)


def _of(log: ClientLog, what: str) -> list[Any]:
    return sorted((each for line in log.of("frames") for each in line[what]), key=lambda each: each[1])
