"""What the figures of a live page read (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import Figures

FIGURES: Figures = {
    "live_load_ms": "until the load event",
    "live_bytes": "what came over the network, by the browser's own count",
    "live_http3_share": "a check of the trial: how much came by QUIC",
    "live_video_height": "of the picture, not of the link",
    "live_video_played_s": "how much was watched",
    "live_video_stalls": "a count of stalls",
    "live_video_stalled_ms": "time without a picture",
    "live_video_frames_dropped": "a check of the trial",
    "browser_processes_gone": "a check of the trial",
}
