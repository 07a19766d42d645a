"""What the kernel kept of qdiscs, classes and filters, against what the plan asked for.

The agent reads netlink's own bytes after the set-up (`kept` of its result); here is where each option lies in
them (include/uapi/linux/pkt_sched.h, pkt_cls.h) and in which unit. An option that the kernel keeps as another
value fails the run: another experiment would have run under its name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from narrows.plan.model import Asked, Plan
from narrows.store.agent_result import AgentResult
from narrows.units import Duration, Rate, Size

TICK_NS = 64
"""Buckets are kept in ticks of so much (PSCHED_SHIFT)."""
Value = float | str | None


def attributes(raw: bytes) -> dict[int, bytes]:
    """The attributes of a nest, by number; the last of each."""
    found: dict[int, bytes] = {}
    while len(raw) >= 4:
        length, number = struct.unpack_from("=HH", raw)
        if not 4 <= length <= len(raw):
            break
        found[number & 0x3FFF] = raw[4:length]
        raw = raw[(length + 3) & ~3 :]
    return found


@dataclass(frozen=True)
class Place:
    """Where an option lies. `unit`: ns, B, bit/s, %, or nothing; `grain`: how much the kernel may be off by,
    in that unit, or as a function of its options where that depends on them."""

    unit: str
    read: Callable[[bytes], Value]
    grain: float | Callable[[bytes], float] = 0

    def off_by(self, raw: bytes) -> float:
        return self.grain(raw) if callable(self.grain) else self.grain


def _number(at: tuple[int, ...] | int, form: str = "I", offset: int = 0) -> Callable[[bytes], float | None]:
    """A number at the end of a path of attributes."""
    path = (at,) if isinstance(at, int) else at

    def read(raw: bytes) -> float | None:
        for number in path:
            inner = attributes(raw).get(number)
            if inner is None:
                return None
            raw = inner
        if len(raw) < offset + struct.calcsize("=" + form):
            return None
        return float(struct.unpack_from("=" + form, raw, offset)[0])

    return read


def _of(
    unit: str, at: tuple[int, ...] | int, form: str = "I", offset: int = 0, scale: float = 1, grain: float = 0
) -> Place:
    number = _number(at, form, offset)

    def read(raw: bytes) -> float | None:
        found = number(raw)
        return None if found is None else found * scale

    return Place(unit, read, grain)


def _count(at: tuple[int, ...] | int, form: str = "I", offset: int = 0) -> Place:
    return _of("", at, form, offset)


def _bytes(at: tuple[int, ...] | int, form: str = "I", offset: int = 0) -> Place:
    return _of("B", at, form, offset)


def _us(at: int, grain_ns: float = 0) -> Place:
    return _of("ns", at, scale=1000, grain=grain_ns)


def _word(at: int, words: Mapping[int, str], form: str = "I", mask: int = ~0, offset: int = 0) -> Place:
    number = _number(at, form, offset)

    def read(raw: bytes) -> Value:
        word = number(raw)
        return None if word is None else words.get(int(word) & mask, f"{int(word)}")

    return Place("", read)


def _bit(at: tuple[int, ...] | int, bit: int, form: str = "B", offset: int = 0) -> Place:
    number = _number(at, form, offset)

    def read(raw: bytes) -> Value:
        found = number(raw)
        return None if found is None else float(bool(int(found) & bit))

    return Place("", read)


def _per_s(at: tuple[int, ...], offset: int, wide: int, inside: int = 8) -> Callable[[bytes], float | None]:
    """Bytes per second of a tc_ratespec, or of what has them elsewhere `inside`; the attribute `wide` beside
    it has what 32 bits do not hold."""
    narrow, whole = _number(at, offset=offset + inside), _number((*at[:-1], wide), "Q")

    def read(raw: bytes) -> float | None:
        more = whole(raw)
        return narrow(raw) if more is None else more

    return read


def _rate(at: tuple[int, ...], offset: int, wide: int, inside: int = 8) -> Place:
    per_s = _per_s(at, offset, wide, inside)

    def read(raw: bytes) -> Value:
        rate = per_s(raw)
        return None if rate is None else 8 * rate

    return Place("bit/s", read, 8)


def _bucket(at: tuple[int, ...], offset: int, rate_offset: int, wide: int) -> Place:
    ticks, rate = _number(at, offset=offset), _per_s(at, rate_offset, wide)

    def read(raw: bytes) -> Value:
        bucket, per_s = ticks(raw), rate(raw)
        return None if bucket is None or per_s is None else bucket * TICK_NS * per_s / 1e9

    return Place("B", read, lambda raw: 1 + 2 * TICK_NS * (rate(raw) or 0) / 1e9)


def _ratespec(at: tuple[int, ...], offset: int, wide: int) -> dict[str, Place]:
    return {
        "rate": _rate(at, offset, wide),
        "overhead": _count(at, "H", offset + 2),
        "mpu": _bytes(at, "H", offset + 6),
        "linklayer": _word(at[-1], {1: "ethernet", 2: "atm"}, "B", 0xF, offset + 1),
    }


def _early(at: tuple[int, ...], share: Place, unit: str) -> dict[str, Place]:
    """struct tc_red_qopt."""
    return {
        "limit": _of(unit, at),
        "min": _of(unit, at, offset=4),
        "max": _of(unit, at, offset=8),
        "ewma": _count(at, "B", 12),
        "ecn": _bit(at, 1, offset=15),
        "harddrop": _bit(at, 2, offset=15),
        "adaptive": _bit(at, 4, offset=15),
        "probability": share,
    }


_CODEL_NS = 2024
"""Its clock ticks each 1024 ns, and whole microseconds are shown."""
_PIE_NS = 1064
_SHARE_32 = 100 / 2**32
_FIFO = {"limit": _count(())}
_PIE = ("target", "limit", "tupdate", "alpha", "beta", "ecn", "bytemode", "dq_rate_estimator")
_FQ_CODEL_SELECTORS = {"0x01/0x03": (1, 3), "0x02/0x03": (2, 3), "0x03/0x03": (3, 3)}


def _pie(first: tuple[int, ...]) -> dict[str, Place]:
    places = {name: _count(at) for name, at in zip(_PIE, first, strict=True)}
    return places | {"target": _us(first[0], _PIE_NS), "tupdate": _us(first[2])}


def _selector(raw: bytes) -> Value:
    value, mask = (_number(at, "B")(raw) for at in (10, 11))
    return None if value is None or mask is None else f"0x{int(value):02x}/0x{int(mask):02x}"


def _power(at: int) -> Place:
    number = _number(at)

    def read(raw: bytes) -> Value:
        power = number(raw)
        return None if power is None else float(1 << int(power))

    return Place("", read)


def _overhead(raw: bytes) -> Value:
    """CAKE's; none where it counts what the qdisc sees (raw)."""
    return None if 12 in attributes(raw) else _number(6, "i")(raw)


