from narrows.judging.parts import Mark, Share, percent
from narrows.studies.whatif.claims.measures import OURS, WhatIf, cannot, mean

MOST = 0.3
OF = Share("changes that it cannot answer", read=cannot, take=mean)
MARK = Mark(f"at most {percent(MOST)}", most=MOST)
judge = WhatIf("W6", "Few captures cannot answer", *OURS, where={}, measures=(OF,), marks=(MARK,))
