"""Every service beside every other: two items that move together along the axis `pair`.

`first, second = pairs({"dash": video(…), "reno": bulk(…)})` makes the runs `dash` and `reno`, each alone, and
`dash+dash`, `dash+reno`, `reno+reno`. The second of a pair gets the second client and server
(`Link(services=2)`).
"""

from collections.abc import Mapping
from typing import Any

from narrows.errors import SpecError
from narrows.spec.axis import Axis, axis
from narrows.spec.base import only_copy
from narrows.spec.traffic import Traffic
from narrows.spec.where import caller

PAIR = "pair"
"""The axis' name."""
AND = "+"
"""`dash+reno` is dash beside reno."""


def pairs(services: Mapping[str, Traffic], against: Mapping[str, Traffic] | None = None) -> tuple[Axis, Axis]:
    """The first and the second item. Without `against` every service meets every other and itself; with it,
    every service meets each of those, and only those named in either are run alone."""
    where = caller()
    others = services if against is None else against
    for each in (services, others):
        _check(each, where)
    same = [name for name in services if name in others and services[name] is not others[name]]
    if same:
        raise SpecError(
            f"pairs: {same[0]} is two different services", where=where, remedy="give one of them another name"
        )
    alone = {**services, **others}
    names = list(services)
    met = [
        (one, other) for n, one in enumerate(names) for other in (names[n:] if against is None else others)
    ]
    first: dict[str, Any] = {name: _at(item, 1) for name, item in alone.items()}
    second: dict[str, Any] = dict.fromkeys(alone)
    for one, other in met:
        label = f"{one}{AND}{other}"
        first[label], second[label] = _at(services[one], 1), _at(others[other], 2)
    for item in alone.values():
        only_copy(item)  # the axes have their own, each at its nodes
    return axis(PAIR, first), axis(PAIR, second)


def _check(services: Any, where: str) -> None:
    if not isinstance(services, Mapping) or not services:
        raise SpecError(
            f"pairs: {services!r} are no services",
            where=where,
            remedy='pairs({"dash": video(…), "reno": bulk(…)})',
        )
    for name, item in services.items():
        if not isinstance(name, str) or AND in name:
            raise SpecError(
                f"pairs: {name!r} cannot name a service", where=where, remedy=f"a word without {AND}"
            )
        if not isinstance(item, Traffic):
            raise SpecError(f"pairs: {name} is {item!r}, no service", where=where, remedy="such as video(…)")
        if "host" in item.given:
            item.fail("pairs() gives each of two its nodes", "leave host out")


def _at(item: Traffic, host: int) -> Traffic:
    given: dict[str, Any] = {name: item.values[name] for name in item.given}
    traffic: Traffic = type(item)(**given | ({} if host == 1 else {"host": host}))
    return traffic
