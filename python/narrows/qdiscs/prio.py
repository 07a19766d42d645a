"""prio: strict priority among queues."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from narrows.qdiscs.pfifo import pfifo
from narrows.spec.base import option
from narrows.spec.parsers import DSCP_NAMES, Wrong, count, dscp
from narrows.tc.options import Number, Words
from narrows.tc.place import Place, Value
from narrows.tc.qdisc import Qdisc, QueueContext
from narrows.units import Rate

MOST_BANDS = 16
"""TCQ_PRIO_BANDS."""
_BAND = pfifo()


def _bands_of(value: Any) -> dict[str, int]:
    if not isinstance(value, Mapping) or not value:
        raise Wrong(f"{value!r} says of no code point where it goes", '{"CS5": 0}')
    for name in value:
        dscp(name)
    return {str(name): count(0, MOST_BANDS - 1)(band) for name, band in value.items()}


def _queues(value: Any) -> tuple[Qdisc, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise Wrong(f"{value!r} is not a list of queues", "bands=[pfifo(limit=100), fq_codel()]")
    for each in value:
        if not isinstance(each, Qdisc) or isinstance(each, prio):
            raise Wrong(f"{each!r} cannot be the queue of a band", "bands=[pfifo(limit=100), fq_codel()]")
        if each.has_axes():
            raise Wrong("an axis inside a band", "sweep the whole queue: queue=axis(…)")
    if len(value) not in (0, *range(2, MOST_BANDS + 1)):
        raise Wrong(f"{len(value)} bands", f"from 2 to {MOST_BANDS}")
    return tuple(value)


def _priomap(raw: bytes) -> Value:
    """The band of everything; None where priorities have several."""
    bands = set(raw[4:20])
    return float(bands.pop()) if len(bands) == 1 else None


class prio(Qdisc):
    """Strict priority: band 0 is served before band 1, and so on. `dscp` says which code points go to which
    band; all others go to the last. Each band is a queue of its own."""

    example = '{"CS5": 0}'
    also: ClassVar = {"bands": Place(form="i"), "priomap": Place(reader=_priomap)}
    positional = ("dscp",)

    dscp: Mapping[str, int] = option(_bands_of, doc='{"CS5": 0}')
    bands: Sequence[Qdisc] = option(_queues, default=())

    def check(self) -> None:
        bands = self.queues()
        for name, band in self["dscp"].items():
            if band >= len(bands):
                self.fail(
                    f"dscp: {name} goes to band {band}, and there are {len(bands)}", "bands count from 0"
                )

    def queues(self) -> tuple[Qdisc, ...]:
        """One for each band; two of pfifo() if none were given."""
        given: tuple[Qdisc, ...] = self["bands"]
        return given or (_BAND, _BAND)

    def classes(self) -> list[tuple[str, int]]:
        return [
            (f"0x{DSCP_NAMES[name.upper()] << 2:02x}/0xfc", band + 1) for name, band in self["dscp"].items()
        ]

    def words(self, context: QueueContext) -> Words:
        """Everything without a filter goes to the last band, whatever its priority."""
        bands = len(self.queues())
        return {"bands": str(bands), "priomap": " ".join([str(bands - 1)] * 16)}

    def asked(self, context: QueueContext, shaped_to: Rate | None) -> dict[str, Number]:
        bands = len(self.queues())
        return {"bands": bands, "priomap": bands - 1}
