"""Bufferbloat grade: how much round trips grow while a connection is full, as a letter.

Definition (DSLReports, FAQ 17930, which other tests took over): the mean of the increases while the download
and while the upload run; below 5 ms A+, below 30 A, below 60 B, below 200 C, below 400 D, else F. The text
does not say of which quantile: here the increase is from the median at rest to the median under load.

Unit: steps from 0 (F) to 5 (A+), so that grades can be ranked. Inputs in ms.
"""

import bisect

import numpy as np

from narrows.metrics.statistics.arrays import Values, clean

VERSION = "DSLReports FAQ 17930, medians"
BELOW_MS = (5.0, 30.0, 60.0, 200.0, 400.0)
GRADES = ("F", "D", "C", "B", "A", "A+")


def grade(idle_ms: Values, down_ms: Values, up_ms: Values) -> int | None:
    """The step of the grade, of which `GRADES` has the letter; None where one of the three has no sample."""
    idle, down, up = clean(idle_ms), clean(down_ms), clean(up_ms)
    if not (idle.size and down.size and up.size):
        return None
    increase = (float(np.median(down)) + float(np.median(up))) / 2 - float(np.median(idle))
    return len(BELOW_MS) - bisect.bisect_right(BELOW_MS, increase)
