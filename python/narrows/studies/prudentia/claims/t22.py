from collections.abc import Iterator, Mapping
from itertools import permutations

from narrows.judging.parts import Mark, Number, Numbers, all_of
from narrows.studies.prudentia.claims.measures import FAIR, RATES, SHARE, Paired, all_met, sides

Triple = tuple[str, str, str]
COUNT, TRIED = "triples that are not transitive", "triples that all met"


def shares(found: Numbers, rate: str) -> dict[tuple[str, str], float]:
    """What a service gets beside another."""
    numbers = all_of(found, SHARE.name, rate=rate)
    return {(each.conditions["service"], each.conditions["beside"]): each.value for each in numbers}


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
        got = shares(found, rate)
        tried, others = against(got)
        if tried:
            yield Number(COUNT, "triples", float(len(others)), 1, {"rate": rate})
        for a, b, c in others[:1]:
            for service, beside in ((b, a), (c, b), (c, a)):
                under = {"rate": rate, "service": service, "beside": beside}
                yield Number("share in one of them", "1", got[service, beside], 1, under, percent=True)


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
