from narrows.judging.parts import Mark, Measure, Share, over, percent, quantity
from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.measures import WAYS, AtHome, on

AT_PEAKS = 0.9
SPIKE = 1.2  # over the rate, in the fullest 10 ms


def near_peak(run: Observed) -> float | None:
    """The part of the drops that come within a tenth of the longest delay."""
    return quantity("dropped_near_peak_share", f"isp {run.key['way']}")(run)


def spike(run: Observed) -> float | None:
    """What leaves in the fullest 10 ms, over the rate."""
    way = run.key["way"]
    return over(quantity("largest_10ms_bps", f"isp {way}"), lambda of: of.rate_bps(way))(run)


NEAR = Share("drops within 10 % of the longest delay", read=near_peak)
FULLEST = Measure("fullest 10 ms over the rate", "1", spike)
judge = AtHome(
    "L12",
    "Drops in the remote FIFO come at the latency's peaks, with throughput spikes",
    "Fig. 6",
    "l12_drops.py",
    by=("way",),
    where=on(WAYS, cca="cubic", home="remote"),
    measures=(NEAR, FULLEST),
    whole=("way",),
    marks=(
        Mark(f"{percent(AT_PEAKS)} of the drops and more come at the peaks", NEAR.name, AT_PEAKS),
        Mark(f"the fullest 10 ms have {SPIKE:g} times the rate and more", FULLEST.name, SPIKE),
    ),
    under="FTTC 30/10, bulk, CUBIC, remote; what spikes in such a figure is what TCP hands on once a gap is "
    "filled, not what leaves the bottleneck",
)
