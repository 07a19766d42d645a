"""Does one short dip of a full queue end it ten seconds later?

Where the queue of many BBR flows stays full for minutes and then drains (the README of this study), it had
dipped deeper than ever ten seconds before, in every run. If that dip is the cause, and not only a sign,
then one that we make must do the same: here the bottleneck sends faster for 50 ms, two minutes after the
start, by more or by less. All flows then see a lower RTT than ever at the same moment, so their windows
of ten seconds end at the same moment.
"""

from narrows.spec import Dumbbell, axis, bfifo, bulk, pair
from narrows.studies.corescale.testbed import counted

PULSES = {"none": 1, "x1.18": 1.18, "x1.25": 1.25, "x1.5": 1.5}


def at(*of_each: object) -> object:
    return axis("rate", dict(zip(("1Gbit", "10Gbit"), of_each, strict=True)))


def pulses(gbit: int) -> object:
    return axis("pulse", {name: f"{gbit * factor:g} Gbit/s" for name, factor in PULSES.items()})


rate = at("1 Gbit/s", "10 Gbit/s")
link = Dumbbell(rate=rate, queue=bfifo(limit=at("37.5 MB", "375 MB")), pairs=[pair("20 ms")])
link.at("120 s", rate=at(pulses(1), pulses(10)))
link.at("120.05 s", rate=rate)

half, duration = at(250, 500), at("200 s", "160 s")
against = axis("against", ["bbr", "reno"])
bbr = bulk(cca="bbr", flows=half, start_spread="30 s", duration=duration)
others = bulk(cca=against, flows=half, start_spread="30 s", duration=duration)
counted("40 s", 3, "1 s")
