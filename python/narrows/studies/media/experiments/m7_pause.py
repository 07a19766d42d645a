"""What becomes of three flows of media when one pauses and resumes? (RFC 8867, 5.8)"""

from narrows.studies.media.testbed import at, link, media, recorded

LENGTH = 120

link = link({0.0: 3.5}, reference=3.5, services=3)
media1 = media(1, stop=LENGTH, pause=at(40), resume=at(60))
media2 = media(2, stop=LENGTH)
media3 = media(3, stop=LENGTH)
recorded()
