"""The two ends of a call, each with a camera from a file.

Of two browsers the one at the server also keeps the mailbox that both signal through. An SFU stands at the
server too: what it sends to the caller passes the bottleneck, what the callee sends to it does not.
"""

from typing import Any

from narrows.plan.capacity import BROWSER_BYTES, MIB
from narrows.plan.items import Endpoint, Ready, TrafficItem
from narrows.plan.lowering import Lowering, background, foreground, receives, switches
from narrows.spec.traffic import Traffic
from narrows.tools.call.program import Program
from narrows.tools.call.spec import call
from narrows.tools.recipe import fill
from narrows.tools.services.lower import BROWSER, PROFILES, client
from narrows.units import NS_PER_MS

SEED = 1
CAMERA = "@checkout/tools/call/client/make_camera.py"
SFU_PORT = 7880
PROGRAM = "the program of calls"
END_BYTES = 256 * MIB
"""What an end that is no browser takes: aiortc 124 MB within 8 s of 720 lines."""


def camera(height: int, state: Lowering) -> str:
    """The camera's file."""
    recipe = (("python3", CAMERA, str(height), str(SEED)),)
    return (
        state.content(f"a camera's picture of {height} lines", recipe, ("python3", "ffmpeg")) + "/camera.y4m"
    )


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """The callee in the background, up before t = 0, and the caller; an SFU before both."""
    assert isinstance(item, call)
    ends, sfu = item.ends()
    if ends is not None:
        return _of_program(item, item_id, state, ends)
    made: list[TrafficItem] = []
    port, at = state.listening(item, item_id, 8080)
    options = {"url": f"http://{at}/", **_options(item, state)}
    for name in ("initial", "codec", "degradation"):
        if item[name] is not None:
            options[name] = item[name].bps if name == "initial" else item[name]
    if sfu is not None:
        here = state.built(f"{PROGRAM} {sfu.name}", sfu)
        sfu_port = state.port(item, f"{item_id}-sfu", state.server, SFU_PORT, offset=1)
        sfu_at = f"{state.server_address}:{sfu_port}"
        options |= {"sfu": sfu_at, "join": here}
        made.append(
            background(
                f"{item_id}-sfu",
                item_id,
                "call-sfu",
                state.server,
                fill(
                    sfu.argv,
                    {"at": sfu_at, "host": state.server_address, "port": str(sfu_port), "here": here},
                ),
                sfu_at,
                programs=sfu.needs,
            )
        )
    # The media's ports are chosen by the browsers: all UDP of the server is this call's.
    caller = client(
        item, item_id, state, _ends(state, port), {**options, "sends": _sends(item, "up"), "role": "caller"}
    )
    words = switches({**options, "sends": _sends(item, "down"), "role": "callee"})
    profile = ("--browser", BROWSER, "--profile", f"{PROFILES}/{item_id}-callee-profile")
    made.append(
        caller.model_copy(
            update={
                "id": f"{item_id}-callee",
                "tool": "call-callee",
                "node": state.server,
                "argv": (*caller.argv[:2], *words, *profile),
                "background": True,
                "ready": Ready(tcp=at),
                "endpoints": (),
                "memory_bytes": BROWSER_BYTES,
                "stop": None,
            }
        )
    )
    return [*made, caller]


def _of_program(item: call, item_id: str, state: Lowering, ends: Program) -> list[TrafficItem]:
    """Both ends of a program that is no browser."""
    port, at = state.listening(item, item_id, 8080)
    common = {
        "at": at,
        "host": state.server_address,
        "port": str(port),
        "here": state.built(f"{PROGRAM} {ends.name}", ends),
        "codec": item["codec"] or ends.codecs[0],
        "pause": "-",
        **{name: str(value) for name, value in _options(item, state).items()},
    }
    callee = {"role": "callee", "mine": state.server_address, "sends": _sends(item, "down")}
    caller = {"role": "caller", "mine": state.client_address, "sends": _sends(item, "up")}
    programs = ("python3", *ends.needs) if any("venv" in word for word in ends.argv) else ends.needs
    takes: dict[str, Any] = {"programs": programs, "memory_bytes": END_BYTES}
    words = fill(ends.argv, common | caller)
    asking = foreground(item, item_id, "call", words, _ends(state, port), state, **takes)
    # It is there when the caller is: a call that waits for an answer is none yet.
    answering = background(
        f"{item_id}-callee", item_id, "call-callee", state.server, fill(ends.argv, common | callee), at,
        start=asking.start, **takes,
    )  # fmt: skip
    return [answering, asking]


def _options(item: call, state: Lowering) -> dict[str, Any]:
    sample, pause = item["sample"], (item["pause"], item["resume"])
    options = {
        "camera": camera(item["height"], state),
        "height": item["height"],
        "most": item["most"].bps,
        "audio": int(item["audio"]),
        "sample": 0 if sample is None else max(1, round(sample.ns / NS_PER_MS)),
    }
    if item["pause"] is not None:
        options["pause"] = "-".join(f"{each.ns / 1e9:g}" for each in pause)
    return options


def _sends(item: call, way: str) -> str:
    return str(int(item["sends"] in ("both", way)))


def _ends(state: Lowering, port: int) -> tuple[Endpoint, ...]:
    return (
        *receives(state.server_address, port, "tcp"),
        Endpoint(protocol="udp", address=state.server_address, port=None),
    )
