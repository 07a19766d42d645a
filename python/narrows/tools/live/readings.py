"""What the figures of a live page mean (`narrows.tools.reading`)."""

from narrows.tools.reading import CHECK, LESS, MORE, Figure, Figures, Series

FIGURES: Figures = {
    "live_load_ms": Figure("load time", LESS, headline=True),
    "live_bytes": Figure("bytes that came over the network"),
    "live_video_height": Figure("lines of the picture", MORE),
    "live_video_played_s": Figure("time watched", MORE),
    "live_video_stalls": Figure("stalls", LESS, headline=True),
    "live_video_stalled_ms": Figure("time without a picture", LESS),
    "live_http3_share": Figure("share that came by QUIC", CHECK),
    "live_video_frames_dropped": Figure("frames dropped", CHECK),
    "browser_processes_gone": Figure("processes of the browser that died", CHECK),
}

SERIES = {
    "live_bytes": Series("bitrate", counts=True),
    "live_video_height": Series("height of the picture", steps=True, unit="lines"),
    "live_video_buffer": Series("playback buffer"),
    "live_video_played": Series("time watched", folded=True),
}
