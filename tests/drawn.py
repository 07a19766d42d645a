"""Homes and links drawn from a seed over all options: what tests hold narrows against. Nothing here knows
what is right."""

from __future__ import annotations

import random
from typing import Any

from declared import LIMITS, OF
from narrows.tc.limit import Limit
from narrows.units import Duration, Rate, Size

KINDS = (
    "pfifo", "bfifo", "pfifo_head_drop", "pfifo_fast", "prio", "codel", "fq_codel", "sfq", "pie",
    "docsis_pie", "fq_pie", "red", "choke", "sfb", "hhf", "cake", "dualpi2", "fq",
)  # fmt: skip
WORDS: dict[str, tuple[str, ...]] = {
    "diffserv": ("besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"),
    "flow_isolation": ("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost",
                       "triple-isolate"),
    "atm": ("noatm", "atm", "ptm"),
    "linklayer": ("ethernet", "atm", "adsl"),
    "ce_threshold_selector": ("0x01/0x03", "0x02/0x03", "0x03/0x03"),
}  # fmt: skip
REQUIRED = {"bfifo": "limit", "red": "limit", "choke": "limit", "tbf": "burst"}
OF_LINKS = ("bandwidth", "maxrate", "low_rate_threshold", "ceil", "peakrate")
_ECN, _RED = ("ecn", True), ("redflowlimit", "60 KB")
BESIDE: dict[str, dict[str, tuple[str, Any]]] = {
    "fq_codel": {"ce_threshold_selector": ("ce_threshold", "1 ms")},
    "fq_pie": {"ecn_prob": _ECN},
    "red": {"harddrop": _ECN, "nodrop": _ECN},
    "sfq": {"harddrop": _ECN, "ecn": _RED, "probability": _RED},
}
"""What an option needs beside it, most of the time."""
RATES = ("1 Mbit/s", "2.5 Mbit/s", "8 Mbit/s", "20 Mbit/s", "50 Mbit/s", "100 Mbit/s")
MTUS = (576, 1280, 1492, 1500, 2034, 2040, 9000)


def number(of: random.Random, limit: Limit, usual: float | None) -> Any:
    """A value of an option: near the usual one, or anywhere, or one beyond what is taken."""
    if of.random() < 0.05:
        return limit.value(of.choice((limit.lowest - 1, limit.highest * 2 + 1)))
    if usual and of.random() < 0.8:
        drawn = usual * 4 ** of.uniform(-1, 1)
    else:
        low, high = max(limit.lowest, 1), max(limit.highest, 1)
        drawn = low * (high / low) ** of.random()
    drawn = min(max(drawn, limit.lowest), limit.highest)
    if limit.power:
        drawn = 2 ** int(drawn).bit_length() // 2
    if limit.step and of.random() < 0.8:
        drawn = max(limit.step, round(drawn / limit.step) * limit.step)
    return limit.value(round(drawn, 2) if limit.unit == "%" and not limit.whole else int(drawn))


def usual(part: Any, name: str, limit: Limit) -> float | None:
    value = part.options[name].default
    try:
        return limit.number(part.options[name].parser(value)) if value not in (None, Ellipsis) else None
    except Exception:
        return None


def options(of: random.Random, kind: str, chance: float = 0.35) -> dict[str, Any]:
    """Some of the options of a queue or a shaper."""
    part = OF[kind]
    limits = LIMITS.get({"docsis_pie": "pie"}.get(kind, kind), {})
    given: dict[str, Any] = {}
    for name in part.options:
        needed = REQUIRED.get(kind) == name
        if not needed and (of.random() > chance or name in OF_LINKS):
            continue
        if name in WORDS:
            given[name] = of.choice(WORDS[name])
        elif name in limits:
            sizes = {"bfifo": 50_000, "red": 200_000, "choke": 300, "tbf": 15_000}
            near = sizes.get(kind) if needed else usual(part, name, limits[name])
            given[name] = number(of, limits[name], near)
        elif isinstance(part.options[name].default, bool):
            given[name] = of.random() < 0.5
    for name, (other, value) in BESIDE.get(kind, {}).items():
        if given.get(name) and of.random() < 0.9:
            given.setdefault(other, value)
    return given


def written(value: Any) -> str:
    return repr(str(value)) if isinstance(value, (Size, Duration, Rate)) else repr(value)


def call(name: str, given: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={written(value)}' for key, value in given.items())})"


def queue(of: random.Random, *, chance: float = 0.35) -> str:
    kind = of.choice(KINDS)
    if kind == "prio":
        bands = [call(k, options(of, k)) for k in of.choices(("pfifo", "fq_codel", "codel", "pie"), k=2)]
        return f'prio({{"CS5": 0, "EF": 0}}, bands=[{", ".join(bands)}])'
    if kind == "dualpi2":
        return "dualpi2(nqb=True)" if of.random() < 0.5 else "dualpi2()"
    return call(kind, options(of, kind, chance))


def shaper(of: random.Random) -> str | None:
    kind = of.choice(("htb", "htb", "tbf", "policer", None, None, None))
    return None if kind is None else call(kind, options(of, kind, 0.2))


def link(of: random.Random) -> str:
    """A Link or a Home as an experiment writes it."""
    given: dict[str, str] = {"rate": repr(of.choice(RATES)), "queue": queue(of)}
    given["base_rtt"] = repr(of.choice(("200 us", "2 ms", "20 ms", "80 ms")))

    def maybe(name: str, chance: float, text: str | None) -> None:
        if text is not None and of.random() < chance:
            given[name] = text

    maybe("rate_up", 0.3, repr(of.choice(RATES)))
    maybe("queue_up", 0.3, queue(of))
    maybe("shaper", 1, shaper(of))
    maybe("shaper_up", 0.2, shaper(of))
    maybe("mtu", 0.3, repr(of.choice(MTUS)))
    maybe("jitter", 0.1, "'500 us'")
    maybe("loss", 0.15, repr(of.choice(("0.1 %", "2 %"))))
    maybe("line_rate", 0.15, repr(of.choice(("200 Mbit/s", "1 Gbit/s"))))
    if of.random() < 0.35:
        sides: dict[str, str] = {}
        for way in ("egress", "ingress"):
            if of.random() < 0.7:
                sides[way] = queue(of)
        if sides and of.random() < 0.3:
            sides["share"] = "'80 %'"
        if of.random() < 0.3:
            sides["nat"] = "True"
        given["router"] = f"home_router({', '.join(f'{k}={v}' for k, v in sides.items())})"
        if of.random() < 0.4:
            given["hosts"] = "[host(), host(delay='3 ms', jitter='1 ms', loss='0.5 %')]"
        return f"Home({', '.join(f'{k}={v}' for k, v in given.items())})"
    return f"Link({', '.join(f'{k}={v}' for k, v in given.items())})"


def experiment(seed: int) -> str:
    """An experiment of a few tenths of a second."""
    of = random.Random(seed)
    text = f"link = {link(of)}\n"
    text += (
        f'load = bulk(flows={of.choice((1, 2))}, direction={of.choice(("down", "up"))!r}, duration="300 ms"'
    )
    text += ", ecn=True)\n" if of.random() < 0.3 else ")\n"
    return text + 'probe = udp_probe(interval="20 ms", duration="300 ms")\n'
