"""What the figures of the video read (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import Figures

FIGURES: Figures = {
    "video_start_ms": "until the first frame",
    "video_mean_rung_bps": "the bitrate that the player chose, not what the link carried",
    "video_switches": "a count of changes of the rung",
    "video_stalls": "a count of stalls",
    "video_stalled_ms": "time without a picture",
    "video_played_s": "how much was watched",
    "video_frames": "a count of frames",
    "video_frames_dropped": "a check of the trial",
    "video_frozen_ms": "a check of the trial",
    "video_top_rung_playable": "a check of the trial",
    "video_viewport_height": "a check of the trial",
    "browser_processes_gone": "a check of the trial",
}
