from narrows.studies.corescale.claims.measures import share

LOW, HIGH = 0.7, 0.8
judge = share(
    "T8",
    "As many CUBIC as NewReno: CUBIC takes 70 to 80 %",
    "Figure 3.5",
    "t08_cubic_against_newreno.py",
    cca="cubic",
    against=("reno",),
    wanted=lambda case: 2 * case.count("cubic") == case.flows,
    low=LOW,
    high=HIGH,
)
