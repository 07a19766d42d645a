"""A way to the Internet for live services, where the lab is namespaces of a host.

The path's node gets an interface whose other end is the host's, and masquerades what leaves by it, so that
the host meets one address only. Delay, jitter and loss of the way up hold there too. What the host itself has
to do (forward, masquerade) is the engine's.
"""

from narrows.plan.home import masquerade
from narrows.plan.linux import initial_state
from narrows.plan.model import Step, Uplink
from narrows.plan.topology import Topology
from narrows.spec.dumbbell import Dumbbell
from narrows.spec.link import Link

ADDRESS, HOST_ADDRESS, LENGTH = "198.18.255.2", "198.18.255.1", 30
"""Addresses of the block for benchmarks (RFC 2544): no part of the Internet has them."""
IFACE, HOST_IFACE = "uplink", "narrows-up"
PATH_CHANGES = {"base_rtt", "delay_down", "delay_up", "jitter", "jitter_up", "loss", "loss_up"}
HOST = "@host"
"""The agent's word for the namespace that it was started in, where the host's way to the Internet is."""


def uplink(topology: Topology) -> Uplink:
    return Uplink(node=topology.path, iface=IFACE, address=ADDRESS, host_address=HOST_ADDRESS)


def steps(topology: Topology, link: Link) -> tuple[Step, ...]:
    """What is set up for it, after all else."""
    node = topology.path
    if isinstance(link, Dumbbell):
        link.fail("a Dumbbell has no way to the Internet, which live() needs", "use a Link or a Home")
    if any(change.given & PATH_CHANGES for change in link.changes):
        link.fail(
            "the path changes, which the way to the Internet of live() does not follow",
            "change the rate only",
        )

    def host(*words: str) -> Step:
        return Step(node=HOST, tool="ip", args=words)

    def ip(*words: str) -> Step:
        return Step(node=node, tool="ip", args=words)

    made = [
        host("link", "add", HOST_IFACE, "type", "veth", "peer", "name", IFACE, "netns", node),
        host("addr", "add", f"{HOST_ADDRESS}/{LENGTH}", "dev", HOST_IFACE),
        host("link", "set", HOST_IFACE, "up"),
        ip("addr", "add", f"{ADDRESS}/{LENGTH}", "dev", IFACE),
        ip("link", "set", IFACE, "up"),
        ip("route", "add", "default", "via", HOST_ADDRESS, "dev", IFACE),
        *(
            Step(node=at, tool="ip", args=("route", "add", "default", "via", via, "dev", dev))
            for at, via, dev in topology.towards(node)
        ),
        *(Step(node=node, tool="nft", args=words) for words in masquerade(IFACE)),
    ]
    up = initial_state(link).paths[1]
    if not up.changes_nothing():
        words = ("qdisc", "add", "dev", IFACE, "root", "handle", "1:", *up.words())
        made.append(Step(node=node, tool="tc", args=words))
    return tuple(made)
