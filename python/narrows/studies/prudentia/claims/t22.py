from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations

from narrows.judging.parts import Mark, Number, Numbers, all_of
from narrows.studies.prudentia.claims.measures import FAIR, RATES, SHARE, Paired, all_met, sides

Triple = tuple[str, str, str]
COUNT, TRIED = "triples that are not transitive", "triples that all met"


def against(got: Mapping[tuple[str, str], float]) -> tuple[int, list[Triple]]:
    """How many triples all met; those that are not transitive."""
    tried, found = 0, []
    for a, b, c in permutations(sorted({name for both in got for name in both}), 3):
        if {(b, a), (c, b), (c, a)} <= got.keys():
            tried += 1
            if got[b, a] < FAIR and got[c, b] < FAIR and got[c, a] >= FAIR:
                found.append((a, b, c))
    return tried, found


def triples(found: Numbers) -> Iterator[Number]:
    """How many at each rate, and the three shares of one of them."""
    for rate in RATES:
        numbers = all_of(found, SHARE.name, rate=rate)
        got = {(each.conditions["service"], each.conditions["beside"]): each for each in numbers}
        tried, others = against({both: each.value for both, each in got.items()})
        if tried:
            yield Number(COUNT, "triples", float(len(others)), tried, {"rate": rate})
        for a, b, c in others[:1]:
            for service, beside in ((b, a), (c, b), (c, a)):
                yield replace(got[service, beside], name="share in one of them")


judge = Paired(
    "T22",
    "unfairness is not transitive: a is unfair to b and b to c, and a is fair to c",
    "section 4.5.4, Table 4.3",
    "t09_all_pairs.py",
    items=lambda runs: sides(all_met(runs)),
    measures=(SHARE,),
    derive=triples,
    hidden=(SHARE.name,),
    marks=(Mark("some three services are so", COUNT, 1),),
)
