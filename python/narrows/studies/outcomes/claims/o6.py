from narrows.judging.parts import Mark
from narrows.studies.outcomes.claims.measures import Outcomes, thresholds

NEAR = 2.0
judge = Outcomes(
    "O6",
    "IQB's thresholds stand where services break",
    "m-lab/iqb, default configuration: a survey of experts",
    derive=thresholds,
    marks=(Mark(f"within a factor of {NEAR:g} of where it breaks", "threshold over break", 1 / NEAR, NEAR),),
    count_by="service",
)
