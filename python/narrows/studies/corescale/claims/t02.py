from narrows.judging.parts import Mark, Share, percent
from narrows.studies.corescale.claims.measures import CORE, EDGE, Flows, conditions, of_flows
from narrows.studies.corescale.claims.t01 import MIN_FLOWS

MAX_GOOD_ERROR = 0.10
MIN_BAD_ERROR = 0.45
LOSSES = Share("error on losses", read=of_flows("mathis_on_losses", "median_error"))
HALVINGS = Share("error on halvings", read=of_flows("mathis_on_halvings", "median_error"))
GOOD = f"at most {percent(MAX_GOOD_ERROR)}"
judge = Flows(
    "T2",
    "Median prediction error at Core at most 10 % on halvings, 45 to 55 % on loss; both below 10 % at Edge",
    "Figure 3.2",
    "t01_mathis_constant.py",
    items=conditions(lambda case: case.ccas == ("reno",) and case.flows >= MIN_FLOWS),
    measures=(LOSSES, HALVINGS),
    marks=(
        Mark(f"on halvings {GOOD}", HALVINGS.name, most=MAX_GOOD_ERROR, where={"scale": ("edge", "core")}),
        Mark(f"on losses at Edge {GOOD}", LOSSES.name, most=MAX_GOOD_ERROR, where=EDGE),
        Mark(f"on losses at Core {percent(MIN_BAD_ERROR)} and more", LOSSES.name, MIN_BAD_ERROR, where=CORE),
    ),
    decided_by={"quantity": (LOSSES.name, HALVINGS.name)},
)
