"""Where the kernel keeps an option, in netlink's own bytes (include/uapi/linux/pkt_sched.h, pkt_cls.h)."""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

TICK_NS = 64
"""Buckets are kept in ticks of so much (PSCHED_SHIFT)."""
Value = float | str | None
At = tuple[int, ...] | int
"""Attributes by number, from the outside in; () is the whole of the options, a struct."""


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
    """Where an option lies, in `form` (of struct) at an offset. It is times `scale` in `unit`: ns, B, bit/s,
    %, or nothing. `grain`: how much the kernel may be off by, in that unit, or as a function of its options
    where that depends on them. `mask`: the bits of it; with `words` a word for each number, else a switch.
    `skip`: so many bytes are before the attributes. `reader` reads what is none of these."""

    at: At = ()
    unit: str = ""
    form: str = "I"
    offset: int = 0
    scale: float = 1
    grain: float | Callable[[bytes], float] = 0
    mask: int | None = None
    words: Mapping[int, str] | None = None
    skip: int = 0
    reader: Callable[[bytes], Value] | None = None

    def read(self, raw: bytes) -> Value:
        """What is kept; None where it is not."""
        if self.reader is not None:
            return self.reader(raw)
        found = self.number(raw)
        if found is None or (self.words is None and self.mask is None):
            return None if found is None else found * self.scale
        bits = int(found) if self.mask is None else int(found) & self.mask
        return float(bool(bits)) if self.words is None else self.words.get(bits, f"{bits}")

    def number(self, raw: bytes) -> float | None:
        """As it lies there."""
        raw = raw[self.skip :]
        for number in (self.at,) if isinstance(self.at, int) else self.at:
            inner = attributes(raw).get(number)
            if inner is None:
                return None
            raw = inner
        if len(raw) < self.offset + struct.calcsize("=" + self.form):
            return None
        return float(struct.unpack_from("=" + self.form, raw, self.offset)[0])

    def off_by(self, raw: bytes) -> float:
        return self.grain(raw) if callable(self.grain) else self.grain


def masked(value_at: int, mask_at: int) -> Place:
    """`0x02/0x03`: bits and which of them count, a byte each."""

    def read(raw: bytes) -> Value:
        value, mask = (Place(at, form="B").number(raw) for at in (value_at, mask_at))
        return None if value is None or mask is None else f"0x{int(value):02x}/0x{int(mask):02x}"

    return Place(reader=read)


def _per_s(
    at: tuple[int, ...], offset: int, wide: int, inside: int = 8, skip: int = 0
) -> Callable[[bytes], float | None]:
    """Bytes per second of a tc_ratespec, or of what has them elsewhere `inside`; the attribute `wide` beside
    it has what 32 bits do not hold."""
    narrow = Place(at, offset=offset + inside, skip=skip)
    whole = Place((*at[:-1], wide), form="Q", skip=skip)

    def read(raw: bytes) -> float | None:
        more = whole.number(raw)
        return narrow.number(raw) if more is None else more

    return read


def rate(at: tuple[int, ...], offset: int, wide: int, inside: int = 8, skip: int = 0) -> Place:
    """The rate of a tc_ratespec, or of what is like one."""
    per_s = _per_s(at, offset, wide, inside, skip)

    def read(raw: bytes) -> Value:
        found = per_s(raw)
        return None if found is None else 8 * found

    return Place(unit="bit/s", reader=read, grain=8)


def bucket(at: tuple[int, ...], offset: int, rate_offset: int, wide: int) -> Place:
    """A bucket, kept as its time at a rate."""
    ticks, rate = Place(at, offset=offset), _per_s(at, rate_offset, wide)

    def read(raw: bytes) -> Value:
        held, per_s = ticks.number(raw), rate(raw)
        return None if held is None or per_s is None else held * TICK_NS * per_s / 1e9

    return Place(unit="B", reader=read, grain=lambda raw: 1 + 2 * TICK_NS * (rate(raw) or 0) / 1e9)


def ratespec(at: tuple[int, ...], offset: int, wide: int) -> dict[str, Place]:
    """struct tc_ratespec."""
    return {
        "rate": rate(at, offset, wide),
        "overhead": Place(at, form="H", offset=offset + 2),
        "mpu": Place(at, "B", "H", offset + 6),
        "linklayer": Place(at, form="B", offset=offset + 1, mask=0xF, words={1: "ethernet", 2: "atm"}),
    }
