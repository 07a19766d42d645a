"""What the page of the services' study opens with (`narrows.studies.opening`)."""

from collections.abc import Sequence

from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import of_ten
from narrows.judging.verdict import Number

SAID = (
    "On a link of 8 Mbit/s a video (DASH) gets {-|share of dash beside five|8Mbit|%} of its fair "
    "share beside five BBR flows and {-|share of dash beside bbr|8Mbit|%} beside one BBR download; "
    "of two such videos one gets {-|share of dash beside dash|8Mbit|min%}, the other "
    "{-|share of dash beside dash|8Mbit|max%}.",
    "Where two different services meet at 8 Mbit/s, the one that loses gets {T9|loser's share|pairs "
    "at 8Mbit|%} of its fair share (median of the pairs), at 50 Mbit/s {T9|loser's share|pairs at "
    "50Mbit|%}.",
    "Of two services that use BBR, five flows at once leave their rivals {T10|share left by "
    "five|8Mbit|%} of their fair share, a video leaves them {T10|share left by dash|8Mbit|%}.",
    "A page of text is painted after {T16|text: time until 95 % is painted|beside dash, 8Mbit} beside "
    "a video and after {T16|text: time until 95 % is painted|beside reno, 8Mbit} beside a NewReno "
    "download.",
    "Of a call's packets {T14|call_1500k: late packets|beside cubic, 8Mbit|%} come too late for talk "
    "(above 190 ms) beside a CUBIC download, {T14|call_1500k: late packets|beside bbr, 8Mbit|%} "
    "beside a BBR download.",
)


def numbers(runs: Sequence[Observed]) -> list[Number]:
    """The share of every service beside every other; of two equal ones both."""
    found = []
    for rate in ("8Mbit", "50Mbit"):
        for one in of_ten(runs, rate):
            if len(one.sides) == 2:
                for side, other in zip(one.sides, one.sides[::-1], strict=True):
                    if side.share is not None:
                        name = f"share of {side.service} beside {other.service}"
                        found.append(Number(name, "1", side.share, one.n, rate))
    return found
