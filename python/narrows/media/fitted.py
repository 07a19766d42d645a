"""A model of a measured link: its seconds drawn again, so that what follows what is as it was.

The trace is cut into whole seconds, each of a level by what it could carry. After a second comes one that
came after a second of the same level in the trace, drawn from a seed. So gaps inside a second and its tenths
are those of the trace, and how long a level lasts is as there; what takes longer is not kept.
"""

import bisect
import itertools
from collections import defaultdict
from collections.abc import Sequence

from narrows.media import draws
from narrows.units import NS_PER_S

At = Sequence[tuple[int, int]]
"""Times in nanoseconds, each with the bytes that could be sent then."""
LEVELS = 12
LEAST_SECONDS = 10


def seconds(at: At, length_ns: int) -> list[list[tuple[int, int]]]:
    """The opportunities of each whole second, their times within it."""
    cut: list[list[tuple[int, int]]] = [[] for _ in range(length_ns // NS_PER_S)]
    for at_ns, size in at:
        second, within_ns = divmod(at_ns, NS_PER_S)
        if second < len(cut):
            cut[second].append((within_ns, size))
    return cut


def drawn(at: At, length_ns: int, count: int, seed: int) -> list[tuple[int, int]]:
    """So many seconds of a link like the trace."""
    known = seconds(at, length_ns)
    carried = [sum(size for _, size in each) for each in known]
    ordered = sorted(carried)
    edges = sorted({ordered[len(ordered) * n // LEVELS] for n in range(1, LEVELS)})
    levels = [bisect.bisect_right(edges, each) for each in carried]
    following: dict[int, list[int]] = defaultdict(list)
    # The first second comes after the last, as the trace begins again.
    for n, level in enumerate(levels):
        following[level].append((n + 1) % len(known))
    draw = draws.of("fitted", seed)
    now = draw.randrange(len(known))
    made = []
    for second in range(count):
        made += [(second * NS_PER_S + within_ns, size) for within_ns, size in known[now]]
        now = draw.choice(following[levels[now]])
    return made


def gaps(at: At) -> list[int]:
    """Nanoseconds from one time with an opportunity to the next."""
    times = sorted({at_ns for at_ns, size in at if size})
    return [later - earlier for earlier, later in itertools.pairwise(times)]


def capacities(at: At, length_ns: int, bin_ns: int) -> list[int]:
    """What each whole bin could carry, in bit/s."""
    sums = [0] * (length_ns // bin_ns)
    for at_ns, size in at:
        if at_ns // bin_ns < len(sums):
            sums[at_ns // bin_ns] += size
    return [each * 8 * NS_PER_S // bin_ns for each in sums]
