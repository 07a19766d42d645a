"""Draws of a schedule: equal for equal words on every machine."""

import bisect
import random
from collections.abc import Callable, Sequence


def of(*words: object) -> random.Random:
    """A generator of its own for a medium, seed and way."""
    return random.Random(" ".join(("narrows", *map(str, words))))


def rate_at(steps: Sequence[tuple[int, int]]) -> Callable[[int], int]:
    """What a rate that moves is at a time: steps of nanoseconds and bit/s, the first at 0."""
    times = [at_ns for at_ns, _ in steps]
    return lambda at_ns: steps[bisect.bisect_right(times, at_ns) - 1][1]
