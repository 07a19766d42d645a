"""What the experiments share: the paper's four tests on access profiles, with the bottleneck remote or local.

Remote: the home router has no queue, so the ISP's link is the bottleneck. Local: CAKE in its default
configuration both ways, at 95 % of the ISP's rate. Every test is 5 s alone, 20 s loaded, 5 s alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from narrows.spec import (
    Home,
    access,
    axis,
    bulk,
    cake,
    home_router,
    icmp_echo,
    repeat,
    rrul,
    rrul_be,
    sample,
    tap,
)

CCAS = ("cubic", "bbr")
REPETITIONS = 3
WHOLE_S = 30
ICMP_INTERVAL = "50 ms"

LOCAL = home_router(egress=cake(), ingress=cake())
LOCAL_DIFFSERV4 = home_router(egress=cake(diffserv="diffserv4"), ingress=cake(diffserv="diffserv4"))
ROUTERS: Mapping[str, Any] = {"remote": home_router(), "local": LOCAL}


def recorded(detail: str = "summary") -> None:
    """Record the tap, and the counters no oftener than needed; three repetitions, as the paper has."""
    tap(detail=detail)
    sample(tcp_info="100 ms", qdisc=None, link=None)
    repeat(n=REPETITIONS)


def homes(profiles: Sequence[str], routers: Mapping[str, Any] = ROUTERS) -> Any:
    """The axis `profile` of homes, each with the axis `home` of its router."""
    router = axis("home", routers)
    return axis("profile", {name: Home(**access(name), router=router) for name in profiles})


def bulk_test(direction: str, ccas: Sequence[str] = CCAS) -> tuple[Any, Any]:
    """Bulk download or upload beside ICMP: the load and the probe."""
    load = bulk(
        direction=axis("way", [direction]),
        cca=axis("cca", list(ccas)),
        start="5 s",
        stop="25 s",
        sample="100 ms",
    )
    return load, icmp_echo(interval=ICMP_INTERVAL, stop=f"{WHOLE_S} s")


def best_effort(flows: Sequence[int], ccas: Sequence[str] = CCAS) -> Any:
    """RRUL, best effort, with so many flows each way."""
    return rrul_be(flows=axis("flows", list(flows)), cca=axis("cca", list(ccas)), duration="20 s")


def classes(ccas: Sequence[str] = CCAS) -> Any:
    """RRUL with a flow each way in BE, BK, CS5 and EF."""
    return rrul(cca=axis("cca", list(ccas)), duration="20 s")
