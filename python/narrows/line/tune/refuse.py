"""What is refused before anything is touched, each with its remedy."""

import os
import shutil
import socket

from narrows.errors import EngineError
from narrows.line.tune import setting, system


def root() -> None:
    """Only root sets qdiscs."""
    if os.geteuid() != 0:
        raise EngineError("tune sets qdiscs, which needs root", remedy="sudo narrows tune …, or --dry-run")


def interface(wan: str) -> None:
    """The interface exists, and it is the one towards the ISP."""
    names = system.links()
    if wan not in names:
        raise EngineError(
            f"there is no interface {wan}", remedy=f"one of {', '.join(n for n in names if n != 'lo')}"
        )
    routes = system.default_route_links()
    if wan not in routes:
        remedy = f"--wan {routes[0]}" if routes else "a default route, by which the ISP is known"
        raise EngineError(f"{wan} is not the interface of the default route", remedy=remedy)


def shaper(wan: str) -> None:
    """No `narrows shape` is at work there."""
    peer = socket.socket(socket.AF_UNIX)
    try:
        peer.connect(f"\0narrows-shape/{wan}")
    except OSError:
        return
    finally:
        peer.close()
    raise EngineError(
        f"narrows shape is at work on {wan}", remedy="stop it first; it starts again behind tune"
    )


def kernel() -> bool:
    """The kernel has what is needed; whether CAKE can see behind NAT."""
    for what, words in (
        ("IFB", ("ip", "link", "add", "ifbtune", "type", "ifb")),
        ("CAKE", ("tc", "qdisc", "add", "dev", "lo", "root", "cake")),
    ):
        said = system.kernel_can(*words)
        if said is not None:
            module = "sch_cake" if what == "CAKE" else "ifb"
            raise EngineError(
                f"this kernel has no {what} ({said.splitlines()[-1]})",
                remedy=f"modprobe {module}; on OpenWrt: opkg install kmod-{module.replace('_', '-')}",
            )
    return system.kernel_can("tc", "qdisc", "add", "dev", "lo", "root", "cake", "nat") is None


def super_packets(wan: str) -> None:
    """Nothing hands packets on in a way that passes qdiscs by or that CAKE cannot split."""
    code, text, _ = system.call("ethtool", "-k", wan)
    if code:
        return
    for feature, short in (("large-receive-offload", "lro"), ("rx-gro-hw", "rx-gro-hw")):
        if f"{feature}: on" in text:
            raise EngineError(
                f"{wan} merges packets in hardware ({feature}), which a queue cannot take apart",
                remedy=f"ethtool -K {wan} {short} off",
            )
    code, text, _ = system.call("nft", "list", "flowtables") if shutil.which("nft") else (1, "", "")
    if code == 0 and any(wan in line for line in text.splitlines() if "devices" in line):
        raise EngineError(
            f"forwarded packets pass {wan}'s queues by (a flowtable)",
            remedy="take it out of the firewall's rules",
        )


def others(wan: str, ifb: str, *, replace: bool) -> tuple[str, ...] | None:
    """Nobody else's qdiscs are in the way; with `replace` the words that bring such a root qdisc back."""
    if ifb in system.links():
        raise EngineError(f"{ifb} exists already", remedy="--ifb with another name, or ip link del")
    text = system.qdiscs(wan)
    line = setting.set_by_somebody(text)
    if line is None:
        return None
    if not replace:
        raise EngineError(
            f"{wan} has a qdisc that somebody set: {line}", remedy="--replace; --undo brings it back"
        )
    if len(text.strip().splitlines()) != 1:
        raise EngineError(
            f"{wan} has more than one qdisc, which could not be given back: {line}",
            remedy=f"tc qdisc del dev {wan} root",
        )
    words = setting.words_again(line)
    again = "tc qdisc add dev lo root {} && tc qdisc show dev lo".format(" ".join(words))
    _, shown, said = system.call("unshare", "-n", "sh", "-c", again)
    if setting.words_again(shown.strip() or "qdisc none 0: root") != words:
        raise EngineError(
            f"{line}: could not be given back equal to the byte{f' ({said})' if said else ''}",
            remedy=f"tc qdisc del dev {wan} root, and set it again after --undo",
        )
    return words
