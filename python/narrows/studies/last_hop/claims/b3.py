from narrows.judging.parts import Mark, percent
from narrows.studies.last_hop.claims.measures import MET_P95, USED, LastHop
from narrows.studies.last_hop.testbed import MEDIA

PART = 0.9
judge = LastHop(
    "B3",
    "CUBIC and BBR fill a link of turns, aggregates and gaps as they fill one with a rate",
    "draft-ietf-ccwg-bbr, section 5.5.9 (acknowledgements that come in aggregates); RFC 9438",
    "b2_flows.py",
    by=("flow", "medium", "place"),
    measures=(USED, MET_P95),
    marks=(
        Mark(
            f"at least {percent(PART)} of what they use on a rate", least=PART,
            where={"medium": tuple(MEDIA)}, against={"medium": "rate"},
        ),
    ),
    decided_by={"quantity": USED.name},
)  # fmt: skip
