from narrows.studies.corescale.claims.measures import share

LOW, HIGH = 0.3, 0.5  # "40 %"
judge = share(
    "T6",
    "One BBR flow takes 40 % against thousands of NewReno or CUBIC",
    "Figures 3.6 and 3.7",
    "t06_one_bbr_against_many.py",
    cca="bbr",
    against=("reno", "cubic"),
    wanted=lambda case: case.count("bbr") == 1 and case.flows > 2,
    low=LOW,
    high=HIGH,
)
