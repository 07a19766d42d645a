"""Do three flows of media that come one after the other share a link? (RFC 8867, 5.4)"""

from narrows.studies.media.testbed import link, media, recorded

LENGTH = 120

link = link({0.0: 3.5}, reference=3.5, services=3)
media1 = media(1, stop=LENGTH)
media2 = media(2, start=20, stop=LENGTH)
media3 = media(3, start=40, stop=LENGTH)
recorded()
