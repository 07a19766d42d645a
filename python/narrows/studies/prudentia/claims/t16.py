from collections.abc import Iterator

from narrows.judging.parts import Mark, Measure, Number, Numbers, all_of, one
from narrows.studies.prudentia.claims.measures import NOBODY, RATES, Paired, figure, of_trials
from narrows.studies.prudentia.testbed import PAGES, RIVALS

LONGER = {"8Mbit": 3.0, "50Mbit": 2.0}
NEARLY = 0.8
"""So much of the claimed factor counts."""
HARDLY = 1.5
TIME = Measure("time until 95 % is painted", "ms", figure("page_visual_ms"), {"beside": (NOBODY, *RIVALS)})
MOST, BBR_OVER_LEAST = "times as long as alone at most", "beside BBR over the least"


def longer(found: Numbers) -> Iterator[Number]:
    """By how much rivals lengthen a page, over being alone."""
    for rate in RATES:
        for page in PAGES:
            alone = one(found, TIME.name, rate=rate, service=page, beside=NOBODY)
            times = {
                each.conditions["beside"]: each.value / alone.value
                for each in all_of(found, TIME.name, rate=rate, service=page)
                if alone is not None and each is not alone
            }
            under = {"rate": rate, "service": page}
            if times:
                yield Number(MOST, "1", max(times.values()), len(times), under)
            if len(times) > 1 and "bbr" in times:
                yield Number(BBR_OVER_LEAST, "1", times["bbr"] / min(times.values()), len(times), under)


judge = Paired(
    "T16",
    "page load times double at 50 Mbit/s and triple at 8 under contention (8 to 21 s for the page of many "
    "pictures; the text page hardly moves; BBR hurts least)",
    "section 4.3.3, Fig. 4.6",
    "t16_pages.py",
    items=lambda runs: of_trials(runs, PAGES),
    measures=(TIME,),
    derive=longer,
    hidden=(MOST, BBR_OVER_LEAST),
    shows=lambda found: [each for each in found if not each.at({"beside": NOBODY})],
    marks=(
        *(
            Mark(
                f"pictures take {NEARLY * factor:.2g} times as long and more", MOST, NEARLY * factor,
                where={"rate": rate, "service": "pictures"},
            )
            for rate, factor in LONGER.items()
        ),
        Mark(f"text takes {HARDLY:g} times as long at most", MOST, most=HARDLY, where={"service": "text"}),
        Mark("BBR hurts least", BBR_OVER_LEAST, most=1, where={"service": "pictures"}),
    ),
    under="",
)  # fmt: skip
