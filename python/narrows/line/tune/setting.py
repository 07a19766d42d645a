"""What is set, as the lines that a person would type, and what takes it away again. Pure."""

from dataclasses import dataclass
from typing import Literal

from narrows.plan.model import Counted
from narrows.plan.wire import counted_bytes

HANDLE = "4e00:"
"""The handle of what tune sets, by which it knows its own."""
Lines = tuple[tuple[str, ...], ...]

Cells = Literal["none", "atm", "ptm"]
LINKS: dict[str, tuple[int, int, Cells, str]] = {
    "ethernet": (38, 84, "none", "Ethernet with preamble and gap: 38 bytes a packet, at least 84"),
    "docsis": (18, 64, "none", "cable: 18 bytes a packet, at least 64"),
    "ptm": (30, 64, "ptm", "VDSL2 with PPPoE and a VLAN: 30 bytes a packet, and one more for each 64"),
    "atm": (40, 0, "atm", "ADSL with PPPoE, LLC and SNAP: 40 bytes a packet, in cells of 53 for each 48"),
    "none": (0, 0, "none", "nothing beyond the IP packet"),
}
"""Overhead and least size of a packet [bytes], its cells, and their words, as CAKE's own words have them."""
DIFFSERV = {
    "besteffort": "one tin: marks are not looked at",
    "diffserv3": "three tins, CAKE's default: EF and CS6 first, CS1 and LE last; CS5 is best effort",
    "diffserv4": "four tins: as three, and video (CS3, AF3x, AF4x); CS5 is first",
}


@dataclass(frozen=True)
class Setting:
    """What the person asked for."""

    wan: str
    ifb: str
    share: float
    link: str
    diffserv: str
    nat: bool

    def bandwidth_bps(self, ip_bps: float, packet_bytes: int) -> int:
        """What CAKE is told: a share of a rate of IP packets of so many bytes, as CAKE counts them."""
        overhead, mpu, cells, _ = LINKS[self.link]
        counted = Counted(of="ip", overhead_bytes=overhead, mpu_bytes=mpu, cells=cells)
        return int(ip_bps * counted_bytes(counted, packet_bytes) / packet_bytes * self.share / 100)

    def cake(self, iface: str, bps: int, *, ingress: bool) -> tuple[str, ...]:
        """The line of one way."""
        overhead, mpu, cells, _ = LINKS[self.link]
        words = ["tc", "qdisc", "replace", "dev", iface, "root", "handle", HANDLE, "cake"]
        words += ["bandwidth", f"{bps // 1000}kbit", self.diffserv, "nat" if self.nat else "nonat"]
        words += [*([cells] if cells != "none" else []), "overhead", str(overhead), "mpu", str(mpu)]
        return tuple(words + (["ingress"] if ingress else []))

    def lines(self, down_bps: int, up_bps: int) -> Lines:
        """All that is done, in order."""
        redirect = ("matchall", "action", "mirred", "egress", "redirect", "dev", self.ifb)
        return (
            ("ip", "link", "add", self.ifb, "type", "ifb"),
            ("ip", "link", "set", self.ifb, "up"),
            self.cake(self.ifb, down_bps, ingress=True),
            ("tc", "qdisc", "add", "dev", self.wan, "handle", "ffff:", "ingress"),
            ("tc", "filter", "add", "dev", self.wan, "parent", "ffff:", "protocol", "all", *redirect),
            self.cake(self.wan, up_bps, ingress=False),
        )

    def explained(self) -> tuple[str, ...]:
        """Each word that is not about the rate."""
        return (
            f"share {self.share:g} %: below the ISP's rate, so that packets wait here and not there",
            f"overhead {LINKS[self.link][0]} ({self.link}): {LINKS[self.link][3]}",
            "ingress: what CAKE drops has already passed the ISP, and counts",
            f"{self.diffserv}: {DIFFSERV[self.diffserv]}",
            "nat: hosts behind this router are told apart" if self.nat else
            "nonat: this kernel has no connection tracking, so hosts behind NAT count as one",
        )  # fmt: skip


def undo_lines(wan: str, ifb: str, earlier: tuple[str, ...] | None) -> Lines:
    """What takes it away; each may find nothing to do. `earlier`: the words of the root qdisc before."""
    back = () if earlier is None else (("tc", "qdisc", "replace", "dev", wan, "root", *earlier),)
    return (
        ("tc", "qdisc", "del", "dev", wan, "root"),
        *back,
        ("tc", "qdisc", "del", "dev", wan, "ingress"),
        ("ip", "link", "del", ifb),
    )


def set_by_somebody(text: str) -> str | None:
    """The qdisc that is neither the kernel's own choice (those have no handle) nor ours, if there is one."""
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 3 and words[2] not in ("0:", HANDLE):
            return line.strip()
    return None


def is_ours(text: str) -> bool:
    """Whether the root qdisc is one that tune set."""
    line = next((line for line in text.splitlines() if " root " in f"{line} "), None)
    return line is not None and line.split()[2] == HANDLE


def words_again(line: str) -> tuple[str, ...]:
    """The words that `tc qdisc add … root` needs to make the qdisc of a line of `tc qdisc show`."""
    words = line.split()
    kind, handle, rest = words[1], words[2], words[3:]
    made: list[str] = []
    at = 0
    while at < len(rest):
        word = rest[at]
        if word == "root" or word == "parent":
            at += 1 if word == "root" else 2
        elif word == "refcnt":
            at += 2
        elif word == "limit" and at + 1 < len(rest):
            made += [word, rest[at + 1].removesuffix("p")]
            at += 2
        else:
            made.append(word)
            at += 1
    return ("handle", handle, kind, *made)
