"""N5: busy hours add to the peak queueing delay of some countries and networks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from narrows.paths.busy_hours import SHIFTS_MS, busy_hours
from narrows.runs.observed import Observed
from narrows.studies.path_properties.population import sessions
from narrows.judging.verdict import Claim, Number, Verdict, graded, not_measured

FALSE_ALARMS = 0.05
POWER = 0.8
POPULATIONS = 20
QUIET = (500, 2_000)
"""Sessions of the quiet window; a twelfth of all is there."""
ADDED_MS = (0.0, 10.0, 20.0, 50.0, 100.0)

CLAIM = Claim(
    "N5",
    "One-sided Mann–Whitney U tests of busy against quiet three-hour windows, shifted by 10 to 100 ms, p < "
    "0.05, with at least 500 quiet sessions, find where busy hours add delay",
    "section 5.5.4",
    "n1_conditions.py",
    "",
)


def _shares(added_ms: float, quiet: int) -> list[Number]:
    """In which share of populations some shift is significant, without a correction and with Holm's."""
    hits = {False: 0, True: 0}
    for seed in range(POPULATIONS):
        tests = busy_hours(sessions(seed, quiet * 13, busy_ms=added_ms), least_quiet=1)
        hits[False] += any(test.significant for test in tests)
        hits[True] += any(test.significant_holm for test in tests)
    return [
        Number(
            "false alarms" if added_ms < SHIFTS_MS[0] else "found",
            "1",
            count / POPULATIONS,
            POPULATIONS,
            f"{added_ms:g} ms added, {quiet} quiet sessions, {'Holm' if holm else 'no correction'}",
        )
        for holm, count in hits.items()
    ]


@cache
def shares() -> tuple[Number, ...]:
    """For each size of the quiet window and each delay that busy hours add."""
    return tuple(n for quiet in QUIET for added in ADDED_MS for n in _shares(added, quiet))


def judge(runs: Iterable[Observed]) -> Verdict:
    """Of made-up populations: how often a delay that is there is found, and one that is not."""
    if not any(run.ok and run.experiment == CLAIM.name for run in runs):
        return not_measured(CLAIM, "no runs of the study")
    numbers = shares()
    marks = {}
    for number in numbers:
        added = float(number.conditions.partition(" ")[0])
        if added != SHIFTS_MS[0]:  # what is tested is "more than": at the shift itself nothing is to be found
            marks[number.conditions] = (
                number.value <= FALSE_ALARMS if added < SHIFTS_MS[0] else number.value >= POWER
            )
    wrong = [name for name, right in marks.items() if not right]
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"false alarms in at most {FALSE_ALARMS:.0%} and found in at least {POWER:.0%} of populations, but "
        f"for: {'; '.join(wrong) or 'none'}",
        numbers,
        f"{POPULATIONS} made-up populations each; delays log-normal, median 80 ms, third quartile 200 ms",
        (),
    )
