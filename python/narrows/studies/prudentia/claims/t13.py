from collections.abc import Iterator, Mapping

from narrows.judging.parts import Mark, Measure, Number, Numbers
from narrows.studies.prudentia.claims.measures import NOBODY, Paired, figure, of_trials
from narrows.studies.prudentia.testbed import PROGRAMS, RIVALS

RATE = "8Mbit"
MUCH = 0.1
"""A part of its lines or frames alone: who has that much less has given them up."""
FREEZES = 2.0
"""A minute, more than alone: who has them has given up smoothness."""
TRIED = {"beside": (NOBODY, *RIVALS)}
LINES = Measure("lines", "1", figure("call_height", "down"), TRIED)
FRAMES = Measure("frames a second", "1/s", figure("call_frame_rate", "down"), TRIED)
FROZE = Measure("freezes a minute", "1/min", figure("call_freezes_per_min", "down"), TRIED)
WAYS = "different things that programs give up"


def given_up(alone: Mapping[str, float], beside: Mapping[str, float]) -> frozenset[str]:
    """Which of the three a call has less of beside a rival."""
    return frozenset(
        what
        for what in alone.keys() & beside.keys()
        if (
            beside[what] - alone[what] > FREEZES
            if what == FROZE.name
            else beside[what] < (1 - MUCH) * alone[what]
        )
    )


def ways(found: Numbers) -> Iterator[Number]:
    """Beside each rival that two programs met: in how many ways they give up something."""
    medians: dict[tuple[str, str], dict[str, float]] = {}
    for each in found:
        place = each.conditions["service"], each.conditions["beside"]
        medians.setdefault(place, {})[each.name] = each.value
    for rival in RIVALS:
        lost = [
            given_up(medians[program, NOBODY], medians[program, rival])
            for program in PROGRAMS
            if (program, NOBODY) in medians and (program, rival) in medians
        ]
        if len(lost) > 1:
            yield Number(WAYS, "1", float(len(set(lost))), len(lost), {"beside": rival})


judge = Paired(
    "T13",
    "calls trade resolution, frame rate and freezes differently under contention",
    "section 4.3.1, Fig. 4.5, Table 4.2",
    "t13_calls.py",
    items=lambda runs: of_trials(runs, PROGRAMS),
    where={"rate": RATE},
    measures=(LINES, FRAMES, FROZE),
    derive=ways,
    hidden=(WAYS,),
    marks=(Mark("programs give up different things", WAYS, 2),),
    under="",
    decided_by={"beside": RIVALS},
)
