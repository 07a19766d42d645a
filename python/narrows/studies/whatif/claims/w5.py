from narrows.studies.whatif.claims.measures import often, sure_and_wrong

judge = often(
    "W5",
    "What-if is hardly ever sure of what points the other way",
    "sure and wrong",
    sure_and_wrong,
    most=0.03,
)
