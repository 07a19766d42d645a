"""HAProxy and the rule of nftables that hands it what comes by."""

from narrows.plan.items import TrafficItem
from narrows.plan.lowering import Lowering, background
from narrows.spec.dumbbell import Dumbbell
from narrows.spec.traffic import Traffic

_CONFIGURATION = """global
 maxconn 4096
 nbthread 1
defaults
 mode tcp
 timeout connect 10s
 timeout client 1h
 timeout server 1h
frontend all
 bind {at}
 default_backend wanted
backend wanted
 server wanted 0.0.0.0
"""
"""`0.0.0.0`: the address, and the port, that the client wanted (SO_ORIGINAL_DST)."""
_RULES = """add table ip split_tcp
add chain ip split_tcp prerouting {{ type nat hook prerouting priority -100 ; }}
add rule ip split_tcp prerouting meta l4proto tcp dnat to {at}
"""
_START = (
    'printf %s "$RULES" | nft -f - && printf %s "$CONFIGURATION" >"@out/{name}.cfg" && '
    'exec haproxy -db -f "@out/{name}.cfg"'
)


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """One background command, up before t = 0."""
    topology = state.topology
    if isinstance(state.run.link, Dumbbell):
        item.fail("a Dumbbell has no node in the middle of its paths", "link = Link(…)")
    at = f"{topology.of(topology.path)[0].address}:{item['port']}"
    argv, env = ("sh", "-c", _START.format(name=item_id)), {"RULES": _RULES, "CONFIGURATION": _CONFIGURATION}
    made = background(
        item_id, item_id, "split_tcp", topology.path, argv, at, stop_signal="TERM", ok_exits=(0, 143),
        env={name: text.format(at=at) for name, text in env.items()}, programs=("sh", "nft", "haproxy"),
    )  # fmt: skip
    return [made]
