"""Access profiles: what an ISP's link is like, by name, each with its numbers and where they come from.

`link = Home(**access("fttc-30-10"))`; any option may be overridden: `Home(**access("leo") | {"queue": …})`.
Rates, delays and loss have sources; buffers are mostly assumptions, because ISPs do not publish them, and
each says which. The manual's page docs/home.md shows the same table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from narrows.errors import SpecError, did_you_mean
from narrows.qdiscs.bfifo import bfifo
from narrows.qdiscs.docsis_pie import docsis_pie
from narrows.qdiscs.pfifo_head_drop import pfifo_head_drop
from narrows.spec.moving_rate import leo, lte_drive
from narrows.spec.where import caller


@dataclass(frozen=True)
class Profile:
    """A kind of access: what it is, the options of a Home, and for each group of numbers its source."""

    what: str
    options: Callable[[], Mapping[str, Any]]
    sources: Mapping[str, str]


def _line(
    rate: Any, rate_up: Any, base_rtt: str, queue: Any, queue_up: Any = None, **more: str
) -> dict[str, Any]:
    """The options of a Home; None: the queue up is as that down."""
    queues = {"queue": queue} if queue_up is None else {"queue": queue, "queue_up": queue_up}
    return {"rate": rate, "rate_up": rate_up, "base_rtt": base_rtt, **more, **queues}


_GRAZIA = "Grazia, Klapez, Casoni, Less is More, JCN 2025"

PROFILES: dict[str, Profile] = {
    "fttc-30-10": Profile(
        "VDSL2 from the street cabinet, 30 Mbit/s down and 10 up",
        lambda: _line("30 Mbit/s", "10 Mbit/s", "20 ms", bfifo(limit="500 KB")),
        {
            "rates": f"{_GRAZIA}: its FTTC line, about 10 Mbit/s up (Fig. 11a)",
            "base_rtt": f"{_GRAZIA}: about 30 ms with a local queue (Fig. 11a), of which the queue is some",
            "queue": f"{_GRAZIA}: a FIFO (Table II); 500 KB at 10 Mbit/s are the 400 ms of its Fig. 11a",
        },
    ),
    "fttc-100-20": Profile(
        "VDSL2 from the street cabinet, 100 Mbit/s down and 20 up",
        lambda: _line("100 Mbit/s", "20 Mbit/s", "20 ms", bfifo(limit="1 MB")),
        {
            "rates": "a usual tariff of such lines",
            "base_rtt": "as fttc-30-10",
            "queue": "assumption: a FIFO of 400 ms upstream, as fttc-30-10",
        },
    ),
    "ftth-1000-300": Profile(
        "Fibre to the home, 1000 Mbit/s down and 300 up",
        lambda: _line("1 Gbit/s", "300 Mbit/s", "8 ms", bfifo(limit="1 BDP"), bfifo(limit="1 BDP")),
        {
            "rates": "a usual tariff of such lines",
            "base_rtt": "assumption: a server in the same country",
            "queue": f"{_GRAZIA}: RTTs twice the local ones, BBR and CUBIC alike (Fig. 11b): a FIFO of 1 BDP",
        },
    ),
    "docsis-500-50": Profile(
        "Cable, 500 Mbit/s down and 50 up, with the AQM that DOCSIS 3.1 modems have upstream",
        lambda: _line("500 Mbit/s", "50 Mbit/s", "20 ms", bfifo(limit="2 MB"), docsis_pie()),
        {
            "rates": "a usual tariff of such lines",
            "base_rtt": "assumption",
            "queue": "assumption: 32 ms of a FIFO downstream",
            "queue_up": "RFC 8034, as near as Linux' PIE comes",
        },
    ),
    "fwa-30-3": Profile(
        "Fixed wireless, 30 Mbit/s down and 3 up, with jitter and a little loss",
        lambda: _line(
            "30 Mbit/s",
            "3 Mbit/s",
            "40 ms",
            bfifo(limit="400 KB"),
            bfifo(limit="90 KB"),
            jitter="4 ms",
            line_rate="1 Gbit/s",
            loss="0.05 %",
        ),
        {
            "rates": "assumption",
            "base_rtt": "assumption, and so are jitter and loss; a line rate keeps packets in order",
            "queue": f"{_GRAZIA}: RTTs of up to 275 ms upstream (Fig. 11c): 90 KB at 3 Mbit/s are 240 ms",
        },
    ),
    "lte": Profile(
        "LTE in a moving car: the rate moves",
        lambda: _line(
            lte_drive(mean="12 Mbit/s", seed=1),
            lte_drive(mean="6 Mbit/s", seed=2),
            "50 ms",
            bfifo(limit="1500 KB"),
            bfifo(limit="750 KB"),
        ),
        {
            "rates": "synthetic; the mean and the spread of Mahimahi's "
            "TMobile-LTE-driving.down (12.8 Mbit/s)",
            "base_rtt": "assumption",
            "queue": "assumption: 1 s of a FIFO of its own, as cellular base stations have for each user",
        },
    ),
    "5g": Profile(
        "5G, mid-band: the rate moves",
        lambda: _line(
            lte_drive(mean="60 Mbit/s", seed=3),
            lte_drive(mean="15 Mbit/s", seed=4),
            "30 ms",
            bfifo(limit="3 MB"),
            bfifo(limit="1 MB"),
        ),
        {
            "rates": "synthetic; a mean between the median of 29 and the p95 of 229 Mbit/s "
            "of UCC's static 5G data",
            "base_rtt": "assumption",
            "queue": "assumption: 400 ms of a FIFO of its own",
        },
    ),
    "leo": Profile(
        "Low Earth orbit: the rate changes every 15 s after a gap; drops at the head",
        lambda: _line(
            leo(mean="100 Mbit/s", seed=1),
            leo(mean="12 Mbit/s", seed=2),
            "40 ms",
            pfifo_head_drop(limit=800),
            pfifo_head_drop(limit=100),
            jitter="4 ms",
            line_rate="1 Gbit/s",
            loss="0.1 %",
        ),
        {
            "rates": "synthetic; levels and gap are assumptions, the 15 s are Starlink's",
            "base_rtt": "assumption, and so are jitter and loss; a line rate keeps packets in order",
            "queue": "Garcia, Sundberg, Brunstrom, arXiv 2605.27717: Starlink drops at the "
            "front; 100 ms assumed",
        },
    ),
    "geo": Profile(
        "Geostationary satellite: 600 ms, with loss",
        lambda: _line(
            "30 Mbit/s", "5 Mbit/s", "600 ms", bfifo(limit="1 BDP"), bfifo(limit="1 BDP"), loss="0.1 %"
        ),
        {
            "rates": "a usual tariff",
            "base_rtt": "geometry: 4 × 35,786 km at the speed of light are 477 ms; the rest is "
            "access and ground",
            "queue": "assumption: a FIFO of 1 BDP; loss assumed",
        },
    ),
}


def access(name: str) -> dict[str, Any]:
    """The options of an access profile, for `Home(**access("fttc-30-10"))`."""
    if name not in PROFILES:
        raise SpecError(
            f"no access profile is called {name!r}", where=caller(), remedy=did_you_mean(str(name), PROFILES)
        )
    return dict(PROFILES[name].options())
