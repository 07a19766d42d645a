"""T7: as many BBR as NewReno or CUBIC flows: BBR takes 99.9 %."""

from narrows.judging.verdict import Claim
from narrows.studies.corescale.claims.measures import share

LOW, HIGH = 0.99, 1.0  # "up to 99.9 %"
CLAIM = Claim(
    "T7",
    "As many BBR as NewReno or CUBIC: BBR takes 99.9 %",
    "Figure 3.8",
    "t07_bbr_against_as_many.py",
    {"quantity": "share of bbr"},
)
judge = share(
    CLAIM, "bbr", ("reno", "cubic"), lambda case: 2 * case.count("bbr") == case.flows > 2, LOW, HIGH,
    tells_drain=True,
)  # fmt: skip
