"""What the page of the study of scores opens with (`narrows.studies.opening`)."""

SAID = (
    "How fast a download is in a speed test ranks homes as downloads of 10 MB fare in them (rank correlation "
    "{O1|rank correlation|score=capacity, service=download}), but hardly as games do "
    "({O1|rank correlation|score=capacity, service=game}) or calls "
    "({O1|rank correlation|score=capacity, service=call}).",
    "A good game is told by latency under load (area under the ROC curve "
    "{O2|area|score=working latency, service=game, mark=good}; rate "
    "{O2|area|score=capacity, service=game, mark=good}, QoO {O2|area|score=QoO, service=game, mark=good}).",
    "A good call is told by latency under load with an area of "
    "{O2|area|score=working latency, service=call, mark=good}, by the rate with "
    "{O2|area|score=capacity, service=call, mark=good}, by QoO with "
    "{O2|area|score=QoO, service=call, mark=good}.",
    "On a path with nobody else these are good: a video from "
    "{O6|enough|service=video, of=rate, mark=good} on, a page from "
    "{O6|enough|service=page, of=rate, mark=good} on; a page up to a round trip of "
    "{O6|enough|service=page, of=rtt, mark=good}, a call up to "
    "{O6|enough|service=call, of=rtt, mark=good}.",
)
"""A sentence is filled by the kept evidence."""
