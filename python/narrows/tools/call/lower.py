"""Two browsers, each with a camera from a file; the one at the server also keeps the mailbox that both signal
through."""

from __future__ import annotations

from narrows.plan.capacity import BROWSER_BYTES
from narrows.plan.lowering import Lowering, receives
from narrows.plan.model import Command, Endpoint, Ready, TrafficItem
from narrows.spec.traffic import Traffic
from narrows.tools.services.lower import BROWSER, PROFILES, client

FRAMES_PER_S = 30
CAMERA_S = 4
SEED = 1


def camera(height: int) -> tuple[tuple[str, ...], ...]:
    """A moving picture with noise, which costs bits as a camera's does; Chromium plays it over and over."""
    width = 2 * round(height * 16 / 9 / 2)
    source = (
        f"testsrc2=size={width}x{height}:rate={FRAMES_PER_S},"
        f"noise=alls=12:allf=t:all_seed={SEED},format=yuv420p"
    )
    words = ("ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, "-t", str(CAMERA_S), "camera.y4m")
    return (words,)


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """The callee in the background, up before t = 0, and the caller."""
    place = state.content(
        f"a camera's picture of {item['height']} lines", camera(item["height"]), ("ffmpeg",)
    )
    port = state.port(item, item_id, state.server, 8080)
    at = f"{state.server_address}:{port}"
    options = {
        "url": f"http://{at}/",
        "camera": f"{place}/camera.y4m",
        "height": item["height"],
        "most": item["most"].bps,
    }
    # The media's ports are chosen by the browsers: all UDP of the server is this call's.
    ends = (
        *receives(state.server_address, port, "tcp"),
        Endpoint(protocol="udp", address=state.server_address, port=None),
    )
    caller = client(item, item_id, state, ends, {**options, "role": "caller"})
    words = [
        word for name, value in {**options, "role": "callee"}.items() for word in (f"--{name}", str(value))
    ]
    callee = Command(
        id=f"{item_id}-callee",
        item=item_id,
        tool="call-callee",
        node=state.server,
        argv=(
            *caller.argv[:2],
            *words,
            "--browser",
            BROWSER,
            "--profile",
            f"{PROFILES}/{item_id}-callee-profile",
        ),
        env=caller.env,
        stop_signal="INT",
        ok_exits=(0,),
        background=True,
        ready=Ready(tcp=at),
        endpoints=(),
        programs=caller.programs,
        files=(),
        memory_bytes=BROWSER_BYTES,
        start=caller.start,
        stop=None,
    )
    return [callee, caller]
