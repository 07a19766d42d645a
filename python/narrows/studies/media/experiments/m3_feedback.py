"""Does a flow of media follow its capacity while the way of its feedback is congested? (RFC 8867, 5.3)"""

from narrows.studies.media.testbed import link, media, recorded

LENGTH = 100

link = link(
    {0.0: 2.0, 20.0: 1.0, 40.0: 0.5, 60.0: 2.0},
    up={0.0: 2.0, 35.0: 0.8, 70.0: 2.0},
    reference=1.0,
    services=1,
)
media1 = media(1, stop=LENGTH, sends="both")
recorded()
