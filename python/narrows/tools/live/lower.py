"""A browser at the client, and that the path needs a way to the Internet."""

import json
from typing import Any

from narrows.plan.items import Endpoint, TrafficItem
from narrows.plan.lowering import Lowering, foreground, switches
from narrows.spec.traffic import Traffic
from narrows.tools.services.lower import BROWSER, PROFILES

RESOLVED = "/run/systemd/resolve/resolv.conf"
_BEHIND_A_STUB = f'[ -e {RESOLVED} ] && mount --bind {RESOLVED} /etc/resolv.conf; exec "$@"'
"""A resolver on the host's loopback does not answer in a namespace; the servers that it asks do."""


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """The client; its flows are all of its node's."""
    state.needs_uplink = True
    options = {
        "url": item["url"],
        "recipe": json.dumps(list(item["recipe"])),
        "patience": item["patience"].ns // 10**6,
        "quic": "on" if item["quic"] else "off",
        "resolve": ", ".join(f"MAP {name} {address}" for name, address in item["addresses"].items()) or "-",
        "browser": BROWSER,
        "profile": f"{PROFILES}/narrows-{item_id}-profile",
    }
    argv = (
        *("unshare", "--mount", "sh", "-c", _BEHIND_A_STUB, "sh"),
        *("node", "@checkout/tools/live/client/run.mjs", *switches(options)),
    )
    ends = tuple(
        Endpoint(protocol=protocol, address=state.client_address, port=None) for protocol in ("tcp", "udp")
    )
    needs: dict[str, Any] = {"programs": ("unshare", "sh", "node", BROWSER), "env": {"HOME": PROFILES}}
    return [foreground(item, item_id, "live", argv, ends, state, **needs)]
