"""What the live client wrote (`client/run.mjs`): the page's load, then once a second bytes and the video.

Bytes are the browser's: bodies as they came over the network, without what TLS, QUIC and TCP add; the tap has
those. Figures of the video are NULL on a page that has none.
"""

import statistics

from narrows.errors import StoreError
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed, known_shape
from narrows.tools.services.parse import ClientLog, of_run

SERIES = (
    ("height", "live_video_height", "1"),
    ("buffer_s", "live_video_buffer", "s"),
    ("played_s", "live_video_played", "s"),
)


def parse(log: ClientLog, item: str, *, where: str = "live") -> Parsed:
    """Figures and series; a StoreError where the page never loaded."""
    parsed = Parsed()
    with known_shape(where, "what narrows' live client writes"):
        loaded, states = log.of("loaded"), log.of("state")
        if not loaded or not states:
            opened = log.times(log.of("opened"))
            how_far = f"was up after {opened[0] / 1e9:.1f} s" if opened else "never came up"
            raise StoreError(
                f"the page never loaded: its browser {how_far}", where=where, remedy="use it longer"
            )
        times = log.times(states)
        last = states[-1]
        parsed.figure("live_load_ms", loaded[0]["after_ms"], "ms")
        parsed.figure("live_bytes", last["bytes"], "bytes", "down")
        share = last["http3_bytes"] / last["bytes"] if last["bytes"] else None
        parsed.figure("live_http3_share", share, "1", "down")
        parsed.add("live_bytes", "bytes", times, [s["bytes"] for s in states], direction="down")
        videos = [(t, s["video"]) for t, s in zip(times, states, strict=True) if s["video"] is not None]
        for field, series, unit in SERIES:
            at, values = [t for t, _ in videos], [video[field] for _, video in videos]
            parsed.add(series, unit, at, values, direction="down")
        heights = [video["height"] for _, video in videos if video["height"]]
        parsed.figure("live_video_height", statistics.median_low(heights) if heights else None, "1")
        video = last["video"] or {}
        parsed.figure("live_video_played_s", video.get("played_s"), "s")
        parsed.figure("live_video_stalls", video.get("stalls"), "stalls")
        parsed.figure("live_video_stalled_ms", video.get("stalled_ms"), "ms")
        parsed.figure("live_video_frames_dropped", video.get("dropped"), "frames")
        gone = log.end["processes_gone"]
        parsed.figure("browser_processes_gone", len(gone), "processes")
        if gone:
            parsed.warnings.append(f"{item}: processes of the browser died: {', '.join(gone)}")
    return parsed


def read(ran: CommandRun) -> Parsed:
    return parse(of_run(ran), ran.item.id, where=ran.where)
