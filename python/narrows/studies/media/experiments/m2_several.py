"""Do two flows of media follow a capacity that changes, and share it? (RFC 8867, 5.2)"""

from narrows.studies.media.testbed import link, media, recorded

LENGTH = 125

link = link({0.0: 4.0, 25.0: 2.0, 50.0: 3.5, 75.0: 1.0, 100.0: 2.0}, reference=2.0, services=2)
media1 = media(1, stop=LENGTH)
media2 = media(2, stop=LENGTH)
recorded()
