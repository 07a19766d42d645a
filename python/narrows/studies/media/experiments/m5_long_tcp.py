"""What does a flow of media get beside a long TCP flow? (RFC 8867, 5.6)"""

from narrows.spec import bulk
from narrows.studies.media.testbed import at, link, media, recorded

LENGTH = 120

link = link({0.0: 2.0}, reference=2.0, services=2)
media1 = media(1, start=5, stop=LENGTH)
tcp = bulk(cca="cubic", stop=at(LENGTH), host=2)
recorded()
