"""The words of an experiment file. What a person wrote, checked; nothing of Linux' commands.

from narrows.spec import Link, bulk, fq_codel

The words of tools come from `narrows.tools`, those of queues from `narrows.qdiscs`, each when it is first
asked for: their own files import this package, and either may be imported first.
"""

from typing import Any

from narrows import qdiscs
from narrows.spec import media
from narrows.spec.axis import axis
from narrows.spec.dumbbell import Dumbbell, pair
from narrows.spec.expect import expect
from narrows.spec.follow import follow
from narrows.spec.home import Home, home_router, host
from narrows.spec.link import Link
from narrows.spec.moving_rate import leo, lte_drive, outage, sine, square
from narrows.spec.observe import capture, ci, flow_tap, machine, repeat, sample, tap
from narrows.spec.own_tool import tool
from narrows.spec.pairs import pairs
from narrows.spec.parsers import Bdp, own_cca
from narrows.spec.path_profile import profile
from narrows.spec.profiles import access
from narrows.spec.shapers import htb, no_shaper, own_shaper, policer, tbf
from narrows.spec.span import between
from narrows.spec.trace import trace
from narrows.spec.traffic import after, with_
from narrows.spec.under_test import under_test
from narrows.spec.until_settled import until_settled
from narrows.tc.qdisc import own_qdisc
from narrows.tools import registry

bdp = Bdp
"""`bfifo(limit=bdp(1))`: a multiple of rate × base RTT."""
_OTHER_NAMES = {"ping": "icmp_echo"}


def __getattr__(name: str) -> Any:
    word = _OTHER_NAMES.get(name, name)
    if word in media.WORDS:
        return media.WORDS[word]
    if word in qdiscs.names():
        return qdiscs.named(word)
    if word not in registry.words():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return registry.constructor(word)


__all__ = [
    "Dumbbell",
    "Home",
    "Link",
    "access",
    "after",
    "axis",
    "bdp",
    "between",
    "capture",
    "ci",
    "expect",
    "flow_tap",
    "follow",
    "home_router",
    "host",
    "htb",
    "leo",
    "lte_drive",
    "machine",
    "no_shaper",
    "outage",
    "own_cca",
    "own_qdisc",
    "own_shaper",
    "pair",
    "pairs",
    "ping",
    "policer",
    "profile",
    "repeat",
    "sample",
    "sine",
    "square",
    "tap",
    "tbf",
    "tool",
    "trace",
    "under_test",
    "until_settled",
    "with_",
    *media.WORDS,
    *qdiscs.names(),
    *registry.words(),
]
