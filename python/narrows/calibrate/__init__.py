"""The calibrator: every speed test on the same scenarios and seeds, and how far each is from the truth.

`scenario` finds or writes the experiment file, `readings` says what a tool's figures mean, `scores` keeps
every metric of every run, `compare` holds readings against truth, `figures` and `page` show it. `rounds`
repeats runs until a confidence interval is narrow enough. Nothing here prints.
"""
