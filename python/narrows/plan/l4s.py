"""ECT(1) for chosen flows: `tc` filters on the hosts that rewrite ECT(0), the only one that Linux' TCP sends.

What leaves a host with the port of such an item (data one way, ACKs the other) becomes ECT(1) before it is
queued anywhere; CE and Not-ECT stay. Nothing rewrites it back: TCP does not look at which ECT arrives. SYNs
lose their ECT: Linux refuses ECN to an ECT SYN unless the listener itself runs such a CCA, and iperf3's does
not.
"""

from collections.abc import Sequence

from narrows.plan.model import Step
from narrows.plan.topology import HOST_ROLES, Topology

_ECT0 = ("ip_tos", "0x2/0x3")


def _set_ecn(bits: str) -> tuple[str, ...]:
    return (
        *("action", "pedit", "ex", "munge", "ip", "tos", "set", bits, "retain", "0x3", "pipe"),
        *("action", "csum", "ip"),
    )


def qdiscs(ports: Sequence[int]) -> tuple[tuple[str, ...], ...]:
    """What the filters hang on."""
    return (("clsact",),) if ports else ()


def steps(topology: Topology, ports: Sequence[int]) -> tuple[Step, ...]:
    """The filters on every host, in both directions of the connection; none without ports."""
    if not ports:
        return ()
    made = []
    for node in topology.nodes:
        if node.role not in HOST_ROLES:
            continue
        dev = topology.of(node.name)[0].name
        made.append(Step(node=node.name, tool="tc", args=("qdisc", "add", "dev", dev, "clsact")))
        for port in ports:
            for side in ("src_port", "dst_port"):
                tcp = ("ip_proto", "tcp", *_ECT0, side, str(port))
                syn = ("pref", "1", "flower", *tcp, "tcp_flags", "0x2/0x2", *_set_ecn("0x0"))
                rest = ("pref", "2", "flower", *tcp, *_set_ecn("0x1"))
                for filter_ in (syn, rest):
                    args = ("filter", "add", "dev", dev, "egress", "protocol", "ip", *filter_)
                    made.append(Step(node=node.name, tool="tc", args=args))
    return tuple(made)
