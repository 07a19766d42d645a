"""Does a flow of media follow a capacity that changes? (RFC 8867, 5.1)"""

from narrows.studies.media.testbed import link, media, recorded

LENGTH = 100

link = link({0.0: 1.0, 40.0: 2.5, 60.0: 0.6, 80.0: 1.0}, reference=1.0, services=1)
media1 = media(1, stop=LENGTH)
recorded()
