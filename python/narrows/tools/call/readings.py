"""What the figures of the call mean (`narrows.tools.reading`)."""

from narrows.tools.reading import CHECK, LESS, MORE, Figure, Figures, Series

FIGURES: Figures = {
    "call_height": Figure("lines of the picture in most seconds", MORE),
    "call_frame_rate": Figure("frames a second", MORE),
    "call_freezes_per_min": Figure("freezes a minute", LESS, headline=True),
    "call_frozen_share": Figure("share of the time that the picture was frozen", LESS),
    "call_longest_gap_ms": Figure("longest time without a new frame", LESS),
    "call_frame_delay_p50_ms": Figure("time from camera to screen, median frame", LESS, headline=True),
    "call_frame_delay_p95_ms": Figure("time from camera to screen, 95th percentile", LESS),
    "call_ssim": Figure("likeness to the camera's picture (SSIM)", MORE),
    "call_concealed_share": Figure("share of the sound that was made up", LESS),
    "call_received_bps": Figure("video received"),
    "call_sent_bps": Figure("video sent"),
    "call_target_bps": Figure("target of the encoder"),
    "call_quantiser": Figure("mean quantiser of the encoder"),
    "call_connected_ms": Figure("time until the two ends were connected", LESS),
    "call_whole_after_ms": Figure("time until all lines were there", LESS),
    "call_loss_ratio": Figure("share of packets lost", LESS),
    "call_packets_received": Figure("packets received"),
    "call_packets_lost": Figure("packets lost", LESS),
    "call_packets_dropped": Figure("packets dropped by the queue"),
    "call_packets_again": Figure("packets sent again that arrived"),
    "call_packets_fec": Figure("packets of forward error correction"),
    "call_nacks": Figure("requests to send again (NACK)"),
    "call_plis": Figure("requests of a whole picture (PLI)"),
    "call_jitter_buffer_ms": Figure("time in the jitter buffer"),
    "call_cpu_limited_s": Figure("time limited by the processor", CHECK),
}

OF_THE_RUN: Figures = {"late_packets_share": Figure("share of packets with a round trip above 190 ms", LESS)}
"""Numbers of the run, downstream, that are shown as the item's own."""

SERIES = {
    "call_height": Series("height of the picture", steps=True, unit="lines"),
    "call_frame_rate": Series("frames shown"),
    "call_bytes": Series("bitrate", counts=True),
    "call_rate": Series("rate of the video that came"),
    "call_lost": Series("packets lost"),
    "call_freezes": Series("freezes"),
    "call_jitter_buffer": Series("delay in the jitter buffer"),
    "call_target": Series("rate that the sender aims at"),
    "call_sent_rate": Series("rate of the video that was sent"),
    "call_frame_delay": Series("camera to screen"),
    "call_ssim": Series("likeness of the picture (SSIM)"),
}
