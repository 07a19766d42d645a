from narrows.judging.parts import Mark
from narrows.studies.quic.claims.measures import BESIDE, SHARES, OfShares

judge = OfShares(
    "Q8",
    "One queue for each flow gives everybody a fair share, whatever control it has",
    "RFC 8290, section 1",
    SHARES,
    where=BESIDE | {"queue": ("fq_codel", "cake")},
    marks=(Mark("90 to 110 % of its fair rate", least=0.9, most=1.1),),
)
