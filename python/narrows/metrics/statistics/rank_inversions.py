"""Rank inversions: pairs of conditions that a reading orders the other way round than the truth.

Definition: of all pairs of conditions whose truths differ by more than `truth_resolution`, those whose
readings differ by more than `reading_resolution` in the other direction are inverted, and those whose
readings do not differ by more are tied. With `opposite` the reading grows when the truth shrinks (RPM
against delay). share = inverted / pairs. A pair whose truths are the same to the resolution has no right
order and is not counted. Kendall's tau of the counted pairs is (concordant - inverted) / pairs.

Give the half width of the confidence intervals as resolution, else noise is counted as order.

Unit: pairs. Source: M. G. Kendall, "A new measure of rank correlation" (1938), for discordant pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from narrows.metrics.statistics.arrays import Values, raw


@dataclass(frozen=True)
class Inversions:
    """Counts of pairs, and which are inverted: (the one with the smaller truth, the one with the larger)."""

    pairs: int
    inverted: int
    tied: int
    conditions: int
    which: list[tuple[str, str]] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Inverted over counted pairs."""
        return self.inverted / self.pairs

    @property
    def tau(self) -> float:
        """Kendall's tau over the counted pairs; tied ones count as neither."""
        return (self.pairs - self.tied - 2 * self.inverted) / self.pairs


def rank_inversions(
    truth: Values,
    reading: Values,
    names: Sequence[str] | None = None,
    truth_resolution: float = 0.0,
    reading_resolution: float = 0.0,
    opposite: bool = False,
) -> Inversions | None:
    """Takes a truth and a reading per condition; one without either is left out; None without pairs."""
    true, read = raw(truth), raw(reading)
    labels = [str(k) for k in range(true.size)] if names is None else list(names)
    if not true.size == read.size == len(labels):
        raise ValueError(f"{true.size} truths, {read.size} readings, {len(labels)} names: each needs all")
    if truth_resolution < 0 or reading_resolution < 0:
        raise ValueError("a resolution is below zero")
    present = np.flatnonzero(~(np.isnan(true) | np.isnan(read)))
    true, read = true[present], -read[present] if opposite else read[present]
    more_true = true[None, :] - true[:, None] > truth_resolution  # [i, j]: j is truly more than i
    pairs = int(np.count_nonzero(more_true))
    if pairs == 0:
        return None
    step = read[None, :] - read[:, None]
    wrong = more_true & (step < -reading_resolution)
    tied = more_true & (np.abs(step) <= reading_resolution)
    which = [(labels[present[i]], labels[present[j]]) for i, j in np.argwhere(wrong)]
    return Inversions(pairs, len(which), int(np.count_nonzero(tied)), int(present.size), which)
