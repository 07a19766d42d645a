from dataclasses import replace

from narrows.judging.parts import Mark, percent
from narrows.studies.prudentia.claims.measures import RATE, Paired, pairs, sides

HALVED = 0.6
"""At most this part of what the video gets beside a loss-based flow."""
CALL = {"beside": "call_2600k"}
judge = Paired(
    "T15",
    "layered control loops make outcomes hard to predict: a call of at most 2.6 Mbit/s halves a video's rate "
    "at 8 Mbit/s (2.5 Mbit/s, half of what it gets beside NewReno and CUBIC)",
    "section 4.3.2",
    "t15_call_and_video.py",
    items=lambda runs: sides(pairs(runs, "8Mbit")),
    where={"service": "hls"},
    measures=(replace(RATE, where={"beside": ("call_2600k", "reno", "cubic")}),),
    marks=tuple(
        Mark(
            f"{percent(HALVED)} at most of the rate beside {rival}", most=HALVED, where=CALL,
            against={"beside": rival},
        )
        for rival in ("reno", "cubic")
    ),
)  # fmt: skip
