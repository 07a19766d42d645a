"""What do tests score in homes of every kind, beside what others do there?"""

from narrows.spec import axis, ndt7, rpm, udp_probe, with_
from narrows.studies.outcomes.testbed import START, condition, others, recorded

link = condition()
test = axis("test", {"ndt7": ndt7(start=START, host=1), "rpm": rpm(start=START, host=1)})
probe = udp_probe(interval="20 ms", stop=with_(test), host=1)
download, upload, film, conversation = (
    others(kind, test) for kind in ("download", "upload", "video", "call")
)
recorded()
