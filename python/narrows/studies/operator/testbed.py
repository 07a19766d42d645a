"""What the experiments c1 to c5 share: what they record and how often they repeat. Not an experiment itself.

Each of Ledesma and Livingood's claims (IETF 123) has a link of its own, which its experiment says.
"""

from narrows.spec import repeat, sample, tap

REPETITIONS = 6


def recorded(qdisc: str | None = None) -> None:
    """Record sums of the tap, the link's counters once a second, and the qdisc's this often."""
    tap("summary")
    sample(tcp_info=None, qdisc=qdisc, link="1 s")
    repeat(REPETITIONS)
