"""nginx with a ladder that ffmpeg makes, and a browser with the player's page."""

from narrows.plan.items import TrafficItem
from narrows.plan.lowering import Lowering, receives
from narrows.spec.traffic import Traffic
from narrows.tools.services.lower import client, h3_server, nginx
from narrows.tools.video.spec import RUNGS_MBPS

BASE_S = 30
"""So much is encoded; the rest repeats it."""
STEP_S = 60
"""Contents have lengths in such steps, so that runs of nearly one length share them."""
AHEAD_S = 60
"""What a player may have fetched ahead when it is stopped: it must not come to the end."""
SEGMENT_S, FRAMES_PER_S = 4, 30
SEED = 1
HEIGHTS = (240, 360, 480, 540, 720, 900)
TOP_HEIGHT = 1080
PACKAGES = "@checkout/tools/video/client/node_modules"
PLAYERS = {
    "dash.js": "dashjs/dist/modern/umd/dash.all.min.js",
    "hls.js": "hls.js/dist/hls.min.js",
    "shaka": "shaka-player/dist/shaka-player.compiled.js",
}


def rungs(top_mbps: float) -> list[tuple[int, float]]:
    """Height and Mbit/s of each rung, from the lowest; none is nearer to the top than two thirds of it."""
    below = [(h, r) for h, r in zip(HEIGHTS, RUNGS_MBPS, strict=True) if r <= top_mbps * 0.67]
    return [*below, (TOP_HEIGHT, top_mbps)]


def ladder(top_mbps: float, length_s: int) -> tuple[tuple[str, ...], ...]:
    """ffmpeg's commands: noise over a moving picture, seeded, so that sizes of segments vary as a film's do;
    then both kinds of manifest over one set of segments."""
    made = rungs(top_mbps)
    frames = SEGMENT_S * FRAMES_PER_S
    source = (
        f"testsrc2=size=1920x{TOP_HEIGHT}:rate={FRAMES_PER_S},noise=alls=10:allf=t:all_seed={SEED},"
        f"noise=alls=30:allf=t:all_seed={SEED + 1}:enable='lt(mod(t,11),5)'"
    )
    encode = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, "-t", str(BASE_S)]
    for height, mbps in made:
        rate = f"{round(mbps * 1000)}k"
        encode += [
            "-map", "0:v", "-vf", f"scale=-2:{height}", "-c:v", "libx264", "-preset", "ultrafast",
            "-pix_fmt", "yuv420p", "-threads", "2", "-g", str(frames), "-keyint_min", str(frames),
            "-sc_threshold", "0", "-b:v", rate, "-maxrate", f"{round(mbps * 1500)}k",
            "-bufsize", f"{round(mbps * 4000)}k", "-t", str(BASE_S), f"{height}.mp4",
        ]  # fmt: skip
    pack = ["ffmpeg", "-v", "error"]
    for height, _ in made:
        pack += ["-stream_loop", str(-(-length_s // BASE_S) - 1), "-i", f"{height}.mp4"]
    for number in range(len(made)):
        pack += ["-map", f"{number}:v"]
    for number, (_, mbps) in enumerate(made):
        pack += [f"-b:v:{number}", f"{round(mbps * 1000)}k"]  # what the manifest says of the rung
    pack += [
        "-c", "copy", "-t", str(length_s), "-seg_duration", str(SEGMENT_S), "-use_template", "1",
        "-use_timeline", "0", "-adaptation_sets", "id=0,streams=v", "-hls_playlist", "1", "-f", "dash",
        "m.mpd",
    ]  # fmt: skip
    return (tuple(encode), tuple(pack), ("rm", *(f"{height}.mp4" for height, _ in made)))


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    timing = state.times.of(item_id)
    used_ns = timing.latest_end_ns - timing.expected_start_ns
    length_s = -(-(used_ns // 10**9 + AHEAD_S) // STEP_S) * STEP_S
    top_mbps = item["top"].bps / 1e6
    place = state.content(
        f"a video of {length_s} s with rungs up to {top_mbps:g} Mbit/s",
        ladder(top_mbps, length_s),
        ("ffmpeg",),
    )
    over_quic = item["http"] == "3"
    port, at = state.listening(item, item_id, 443 if over_quic else 80)
    locations = (
        "location / { root @checkout/tools/video/client/www; }",
        f"location /media/ {{ alias {place}/; }}",
        f"location = /player.js {{ alias {PACKAGES}/{PLAYERS[item['player']]}; }}",
    )
    places = {
        "/": "@checkout/tools/video/client/www",
        "/media/": place,
        "/player.js": f"{PACKAGES}/{PLAYERS[item['player']]}",
    }
    return [
        h3_server(item, item_id, state, at, places)
        if over_quic
        else nginx(item, item_id, state, at, locations),
        client(
            item,
            item_id,
            state,
            receives(state.server_address, port, "udp" if over_quic else "tcp"),
            {
                "url": f"http{'s' * over_quic}://{at}/",
                "player": item["player"],
                "flows": item["flows"],
                "top": item["top"].bps,
            },
        ),
    ]
