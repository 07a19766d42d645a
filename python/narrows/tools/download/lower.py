"""nginx with a sparse file, and a client that fetches it."""

from narrows.plan.items import TrafficItem
from narrows.plan.lowering import Lowering, receives
from narrows.spec.traffic import Traffic
from narrows.tools.services.lower import client, h3_server, nginx

FILE_BYTES = 10_000_000_000
"""Zeros, which nothing here compresses; they take no room."""


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    recipe = (("truncate", "-s", str(FILE_BYTES), "file.bin"),)
    place = state.content("a sparse file of 10 GB", recipe, ("truncate",))
    over_quic = item["http"] == "3"
    port, at = state.listening(item, item_id, 443 if over_quic else 80)
    cap = item["server_rate"]
    held = "" if cap is None else f"limit_rate {cap.bps // 8}; "
    locations = (
        "location / { root @checkout/tools/download/client/www; }",
        f"location = /file.bin {{ {held}root {place}; }}",
    )
    options = {
        "url": f"http{'s' * over_quic}://{at}/",
        "connections": item["connections"],
        "chunk": FILE_BYTES if item["chunk"] is None else item["chunk"].bytes,
        "batches": int(item["batches"]),
        "bytes": FILE_BYTES,
    }
    ends = receives(state.server_address, port, "udp" if over_quic else "tcp")
    browser = item["client"] == "browser"
    places = {"/": "@checkout/tools/download/client/www", "/file.bin": f"{place}/file.bin"}
    return [
        h3_server(item, item_id, state, at, places)
        if over_quic
        else nginx(item, item_id, state, at, locations),
        client(item, item_id, state, ends, options, browser=browser),
    ]
