"""The ledger at a glance: a row for each study, in it a tile for each claim in the colour of its verdict."""

from collections.abc import Sequence

from matplotlib.patches import Patch

from narrows.figures.drawing import Drawing, count_runs
from narrows.figures.style import COLUMN_IN, canvas, legend, styled
from narrows.judging.verdict import Verdict
from narrows.studies.find import all_claims

COLOURS = {"holds": "#d3f0e2", "holds in part": "#fdf0c8", "does not hold here": "#fbd9d0"}
"""Pale, so that a claim's name is read on them, and on what a dark page makes of them."""
UNDECIDED = "#e6e6e6"
MOST_ACROSS = 9
INCHES_A_ROW = 0.2


def picture(verdicts: Sequence[Verdict]) -> Drawing:
    """Of each study those that hold come first; a study with many claims has several rows."""
    words = list(dict.fromkeys((*COLOURS, *(v.verdict for v in verdicts))))
    rows: list[tuple[str, Sequence[Verdict]]] = []
    for study in dict.fromkeys(all_claims()[v.claim.id][0] for v in verdicts):
        own = [v for v in verdicts if all_claims()[v.claim.id][0] == study]
        own.sort(key=lambda v: words.index(v.verdict))
        starts = range(0, len(own), MOST_ACROSS)
        rows += [("" if at else study.replace("_", " "), own[at : at + MOST_ACROSS]) for at in starts]
    figure, [[axes]] = canvas(width_in=COLUMN_IN, row_in=INCHES_A_ROW * len(rows) + 0.2)
    with styled():
        for row, (_, tiles) in enumerate(rows):
            for place, verdict in enumerate(tiles):
                axes.barh(row, 0.94, 0.86, place - 0.47, color=COLOURS.get(verdict.verdict, UNDECIDED))
                axes.text(place, row, verdict.claim.id, ha="center", va="center_baseline")
        axes.set_yticks(range(len(rows)), [study for study, _ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(-0.5, MOST_ACROSS - 0.5)
        axes.set_xticks([])
        axes.grid(False)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        counts = {word: sum(v.verdict == word for v in verdicts) for word in words}
        handles = [
            Patch(color=COLOURS.get(word, UNDECIDED), label=f"{word} ({count})")
            for word, count in counts.items()
            if count
        ]
        legend(figure, handles, "outside upper left")
    ids = {run_id for v in verdicts for run_id in v.run_ids}
    caption = f"Each tile is a claim, {count_runs(len(ids))}."
    return Drawing("verdicts", "Verdicts by study", caption, tuple(sorted(ids)), figure)
