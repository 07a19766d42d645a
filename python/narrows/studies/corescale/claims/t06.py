"""T6: one BBR flow takes 40 % from thousands of NewReno or CUBIC flows."""

from narrows.judging.verdict import Claim
from narrows.studies.corescale.claims.measures import share

LOW, HIGH = 0.3, 0.5  # "40 %"
CLAIM = Claim(
    "T6",
    "One BBR flow takes 40 % against thousands of NewReno or CUBIC",
    "Figures 3.6 and 3.7",
    "t06_one_bbr_against_many.py",
    {"quantity": "share of bbr"},
)
judge = share(
    CLAIM, "bbr", ("reno", "cubic"), lambda case: case.count("bbr") == 1 and case.flows > 2, LOW, HIGH
)