def _priomap(raw: bytes) -> Value:
    """The band of everything; None where priorities have several."""
    bands = set(raw[4:20])
    return float(bands.pop()) if len(bands) == 1 else None


def _tos(raw: bytes) -> Value:
    value, mask = (_number(at, "B")(raw) for at in (73, 74))
    return None if value is None or mask is None else f"0x{int(value):02x}/0x{int(mask):02x}"


def _classid(raw: bytes) -> Value:
    classid = _number(1)(raw)
    return None if classid is None else f"{int(classid) >> 16:x}:{int(classid) & 0xFFFF:x}"


_POLICE = (2, 1, 2, 1)
"""TCA_MATCHALL_ACT, the first action, TCA_ACT_OPTIONS, TCA_POLICE_TBF."""
_HTB, _TBF = (1,), (1,)
_NETEM = "netem"
_AFTER_NETEM = 24
"""Netem's attributes come after its struct."""


def _netem(place: Place) -> Place:
    return Place(place.unit, lambda raw: place.read(raw[_AFTER_NETEM:]), place.grain)


PLACES: Mapping[str, Mapping[str, Place]] = {
    "pfifo": _FIFO,
    "pfifo_head_drop": _FIFO,
    "bfifo": {"limit": _bytes(())},
    "prio": {"bands": _count((), "i"), "priomap": Place("", _priomap)},
    "codel": {
        "target": _us(1, _CODEL_NS), "limit": _count(2), "interval": _us(3, _CODEL_NS), "ecn": _count(4),
        "ce_threshold": _us(5, _CODEL_NS),
    },
    "fq_codel": {
        "target": _us(1, _CODEL_NS), "limit": _count(2), "interval": _us(3, _CODEL_NS), "ecn": _count(4),
        "flows": _count(5), "quantum": _bytes(6), "ce_threshold": _us(7, _CODEL_NS), "drop_batch": _count(8),
        "memory_limit": _bytes(9), "ce_threshold_selector": Place("", _selector),
    },
    "sfq": {
        "quantum": _bytes(()), "perturb": _of("ns", (), "i", 4, 1e9), "limit": _count((), offset=8),
        "divisor": _count((), offset=12), "flows": _count((), offset=16), "depth": _count((), offset=20),
        "headdrop": _count((), offset=24), "min": _bytes((), offset=32), "max": _bytes((), offset=36),
        "ewma": _count((), "B", 40), "ecn": _bit((), 1, offset=43), "harddrop": _bit((), 2, offset=43),
        "probability": _of("%", (), offset=44, scale=_SHARE_32, grain=1e-7),
    },
    "pie": _pie((1, 2, 3, 4, 5, 6, 7, 8)),
    "fq_pie": {
        **_pie((3, 1, 4, 5, 6, 10, 11, 12)), "flows": _count(2), "quantum": _bytes(7),
        "memory_limit": _bytes(8), "ecn_prob": _of("%", 9),
    },
    "red": {
        **_early((1,), _of("%", 3, scale=_SHARE_32, grain=1e-7), "B"), "nodrop": _bit(4, 8, "I"),
    },
    "choke": _early((1,), _of("%", 3, scale=_SHARE_32, grain=1e-7), ""),
    "sfb": {
        "rehash": _of("ns", 1, scale=1e6), "db": _of("ns", 1, offset=4, scale=1e6),
        "max": _count(1, offset=8), "target": _count(1, offset=12),
        "increment": _of("%", 1, offset=16, scale=100 / 65535, grain=0.00153),
        "decrement": _of("%", 1, offset=20, scale=100 / 65535, grain=0.00153),
        "limit": _count(1, offset=24), "penalty_rate": _count(1, offset=28),
        "penalty_burst": _count(1, offset=32),
    },
    "hhf": {
        "limit": _count(1), "quantum": _bytes(2), "hh_limit": _count(3), "reset_timeout": _us(4),
        "admit_bytes": _bytes(5), "evict_timeout": _us(6), "non_hh_weight": _count(7),
    },
    "cake": {
        "bandwidth": _of("bit/s", 2, "Q", scale=8, grain=8),
        "diffserv": _word(3, dict(enumerate(
            ("diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence")))),
        "atm": _word(4, {0: "noatm", 1: "atm", 2: "ptm"}),
        "flow_isolation": _word(5, dict(enumerate(
            ("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost",
             "triple-isolate")))),
        "overhead": Place("B", _overhead), "rtt": _us(7), "autorate_ingress": _count(9),
        "memlimit": _bytes(10), "nat": _count(11), "wash": _count(13), "mpu": _bytes(14),
        "ingress": _count(15), "ack_filter": _count(16), "split_gso": _count(17),
    },
    "dualpi2": {
        "limit": _count(1), "memory_limit": _bytes(2), "target": _us(3), "tupdate": _us(4),
        "alpha": _of("", 5, scale=1 / 256, grain=1 / 256), "beta": _of("", 6, scale=1 / 256, grain=1 / 256),
        "step_thresh": _us(8), "min_qlen_step": _count(9), "coupling_factor": _count(10, "B"),
        "overload": _word(11, {0: "overflow", 1: "drop"}, "B"),
        "drop_at": _word(12, {0: "dequeue", 1: "enqueue"}, "B"), "c_protection": _of("%", 13, "B"),
        "classic_ecn": _bit(14, 2), "split_gso": _count(15, "B"),
    },
    "fq": {
        "limit": _count(1), "flow_limit": _count(2), "quantum": _bytes(3), "initial_quantum": _bytes(4),
        "pacing": _count(5), "maxrate": _of("bit/s", 7, scale=8, grain=8), "buckets": _power(8),
        "refill_delay": _us(9), "orphan_mask": _count(10),
        "low_rate_threshold": _of("bit/s", 11, scale=8, grain=8), "ce_threshold": _us(12),
        "timer_slack": _of("ns", 13), "horizon": _us(14), "horizon_drop": _count(15, "B"),
    },
    "htb": {"default": _count(2, offset=8)},
    "class htb": {
        **_ratespec(_HTB, 0, 6), "ceil": _rate(_HTB, 12, 7), "burst": _bucket(_HTB, 24, 0, 6),
        "cburst": _bucket(_HTB, 28, 12, 7), "quantum": _bytes(_HTB, offset=32),
    },
    "tbf": {
        **_ratespec(_TBF, 0, 4), "peakrate": _rate(_TBF, 12, 5), "limit": _of("B", _TBF, offset=24, grain=1),
        "burst": _bucket(_TBF, 28, 0, 4), "mtu": _bucket(_TBF, 32, 12, 5),
    },
    "filter matchall": {
        "rate": _rate(_POLICE, 20, 8), "burst": _bucket(_POLICE, 12, 20, 8),
        "mtu": _bytes(_POLICE, offset=16),
    },
    "filter flower": {"ip_tos": Place("", _tos), "classid": Place("", _classid)},
    _NETEM: {
        "limit": _count((), offset=4), "loss": _of("%", (), offset=8, scale=100 / (2**32 - 1), grain=1e-7),
        "delay": _netem(_of("ns", 10, "q")), "jitter": _netem(_of("ns", 11, "q")),
        "rate": _netem(_rate((6,), 0, 8, inside=0)),
        "duplicate": _of("%", (), offset=16, scale=100 / (2**32 - 1), grain=1e-7),
        "reorder": _netem(_of("%", 3, scale=100 / (2**32 - 1), grain=1e-7)),
        "burst_begins": _netem(_of("%", (5, 2), scale=100 / (2**32 - 1), grain=1e-7)),
        "burst_ends": _netem(_of("%", (5, 2), offset=4, scale=100 / (2**32 - 1), grain=1e-7)),
    },
}  # fmt: skip
"""By kind, what each option is. Numbers of attributes are those of the kernel's headers."""


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
        """For the manifest."""
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
    kind = asked.kind if asked.what == "qdisc" else f"{asked.what} {asked.kind}"
    for name, wanted in asked.options.items():
        place = PLACES[kind][name]
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
    if unit in kinds and value >= 0:
        return str(kinds[unit](round(value)))
    return f"{value:g} {unit}".strip()
