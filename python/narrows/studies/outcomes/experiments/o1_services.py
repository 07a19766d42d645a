"""How does each service fare in homes of every kind, beside what others do there?"""

from narrows.studies.outcomes.testbed import condition, others, recorded, services

link = condition()
service = services(host=1)
download, upload, film, conversation = (
    others(kind, service) for kind in ("download", "upload", "video", "call")
)
recorded()
