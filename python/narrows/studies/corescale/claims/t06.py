"""T6: one BBR flow takes 40 % from thousands of NewReno or CUBIC flows."""

from __future__ import annotations

from narrows.judging.verdict import Claim
from narrows.studies.corescale.case import Case
from narrows.studies.corescale.claims.shares_of import ShareClaim

LOW, HIGH = 0.3, 0.5  # "40 %"

CLAIM = Claim(
    "T6",
    "One BBR flow takes 40 % against thousands of NewReno or CUBIC",
    "Figures 3.6 and 3.7",
    "t06_one_bbr_against_many.py",
    {"quantity": "share of bbr"},
)


def _is_one_against_many(case: Case) -> bool:
    return case.count("bbr") == 1 and case.flows > 2


judge = ShareClaim(CLAIM, "bbr", ("reno", "cubic"), _is_one_against_many, LOW, HIGH).judge
