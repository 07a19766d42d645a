from collections.abc import Iterator, Sequence

from narrows.judging.parts import Item, Judge, Mark, Number, Numbers, all_of, conditions, one, percent
from narrows.studies.operator.claims.c1 import by_value
from narrows.studies.operator.claims.measures import FILLED

GOOD = 0.95  # of the largest payload rate that the shaper allows
BEFORE = {"queue": "fifo"}
SETTING = ("connections", "omit", "duration")
LOST = "settings that are good with the FIFO and no longer are"


def lost(found: Numbers) -> Iterator[Number]:
    """For each base RTT and AQM: how many of the settings that both were tried with."""
    settings: dict[tuple[tuple[str, str], ...], dict[str, bool]] = {}
    for now in all_of(found, FILLED.name):
        before = one(found, FILLED.name, **{**now.conditions, **BEFORE})
        if before is not None and before is not now:
            place, setting = (
                {axis: label for axis, label in now.conditions.items() if (axis in SETTING) is inside}
                for inside in (False, True)
            )
            tried = settings.setdefault(tuple(place.items()), {})
            tried[conditions(setting)] = before.value >= GOOD > now.value
    for of, tried in settings.items():
        gone = [setting for setting, is_lost in tried.items() if is_lost]
        under = dict(of) | ({"no longer good": " / ".join(gone)} if gone else {})
        yield Number(LOST, "1", float(len(gone)), len(tried), under)


def cause(_: Sequence[Item], found: Numbers) -> str:
    """Which settings these are."""
    lost_by = [each for each in all_of(found, LOST) if each.value]
    return "; ".join(conditions(each.conditions) for each in lost_by)


judge = Judge(
    "C4",
    "Parallel connections, omit time and duration must be re-tuned when the AQM changes",
    "slide 10",
    "c4_parameters.py",
    by=("base_rtt", "queue", "connections", "omit", "duration"),
    measures=(FILLED,),
    derive=lost,
    hidden=(LOST,),
    shows=by_value,
    marks=(Mark(f"some setting that read {percent(GOOD)} with the FIFO no longer does", LOST, 1),),
    under="20 Mbit/s, a FIFO of 50 ms",
    cause=cause,
)
