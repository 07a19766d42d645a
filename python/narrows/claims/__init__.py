"""Claims: the verdict on each numbered claim of the paper, computed from stored runs only, one claim per
file.

Each file has `CLAIM` (what the paper says, where) and `judge(runs)`, a pure function. Pass marks are
constants of that file and stand in the experiment of the same number too; a mark is never moved to make a
claim hold.
"""
