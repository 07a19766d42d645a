"""The sysctls that every run pins: Linux' own defaults, written out, so that no machine's settings matter.

Where a default depends on the machine's memory (tcp_rmem, tcp_wmem), the value is that of a host with 4 GB or
more; a small guest would otherwise get less. Deviations from the defaults are marked.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from narrows.errors import SpecError
from narrows.plan.model import Role, Step, Sysctl
from narrows.plan.topology import HOST_ROLES, Topology

ALL_NODES = {
    # Deviation: no IPv6, whose router solicitations and address detection would be noise on the link.
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv6.conf.default.disable_ipv6": "1",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
}

FORWARDING = {
    "net.ipv4.ip_forward": "1",
    # Deviation: a redirect would be a packet that no experiment asked for.
    "net.ipv4.conf.all.send_redirects": "0",
    "net.ipv4.conf.default.send_redirects": "0",
}

HOSTS = {
    "net.ipv4.ip_default_ttl": "64",
    "net.ipv4.ip_local_port_range": "32768 60999",
    "net.ipv4.tcp_autocorking": "1",
    "net.ipv4.tcp_comp_sack_delay_ns": "1000000",
    "net.ipv4.tcp_comp_sack_nr": "44",
    "net.ipv4.tcp_congestion_control": "cubic",
    "net.ipv4.tcp_dsack": "1",
    "net.ipv4.tcp_early_retrans": "3",
    "net.ipv4.tcp_ecn": "2",
    "net.ipv4.tcp_ecn_fallback": "1",
    "net.ipv4.tcp_fastopen": "1",
    "net.ipv4.tcp_frto": "2",
    "net.ipv4.tcp_limit_output_bytes": "4194304",
    "net.ipv4.tcp_max_reordering": "300",
    "net.ipv4.tcp_min_rtt_wlen": "300",
    "net.ipv4.tcp_min_tso_segs": "2",
    "net.ipv4.tcp_moderate_rcvbuf": "1",
    "net.ipv4.tcp_mtu_probing": "0",
    # Deviation: a connection must not inherit what an earlier one learnt of the path.
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.tcp_notsent_lowat": "4294967295",
    "net.ipv4.tcp_pacing_ca_ratio": "120",
    "net.ipv4.tcp_pacing_ss_ratio": "200",
    "net.ipv4.tcp_recovery": "1",
    "net.ipv4.tcp_reordering": "3",
    "net.ipv4.tcp_rmem": "4096 131072 33554432",
    "net.ipv4.tcp_sack": "1",
    "net.ipv4.tcp_slow_start_after_idle": "1",
    "net.ipv4.tcp_timestamps": "1",
    "net.ipv4.tcp_tso_win_divisor": "3",
    "net.ipv4.tcp_window_scaling": "1",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
}


def settings(
    topology: Topology, asked: Mapping[str, Mapping[str, str]], largest_buffer_bytes: int | None = None
) -> dict[str, dict[str, str]]:
    """By node: the defaults of its role, then what the experiment asks for "all", then for the role.

    With `largest_buffer_bytes`, TCP's buffers may grow as far, so that no flow is held back by its host.
    """
    made = {}
    for node in topology.nodes:
        own = dict(ALL_NODES)
        own.update(HOSTS if node.role in HOST_ROLES else FORWARDING)
        if largest_buffer_bytes is not None and node.role in HOST_ROLES:
            own.update(_of_many_flows(str(largest_buffer_bytes)))
        own.update(asked.get("all", {}))
        own.update(asked.get(node.role, {}))
        made[node.name] = own
    return made


def _of_many_flows(largest_buffer: str) -> dict[str, str]:
    return {
        # Receive buffers start large: no window waits for its receiver's to grow, and a thousand sockets
        # whose buffers grow would have to be read four times as often for that to go as on a real host.
        "net.ipv4.tcp_rmem": f"4096 {6 * 2**20} {largest_buffer}",
        "net.ipv4.tcp_wmem": f"4096 16384 {largest_buffer}",
        # Thousands of flows may connect within one round trip; at the defaults some SYNs are dropped.
        "net.core.somaxconn": "65535",
        "net.ipv4.tcp_max_syn_backlog": "65535",
    }


def otherwise(
    values: Mapping[str, Mapping[str, str]], usual: Mapping[str, Mapping[str, str]]
) -> tuple[Sysctl, ...]:
    """Those settings of each node that are not the usual ones."""
    return tuple(
        Sysctl(node=node, name=name, value=value)
        for node, own in values.items()
        for name, value in own.items()
        if usual[node].get(name) != value
    )


def asked_for(settings: Iterable[Sysctl]) -> tuple[str, ...]:
    """What an experiment or its flows (ECN) had set otherwise, in words: `tcp_ecn=1`, by name."""
    return tuple(sorted({f"{each.name.removeprefix('net.ipv4.')}={each.value}" for each in settings}))


def set_on_hosts(
    values: dict[str, dict[str, str]], node: str, name: str, value: str, *, asked: bool, where: str
) -> None:
    """Change a pinned value because an item needs it; an error if the experiment asked for another."""
    if asked and values[node].get(name) != value:
        raise SpecError(
            f"this needs {name}={value} at the {node}, but the link's sysctls say {values[node][name]}",
            where=where,
            remedy="remove it from sysctls, or change the item",
        )
    values[node][name] = value


def steps(topology: Topology, values: Mapping[str, Mapping[str, str]]) -> list[Step]:
    """One step per setting; IPv6 goes first, so before any interface exists."""
    return [
        _step(node.name, f"{name}={value}")
        for node in topology.nodes
        for name, value in values[node.name].items()
    ]


@lru_cache(maxsize=4096)
def _step(node: str, setting: str) -> Step:
    """The plans of a sweep share nearly all of theirs; a study has thousands of plans."""
    return Step(node=node, tool="sysctl", args=("-w", setting))


__all__ = [
    "ALL_NODES",
    "FORWARDING",
    "HOSTS",
    "Role",
    "asked_for",
    "otherwise",
    "set_on_hosts",
    "settings",
    "steps",
]
