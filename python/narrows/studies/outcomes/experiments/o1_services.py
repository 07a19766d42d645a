"""How does each service fare in homes of every kind, beside what others do there?"""

from narrows.spec import axis, bulk, call, page, udp_probe, video
from narrows.studies.outcomes.testbed import START, condition, others, recorded

link = condition()
service = axis(
    "service",
    {
        "video": video(start=START, duration="20 s", host=1),
        "page": page(start=START, loads=1, every="15 s", host=1),
        "call": call(start=START, duration="12 s", host=1),
        "game": udp_probe(start=START, duration="20 s", interval="20 ms", payload="120 B", host=1),
        "download": bulk(start=START, bytes="10 MB", cca="cubic", host=1),
    },
)
download, upload, film, conversation = (
    others(kind, service) for kind in ("download", "upload", "video", "call")
)
recorded()
