"""NDT7: our server and client, or the official ones."""

from narrows.plan.items import TrafficItem
from narrows.plan.lowering import Lowering, background, foreground, receives, started
from narrows.spec.traffic import Traffic

NDT7_PORT, NDT7_TLS_PORT, NDT7_NEXT_PORT = 80, 443, 8080

JS_CLIENT = ("node", "@checkout/tools/ndt7/client/run.mjs")
"""M-Lab's own client from npm, in the package narrows."""

OFFICIAL_SERVER = "ndt-server"
UNUSED_ADDRESSES = ("ndt5_addr", "ndt5_ws_addr", "ndt5_wss_addr", "health_addr", "prometheusx.listen-address")
"""Where the official server listens besides; two of them in one node must not meet."""
ANY_LOCAL_PORT = "127.0.0.1:0"


def _official_server(server_id: str, at: str, address: str, *, tls: bool) -> tuple[str, ...]:
    """M-Lab's ndt-server. It makes no certificate of its own: the agent makes one, and becomes the server."""
    used, unused = ("ndt7_addr", "ndt7_addr_cleartext") if tls else ("ndt7_addr_cleartext", "ndt7_addr")
    listen = {used: at} | dict.fromkeys((unused, *UNUSED_ADDRESSES), ANY_LOCAL_PORT)
    words = [f"-{name}={where}" for name, where in listen.items()]
    server = (OFFICIAL_SERVER, *words, f"-datadir=@out/{server_id}", "-compress-results=false")
    if not tls:
        return server
    cert, key = f"@out/{server_id}.crt", f"@out/{server_id}.key"
    files = ("--name", address, "--cert", cert, "--key", key)
    return ("@agent", "certified", *files, "--", *server, f"-cert={cert}", f"-key={key}")


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    tls = item["tls"]
    port, at = state.listening(item, item_id, NDT7_TLS_PORT if tls else NDT7_PORT, NDT7_NEXT_PORT)
    scheme = "wss" if tls else "ws"
    server_id = f"{item_id}-server"
    tests = ",".join(item["tests"])

    server: tuple[str, ...]
    client: tuple[str, ...]
    if item["server"] == "narrows":
        server = ("@agent", "ndt7-server", "--listen", at, "--log", f"@out/{server_id}.jsonl")
        server += (*(("--tls",) if tls else ()), *(("--cca", item["cca"]) if item["cca"] else ()))
        programs = started(server)
    else:
        server = _official_server(server_id, at, state.server_address, tls=tls)
        programs = (OFFICIAL_SERVER,)

    if item["client"] == "narrows":
        client = ("@agent", "ndt7-client", "--server", f"{scheme}://{at}", "--tests", tests)
        client += (*(("--insecure",) if tls else ()), *(("--cca", item["cca"]) if item["cca"] else ()))
    elif item["client"] == "ndt7-client":
        switches = tuple(f"-{t}={'true' if t in item['tests'] else 'false'}" for t in ("download", "upload"))
        client = ("ndt7-client", "-server", at, "-scheme", scheme, "-no-verify", "-format", "json", *switches)
    else:
        client = (*JS_CLIENT, "--server", f"{scheme}://{at}", "--tests", tests)
        client += ("--insecure",) if tls else ()

    ends, cca = receives(state.server_address, port, "tcp"), item["cca"]
    return [
        background(server_id, item_id, "ndt7-server", state.server, server, at, programs=programs, cca=cca),
        foreground(
            item, item_id, "ndt7", client, ends, state, cca=cca if item["client"] == "narrows" else None
        ),
    ]
