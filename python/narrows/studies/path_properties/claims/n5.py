from functools import cache

from narrows.judging.parts import Item, Judge, Mark, Measure, Number, good, percent
from narrows.paths.busy_hours import SHIFTS_MS, busy_hours
from narrows.studies.path_properties.population import sessions

FALSE_ALARMS = 0.05
POWER = 0.8
POPULATIONS = 20
QUIET = (500, 2_000)
"""Sessions of the quiet window; a twelfth of all is there."""
FALSE, FOUND, RUNS = "false alarms", "found", "runs"
EXPERIMENT = "n1_conditions.py"
ADDED_MS = (0.0, 10.0, 20.0, 50.0, 100.0)


def _shares(added_ms: float, quiet: int) -> list[Number]:
    """In which share of populations some shift is significant, without a correction and with Holm's."""
    hits = {False: 0, True: 0}
    for seed in range(POPULATIONS):
        tests = busy_hours(sessions(seed, quiet * 13, busy_ms=added_ms), least_quiet=1)
        hits[False] += any(test.significant for test in tests)
        hits[True] += any(test.significant_holm for test in tests)
    return [
        Number(
            FALSE if added_ms < SHIFTS_MS[0] else FOUND,
            "1",
            count / POPULATIONS,
            POPULATIONS,
            {
                "added": f"{added_ms:g}ms",
                "quiet sessions": str(quiet),
                "correction": "Holm" if holm else "none",
            },
            percent=True,
        )
        for holm, count in hits.items()
    ]


@cache
def shares() -> tuple[Number, ...]:
    """For each size of the quiet window and each delay that busy hours add."""
    return tuple(n for quiet in QUIET for added in ADDED_MS for n in _shares(added, quiet))


# What is tested is "more than": at the shift itself nothing is to be found.
FOUND_MS = tuple(f"{added:g}ms" for added in ADDED_MS if added > SHIFTS_MS[0])
judge = Judge(
    "N5",
    "One-sided Mann–Whitney U tests of busy against quiet three-hour windows, shifted by 10 to 100 ms, p < "
    "0.05, with at least 500 quiet sessions, find where busy hours add delay",
    "section 5.5.4",
    EXPERIMENT,
    by=(),
    # That there are runs of the study; they have no part in it.
    items=lambda runs: [Item(1.0, {}, ()) for _ in good(runs, EXPERIMENT)],
    measures=(Measure(RUNS, "1", float),),
    derive=lambda found: shares() if found else (),
    hidden=(RUNS,),
    marks=(
        Mark(f"false alarms in {percent(FALSE_ALARMS)} at most", FALSE, most=FALSE_ALARMS),
        Mark(f"found in {percent(POWER)} and more", FOUND, POWER, where={"added": FOUND_MS}),
    ),
    under=f"{POPULATIONS} made-up populations each; delays log-normal, median 80 ms, third quartile 200 ms",
)
