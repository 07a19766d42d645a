"""T6: one BBR flow takes 40 % from thousands of NewReno or CUBIC flows."""

from __future__ import annotations

from narrows.claims.shares_of import ShareClaim
from narrows.claims.verdict import Claim

LOW, HIGH = 0.3, 0.5  # "40 %"

CLAIM = Claim(
    "T6",
    "One BBR flow takes 40 % against thousands of NewReno or CUBIC",
    "Figures 3.6 and 3.7",
    "t06_one_bbr_against_many.py",
)

judge = ShareClaim(CLAIM, "bbr", ("reno", "cubic"), lambda case: case.count("bbr") == 1, LOW, HIGH).judge
