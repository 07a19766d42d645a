"""What tc takes, as queues and shapers declare it, against the real tc and kernel, in one guest: of every
option the lowest and the highest value are taken, and one beyond is refused, or kept as another value;
RED's rule says of min, max and burst what tc says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lab
from declared import LIMITS, OF
from narrows.errors import SpecError
from narrows.tc.limit import Limit
from narrows.tc.options import arguments
from narrows.tc.qdisc import QueueContext
from narrows.units import Duration, Rate, Size

CONTEXT = QueueContext(rate=Rate(10**9), base_rtt=Duration(10**7), mtu_bytes=1500)
SHAPERS: dict[str, dict[str, str]] = {
    "htb": {"rate": "1Gbit", "ceil": "1Gbit", "burst": "1600", "cburst": "1600"},
    "tbf": {"rate": "1Gbit", "burst": "15000", "limit": "100000"},
    "policer": {"rate": "1Gbit", "burst": "100000"},
}
WORD = {"memory_limit": "memlimit", "c_protection": "classic_protection"}
"""What tc calls an option of dualpi2."""
EARLY = ("red", "choke")
"""Their limit, min, max and burst hang together: the grid below."""
TOGETHER = ("limit", "min", "max", "burst", "avpkt")


def text(kind: str, option: str, limit: Limit, number: float) -> str:
    """A number as tc is told it."""
    value = limit.value(number)
    if limit.unit == "%":
        if option == "ecn_prob":
            return str(number)
        return f"{number}%" if option == "c_protection" else f"{number / 100:g}"
    if limit.unit in ("ms", "s"):
        return str(number)
    return value.tc() if isinstance(value, (Size, Duration, Rate)) else str(number)


def lines(kind: str, option: str, said: str) -> list[str]:
    """The commands that make it on v0, and the one that shows it."""
    word = WORD.get(option, option) if kind == "dualpi2" else option
    if kind in SHAPERS:
        words = SHAPERS[kind] | {word: said}
        if option == "latency":
            words.pop("limit")
        if option == "peakrate":
            words["mtu"] = "1514"
        if option == "mtu":
            words["peakrate"] = "2Gbit"
        told = " ".join(arguments(words))
        if kind == "tbf":
            return [f"qdisc add dev v0 root tbf {told}", "qdisc show dev v0"]
        if kind == "htb":
            return [
                "qdisc add dev v0 root handle 1: htb default 11",
                f"class add dev v0 parent 1: classid 1:11 htb {told}",
                "class show dev v0",
            ]
        return [
            "qdisc add dev v0 root handle 1: prio",
            f"filter add dev v0 parent 1: protocol all matchall action police {told} conform-exceed drop",
            "filter show dev v0",
        ]
    given: dict[str, Any] = {
        "bfifo": {"limit": "100 KB"},
        "red": {"limit": "400 KB"},
        "choke": {"limit": 1000},
        "sfq": {"redflowlimit": "100 KB"} if option == "probability" else {},
    }
    words = dict(OF[kind](**given.get(kind, {})).words(CONTEXT))
    if kind == "cake" and option in ("overhead", "mpu"):
        words = {name: value for name, value in words.items() if name != "raw"}
    told = " ".join(arguments(words | {word: said}))
    return [f"qdisc add dev v0 root {kind} {told}", "qdisc show dev v0"]


def rows() -> Iterator[tuple[str, str, Limit]]:
    for kind, options in LIMITS.items():
        for option, limit in options.items():
            if not (kind in EARLY and option in TOGETHER):
                yield kind, option, limit


def one_more(limit: Limit) -> int:
    """Beyond the highest: rates are kept in bytes per second."""
    if limit.power:
        return 2 * limit.highest
    return limit.highest + (8 if limit.unit == "bit/s" else 1)


def grid() -> Iterator[tuple[str, dict[str, int]]]:
    for limit in (1000, 2000, 5000, 10_000, 11_999, 12_000, 100_000, 400_000):
        yield "red", {"limit": limit}
    for low, high, burst in ((0, 0, 30), (30_000, 90_000, 20), (30_000, 90_000, 55), (90_000, 0, 200)):
        yield "red", {"limit": 400_000, "min": low, "max": high, "burst": burst}
    for limit in (*range(1, 16), 1000):
        yield "choke", {"limit": limit}
    for low, high, burst in (
        (10, 30, 5),
        (10, 30, 15),
        (0, 500, 0),
        (200, 100, 300),
        (83, 0, 84),
        (0, 2000, 0),
    ):
        yield "choke", {"limit": 1000, "min": low, "max": high, "burst": burst}


def early(kind: str, said: dict[str, int]) -> str:
    told = " ".join(f"{name} {value}" for name, value in said.items() if value)
    fixed = "avpkt 1000 bandwidth 1Gbit" if kind == "red" else "bandwidth 1Gbit"
    return f"qdisc add dev v0 root {kind} {told} {fixed}"


def fits(kind: str, said: dict[str, int]) -> bool:
    """What narrows says of it."""
    options = {
        name: Size(value) if kind == "red" and name != "burst" else value
        for name, value in said.items()
        if value
    }
    try:
        OF[kind](**options).words(CONTEXT)
    except SpecError:
        return False
    return True


@pytest.mark.kernel
@pytest.mark.slow
def test_the_real_tc_takes_what_the_table_says_and_not_one_more(tmp_path: Path) -> None:
    taken, beyond, commands = [], [], []
    for kind, option, limit in rows():
        lowest = 2 * 10**9 if option == "peakrate" else limit.lowest  # above the rate
        for number in (lowest, limit.highest):
            taken.append((kind, option, number))
            commands += [*lines(kind, option, text(kind, option, limit, number)), "qdisc del dev v0 root"]
        if not limit.ours:
            beyond.append((kind, option, limit, one_more(limit)))
    script = ["ip link add v0 type veth peer name v1", "exec >@out/said 2>&1"]
    script += ["tc -force -batch - <<'END'", *commands, "END", "echo ==="]
    for number, (kind, option, limit, value) in enumerate(beyond):
        *make, show = lines(kind, option, text(kind, option, limit, value))
        script += [f"echo '#{number}'", *(f"tc {line} || echo refused" for line in make), f"tc {show}"]
        script += ["tc qdisc del dev v0 root"]
    script.append("echo ===")
    for number, (kind, said) in enumerate(grid()):
        script += [
            f"tc {early(kind, said)} >/dev/null 2>&1 && {{ echo 'fits {number}'; tc qdisc del dev v0 root; }}"
        ]
    words = ["/bin/sh", "-c", "\n".join(script)]
    one = lab.plan(tmp_path, lab.SMALL + f'ask = command({words!r}, time_limit="100 s")\n')
    raw = lab.carry(one, tmp_path / "run")
    answers, refusals, fitting = (raw.raw / "said").read_text().split("===\n")
    failed = [commands[int(number) - 1] for number in re.findall(r"Command failed -:(\d+)", answers)]
    assert failed == [], "\n".join(failed)
    assert len(re.findall(r"^qdisc |^class |action order", answers, re.M)) == len(taken)

    for (kind, option, limit, value), said in zip(
        beyond, re.split(r"^#\d+\n", refusals, flags=re.M)[1:], strict=True
    ):
        cut = {"us": "4.29e+03s", "bytes": f"{option} {value}"}.get(limit.unit, "nothing of it is kept")
        # taken by tc, and cut to its lower bits: 2^32 us is shown as 0 or as the default
        kept = limit.unit in ("us", "bytes") and said.strip() and cut not in said
        assert "refused" in said or kept, (kind, option, value, said)
    assert [number for number, one in enumerate(grid()) if fits(*one)] == [
        int(number) for number in re.findall(r"fits (\d+)", fitting)
    ]


def test_every_number_that_a_queue_or_shaper_takes_is_in_the_table() -> None:
    """But what tc never sees, and RED inside sfq, whose numbers hang together as RED's do."""
    not_said = {"htb": {"ceil_factor", "burst_per_rate"}}
    not_said["sfq"] = {"redflowlimit", "min", "max", "avpkt", "burst", "probability"}
    asked = 0
    for kind, each in OF.items():
        for name, option in each.options.items():
            if name in not_said.get(kind, ()):
                continue
            if any(is_number(option.parser, said) for said in (3, "3 %", "3 KB", "3 s", "3 Mbit/s")):
                assert option.limit is not None, (kind, name)
                for number in (option.limit.lowest, option.limit.highest):  # these limits are the only ones
                    option.parser(option.limit.value(number))
                asked += 1
    assert asked > 80


def is_number(parser: Any, said: Any) -> bool:
    """Whether an option takes this, and not as a word."""
    try:
        parsed = parser(said)
    except Exception:
        return False
    return isinstance(parsed, (int, float, Size, Duration, Rate)) and not isinstance(parsed, bool)
