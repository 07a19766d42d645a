"""What the page of the services' study opens with (`narrows.studies.opening`)."""

from collections.abc import Sequence

from narrows.judging.parts import Number, median_of
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.measures import RATES, SHARE, of_ten, sides

SAID = (
    "On a link of 8 Mbit/s a video (DASH) gets "
    "{-|share of its fair rate|rate=8Mbit, service=dash, beside=five} of its fair share beside five BBR "
    "flows and {-|share of its fair rate|rate=8Mbit, service=dash, beside=bbr} beside one BBR download; of "
    "two such videos one gets {-|share of its fair rate|rate=8Mbit, service=dash, beside=dash|min}, the "
    "other {-|share of its fair rate|rate=8Mbit, service=dash, beside=dash|max}.",
    "Where two different services meet at 8 Mbit/s, the one that loses gets {T9|loser's share|rate=8Mbit} of "
    "its fair share (median of the pairs), at 50 Mbit/s {T9|loser's share|rate=50Mbit}.",
    "Of two services that use BBR, five flows at once leave their rivals "
    "{T10|share left to rivals|rate=8Mbit, service=five} of their fair share, a video leaves them "
    "{T10|share left to rivals|rate=8Mbit, service=dash}.",
    "A page of text is painted after {T16|time until 95 % is painted|rate=8Mbit, service=text, beside=dash} "
    "beside a video and after {T16|time until 95 % is painted|rate=8Mbit, service=text, beside=reno} beside "
    "a NewReno download.",
    "Of a call's packets {T14|late packets|rate=8Mbit, service=call_1500k, beside=cubic} come too late for "
    "talk (above 190 ms) beside a CUBIC download, "
    "{T14|late packets|rate=8Mbit, service=call_1500k, beside=bbr} beside a BBR download.",
)


def numbers(runs: Sequence[Observed]) -> list[Number]:
    """The share of every service beside every other; of two equal ones both."""
    return [
        number
        for rate in RATES
        for item in sides(of_ten(runs, rate))
        if (number := median_of(SHARE.name, "1", [SHARE.read(item.of)], item.key, percent=True)) is not None
    ]
