from narrows.judging.parts import Mark, Measure, Read, figure, percent
from narrows.studies.last_hop.claims.measures import LastHop
from narrows.studies.last_hop.testbed import MEDIA

PART = 0.9


def _of_service(name: str) -> Read:
    down, both = figure("service", name), figure("service", name, direction=None)
    return lambda run: both(run) if (value := down(run)) is None else value


MEAN = Measure("mean bitrate", "bit/s", _of_service("video_mean_rung_bps"), {"service": "video"})
LINES = Measure("lines", "lines", _of_service("call_height"), {"service": "call"})
STALLED = Measure("time without a picture", "ms", _of_service("video_stalled_ms"))
LATE = Measure("camera to screen, p95", "ms", _of_service("call_frame_delay_p95_ms"))
WORDS = f"at least {percent(PART)} of what they show on a rate"
judge = LastHop(
    "B5",
    "A video and a call beside a download fare on every medium as they do on a rate",
    "What whoever emulates an access by a rate takes for granted",
    "b3_services.py",
    by=("service", "medium", "place"),
    measures=(MEAN, LINES, STALLED, LATE),
    marks=tuple(
        Mark(WORDS, of.name, PART, where={"medium": tuple(MEDIA)}, against={"medium": "rate"})
        for of in (MEAN, LINES)
    ),
)
