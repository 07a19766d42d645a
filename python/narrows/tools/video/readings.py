"""What the figures of the video mean (`narrows.tools.reading`)."""

from narrows.tools.reading import CHECK, LESS, MORE, Figure, Figures, Series

FIGURES: Figures = {
    "video_mean_rung_bps": Figure("mean bitrate chosen by the player", MORE, headline=True),
    "video_stalls": Figure("stalls", LESS, headline=True),
    "video_stalled_ms": Figure("time without a picture", LESS),
    "video_start_ms": Figure("time until the first frame", LESS),
    "video_switches": Figure("changes of the rung", LESS),
    "video_played_s": Figure("time watched"),
    "video_frames": Figure("frames shown"),
    "video_frames_dropped": Figure("frames dropped", CHECK),
    "video_frozen_ms": Figure("longest time that the picture stood still with more in the buffer", CHECK),
    "video_top_rung_playable": Figure("whether the browser believes that it can play the top rung", CHECK),
    "video_viewport_height": Figure("lines of the window", CHECK),
    "browser_processes_gone": Figure("processes of the browser that died", CHECK),
}

SERIES = {
    "video_rung": Series("rung chosen by the player", steps=True),
    "video_height": Series("height of the picture", steps=True, unit="lines"),
    "video_buffer": Series("playback buffer"),
    "video_played": Series("time watched", folded=True),
    "video_frames_dropped": Series("frames dropped", folded=True),
}
