"""What services have in common: nginx with a configuration that stands in the plan, and a client that drives
a browser.

The server has no switch for its CCA: nginx takes that of its namespace, which is the node's sysctl.
"""

from collections.abc import Iterable
from typing import Any

from narrows.plan.capacity import BROWSER_BYTES
from narrows.plan.items import Command, Endpoint
from narrows.plan.lowering import Lowering, background, carries_quic, foreground, switches
from narrows.spec.traffic import Traffic
from narrows.tools import folder
from narrows.tools.services.spec import HTTP3_CCAS

BROWSER = "chromium"
PROFILES = "/tmp"
"""In the guest: its own, and gone with it."""
DRIVER = "@checkout/tools/services/client/browser.mjs"
"""Where what browsers share lies: clients import it."""

_NGINX = """daemon off; pid /run/{name}.pid; error_log stderr; worker_processes 1; user root;
events {{ worker_connections 1024; }}
http {{
 access_log off; sendfile on; tcp_nodelay on; keepalive_timeout 75s; keepalive_requests 100000;
 client_body_temp_path /run/{name}-1; proxy_temp_path /run/{name}-2; fastcgi_temp_path /run/{name}-3;
 uwsgi_temp_path /run/{name}-4; scgi_temp_path /run/{name}-5;
 types {{ text/html html; text/css css; text/javascript js mjs; image/png png; application/dash+xml mpd;
  application/vnd.apple.mpegurl m3u8; video/iso.segment m4s; video/mp4 mp4; }}
 server {{ listen {at}; {locations} }}
}}
"""
_START = 'printf %s "$CONFIGURATION" >"@out/{name}.conf" && exec nginx -e stderr -c "@out/{name}.conf"'


def nginx(item: Traffic, item_id: str, state: Lowering, at: str, locations: Iterable[str]) -> Command:
    """nginx at an address, in the item's server node, in the background; its node gets the item's CCA."""
    name = f"{item_id}-server"
    state.set_cca(item_id, state.server, item["cca"])
    text = _NGINX.format(name=name, at=at, locations=" ".join(locations))
    argv, programs = ("sh", "-c", _START.format(name=name)), ("sh", "nginx")
    return background(
        name, item_id, f"{type(item).__name__}-nginx", state.server, argv, at, cca=item["cca"],
        env={"CONFIGURATION": text}, stop_signal="QUIT", programs=programs,
    )  # fmt: skip


def h3_server(item: Traffic, item_id: str, state: Lowering, at: str, places: dict[str, str]) -> Command:
    """An HTTP/3 server at an address, in the item's server node, in the background. `places`: folders (the
    prefix ends in `/`) and files by the prefix of their path."""
    carries_quic(item, state)
    name = f"{item_id}-server"
    listed = ",".join(f"{prefix}={place}" for prefix, place in places.items())
    cca = item["cca"] or HTTP3_CCAS[0]
    words = ("--cca", cca, "--write-cert", certificate(item_id))
    argv = ("@agent", "h3-server", "--listen", at, "--places", listed, *words)
    return background(name, item_id, f"{type(item).__name__}-h3", state.server, argv, at, cca=cca)


def certificate(item_id: str) -> str:
    """Where the server of an item leaves its certificate, which its client trusts."""
    return f"@out/{item_id}-server.pem"


def client(
    item: Traffic,
    item_id: str,
    state: Lowering,
    endpoints: tuple[Endpoint, ...],
    options: dict[str, Any],
    *,
    browser: bool = True,
) -> Command:
    """The tool's `client/run.mjs`, in the item's client node, with options as `--name value`. In a tool of a
    person's own it imports the driver of browsers from `process.env.BROWSER_DRIVER`."""
    tool = type(item).__name__
    place = f"@checkout/tools/{tool}" if folder.of(type(item)) is None else "@tool"
    words = switches(options)
    if browser and item.values.get("http") == "3":
        words += ["--trust", certificate(item_id)]
    if browser:
        words += ["--browser", BROWSER, "--profile", f"{PROFILES}/{item_id}-profile"]
    argv = ("node", f"{place}/client/run.mjs", *words)
    driver = {} if place != "@tool" else {"BROWSER_DRIVER": DRIVER}
    env, programs = {"HOME": PROFILES, **driver}, ("node", BROWSER)
    needs: dict[str, Any] = (
        {"programs": programs, "memory_bytes": BROWSER_BYTES, "env": env} if browser else {}
    )
    return foreground(item, item_id, tool, argv, endpoints, state, **needs)
