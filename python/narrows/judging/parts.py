"""Everything that the file of a claim is written with."""

from narrows.judging.items import Item, Items, Read, figure, good, grouped, of_runs, over, quantity
from narrows.judging.judge import Group, Judge, Measure, Share, Words, all_of, fold, one
from narrows.judging.marks import Condition, Mark, Numbers
from narrows.judging.verdict import (
    Claim,
    Number,
    Statistic,
    Verdict,
    Where,
    Word,
    fits,
    median_of,
    plain_of,
    std_of,
)
from narrows.judging.words import conditions, number, percent, spelt

__all__ = [
    "Claim", "Condition", "Group", "Item", "Items", "Judge", "Mark", "Measure", "Number", "Numbers", "Read",
    "Share", "Statistic", "Verdict", "Where", "Word", "Words", "all_of", "conditions", "figure", "fits",
    "fold", "good", "grouped", "median_of", "number", "of_runs", "one", "over", "percent", "plain_of",
    "quantity", "spelt", "std_of",
]  # fmt: skip
