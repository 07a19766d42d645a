"""What the experiments of the last hop share: the media, and the places where their queue can stand.

Every medium carries about 30 Mbit/s down. The queue stands in the device (a ring of 1 MB below FQ-CoDel,
which then sees none of it; on a link with a rate a FIFO of as much), at the router (FQ-CoDel above a ring of
one packet), or at home, under CAKE at 90 % of what the medium carries on average.
"""

from collections.abc import Mapping
from typing import Any

from narrows.spec import (
    Home,
    axis,
    bfifo,
    cake,
    docsis,
    fq_codel,
    home_router,
    lte,
    repeat,
    satellite,
    tap,
    wifi,
)

RATE = "30 Mbit/s"
BASE_RTT = "30 ms"
SHARE = 0.9
"""The part of what the medium carries that CAKE lets pass."""
CAKE = "cake90"
PLACES = ("device", "router", CAKE)
DEEP = "1 MB"
START = "3 s"
"""When what loads the link starts; until then the probe meets an idle one."""
MEDIA: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "wifi": (wifi, {"rate": "60 Mbit/s", "stations": 1, "failure": "5 %"}),
    "lte": (lte, {"rate": "35 Mbit/s"}),
    "satellite": (satellite, {"rate": RATE, "first": "8 s"}),
    "docsis": (docsis, {"rate": "10 Mbit/s"}),
}
NAMES = ("rate", *MEDIA)


def link(hosts: int = 1) -> Any:
    """The axes `medium` and `place`."""
    homes = {name: {place: _home(name, place, hosts) for place in PLACES} for name in NAMES}
    return axis("medium", {name: axis("place", of) for name, of in homes.items()})


def _home(name: str, place: str, hosts: int) -> Home:
    ring = {} if place == "router" else {"ring": DEEP}
    own: dict[str, Any] = {"rate": RATE}
    if name in MEDIA:
        make, options = MEDIA[name]
        medium = make(**options, **ring)
        own = own | {"medium_up": medium} if name == "docsis" else {"medium": medium}
    has_rate = name not in MEDIA or name == "docsis"
    sees_nothing = place == CAKE or (place == "device" and has_rate)
    queue = bfifo(limit=DEEP) if sees_nothing else fq_codel()
    router = home_router()
    if place == CAKE:
        router = home_router(egress=cake(), ingress=cake(ingress=True), share=f"{SHARE:.0%}")
    return Home(**own, base_rtt=BASE_RTT, queue=queue, hosts=hosts, router=router)


def recorded() -> None:
    """What is kept of each packet, and how often a condition is made."""
    tap(detail="summary")
    repeat(1)
