"""What the kernel kept of qdiscs, classes and filters, against what the plan asked for.

The agent reads netlink's own bytes after the set-up (`kept` of its result); where each option of a queue lies
in them says the queue's file, of shapers and links this one. An option that the kernel keeps as another value
fails the run: another experiment would have run under its name.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from narrows import qdiscs
from narrows.plan.model import Asked, Plan
from narrows.store.agent_result import AgentResult
from narrows.tc.place import Place, Value, bucket, masked, rate, ratespec
from narrows.units import Duration, Rate, Size


def _classid(raw: bytes) -> Value:
    classid = Place(1).number(raw)
    return None if classid is None else f"{int(classid) >> 16:x}:{int(classid) & 0xFFFF:x}"


_POLICE = (2, 1, 2, 1)
"""TCA_MATCHALL_ACT, the first action, TCA_ACT_OPTIONS, TCA_POLICE_TBF."""
_SHARE: dict[str, Any] = {"unit": "%", "scale": 100 / (2**32 - 1), "grain": 1e-7}
_AFTER_NETEM = 24
"""Netem's attributes come after its struct."""
_PLACES: Mapping[str, Mapping[str, Place]] = {
    "qdisc htb": {"default": Place(2, offset=8)},
    "class htb": {
        **ratespec((1,), 0, 6), "ceil": rate((1,), 12, 7), "burst": bucket((1,), 24, 0, 6),
        "cburst": bucket((1,), 28, 12, 7), "quantum": Place(1, "B", offset=32),
    },
    "qdisc tbf": {
        **ratespec((1,), 0, 4), "peakrate": rate((1,), 12, 5), "limit": Place(1, "B", offset=24, grain=1),
        "burst": bucket((1,), 28, 0, 4), "mtu": bucket((1,), 32, 12, 5),
    },
    "filter matchall": {
        "rate": rate(_POLICE, 20, 8), "burst": bucket(_POLICE, 12, 20, 8),
        "mtu": Place(_POLICE, "B", offset=16),
    },
    "filter flower": {"ip_tos": masked(73, 74), "classid": Place(reader=_classid)},
    "qdisc netem": {
        "limit": Place(offset=4), "loss": Place(offset=8, **_SHARE), "duplicate": Place(offset=16, **_SHARE),
        "delay": Place(10, "ns", "q", skip=_AFTER_NETEM), "jitter": Place(11, "ns", "q", skip=_AFTER_NETEM),
        "rate": rate((6,), 0, 8, inside=0, skip=_AFTER_NETEM),
        "reorder": Place(3, skip=_AFTER_NETEM, **_SHARE),
        "burst_begins": Place((5, 2), skip=_AFTER_NETEM, **_SHARE),
        "burst_ends": Place((5, 2), offset=4, skip=_AFTER_NETEM, **_SHARE),
    },
}  # fmt: skip
"""What is no queue. Numbers of attributes are those of the kernel's headers."""


def places(what: str, kind: str) -> Mapping[str, Place]:
    """Where the kernel keeps each option of a qdisc, class or filter."""
    found = _PLACES.get(f"{what} {kind}")
    return qdiscs.of_kind(kind).places() if found is None else found


@dataclass(frozen=True)
class Other:
    """An option of which the kernel keeps another value than asked."""

    where: str
    option: str
    asked: str
    kept: str

    def line(self) -> str:
        return f"{self.where}: {self.option}: asked {self.asked}, the kernel kept {self.kept}"


@dataclass(frozen=True)
class ReadBack:
    """How many values were compared, and those that differ."""

    compared: int
    others: tuple[Other, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"compared": self.compared, "others": [vars(each) for each in self.others]}


def compare(plan: Plan, result: AgentResult, *, has_own_links: bool = True) -> ReadBack:
    """Every option that the plan asks for, and the MTU of each interface with a queue."""
    compared, others = 0, []
    for each in plan.asked:
        interface = (result.kept.get(each.node) or {}).get(each.iface) or {}
        count, found = _of_one(each, interface.get("tc") or [])
        compared += count
        others += found
    for node, iface in sorted({(hop.node, hop.iface) for hop in plan.hops} if has_own_links else ()):
        mtu = ((result.kept.get(node) or {}).get(iface) or {}).get("mtu")
        if mtu is None or (plan.link.home is not None and iface == plan.link.home.ifb):
            continue
        compared += 1
        if mtu != plan.link.mtu_bytes:
            others.append(Other(f"{node} {iface}", "mtu", f"{plan.link.mtu_bytes} B", f"{mtu} B"))
    return ReadBack(compared, tuple(others))


def _of_one(asked: Asked, shown: list[dict[str, Any]]) -> tuple[int, list[Other]]:
    where = f"{asked.node} {asked.iface}: {asked.what} {asked.at} {asked.kind}"
    key = "parent" if asked.what == "filter" else "handle"
    there = [each for each in shown if each["what"] == asked.what and each[key] == asked.at]
    same = [each for each in there if each["kind"] == asked.kind]
    if not same:
        kinds = ", ".join(each["kind"] for each in there) or "nothing"
        return 1, [Other(where, "kind", asked.kind, kinds)]
    # Filters have no handle of their own: the one that fits best.
    tried = [list(_differences(asked, bytes.fromhex(each["options"]), where)) for each in same]
    return 1 + len(asked.options), min(tried, key=len)


def _differences(asked: Asked, raw: bytes, where: str) -> Iterator[Other]:
    for name, wanted in asked.options.items():
        place = places(asked.what, asked.kind)[name]
        kept = place.read(raw)
        if isinstance(wanted, str) or kept is None or isinstance(kept, str):
            is_same = kept == wanted
        else:
            # tc is told shares with six digits.
            is_same = abs(kept - wanted) <= place.off_by(raw) + (1e-5 * wanted if place.unit == "%" else 0)
        if not is_same:
            yield Other(where, name, _text(wanted, place.unit), _text(kept, place.unit))


def _text(value: Value, unit: str) -> str:
    """For people."""
    if value is None:
        return "none"
    if isinstance(value, str):
        return value
    kinds = {"ns": Duration, "B": Size, "bit/s": Rate}
    return str(kinds[unit](round(value))) if unit in kinds and value >= 0 else f"{value:g} {unit}".strip()
