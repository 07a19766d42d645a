"""What the page of the study of scores opens with (`narrows.studies.opening`)."""

SAID = (
    "How fast a download is in a speed test ranks homes as downloads of 10 MB fare in them (rank correlation "
    "{O1|rank correlation|score=capacity, service=download}), but hardly as games do "
    "({O1|rank correlation|score=capacity, service=game}) or calls "
    "({O1|rank correlation|score=capacity, service=call}).",
    "A good game is told by latency under load (area under the ROC curve "
    "{O2|area|score=working latency, service=game, mark=good}; rate "
    "{O2|area|score=capacity, service=game, mark=good}, QoO {O2|area|score=QoO, service=game, mark=good}).",
    "On a path with nobody else a video is good from {O6|enough|service=video, of=rate, mark=good} on, 10 MB "
    "from {O6|enough|service=download, of=rate, mark=good} on; a page is up to a round trip of "
    "{O6|enough|service=page, of=rtt, mark=good}, a call up to {O6|enough|service=call, of=rtt, mark=good}.",
    "Where homes of equal QoO differ only in whether packets are lost one at a time or many in a row, the "
    "share of pairs in which 10 MB is good in one and unusable in the other is "
    "{O8|opposite by order|score=QoO, service=download}.",
)
"""A sentence is filled by the kept evidence."""
