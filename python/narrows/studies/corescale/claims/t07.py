from narrows.studies.corescale.claims.measures import share

LOW, HIGH = 0.99, 1.0  # "up to 99.9 %"
judge = share(
    "T7",
    "As many BBR as NewReno or CUBIC: BBR takes 99.9 %",
    "Figure 3.8",
    "t07_bbr_against_as_many.py",
    cca="bbr",
    against=("reno", "cubic"),
    wanted=lambda case: 2 * case.count("bbr") == case.flows > 2,
    low=LOW,
    high=HIGH,
    tells_drain=True,
)
