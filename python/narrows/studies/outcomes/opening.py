"""What the page of the study of scores opens with (`narrows.studies.opening`)."""

SAID = (
    "Capacity ranks homes as downloads fare with "
    "{O1|rank correlation|score=capacity, service=download} and as games fare with "
    "{O1|rank correlation|score=capacity, service=game}; latency under load with "
    "{O1|rank correlation|score=working latency, service=download} and "
    "{O1|rank correlation|score=working latency, service=game} (1: exactly so, 0: not at all).",
)
