"""What do two flows of media get beside short TCP flows? (RFC 8867, 5.7)"""

import random

from narrows.spec import sample
from narrows.studies.media.testbed import link, media, recorded, short_transfers

LENGTH = 300
FLOWS, MEAN_IDLE_S = 10, 10.0
# Each of ten sources sends 40 KB after an idle time that is drawn from an exponential distribution.
dice = random.Random(1)
times = []
for _ in range(FLOWS):
    second = dice.expovariate(1 / MEAN_IDLE_S)
    while second < LENGTH - 10:
        times.append(round(second, 2))
        second += dice.expovariate(1 / MEAN_IDLE_S)

link = link({0.0: 2.0}, reference=2.0, services=3)
media1 = media(1, start=5, stop=LENGTH)
media2 = media(2, start=5, stop=LENGTH)
short = short_transfers(len(times), 3, sorted(times))
recorded()
sample(tcp_info=None)  # three hundred flows that may starve: a gigabyte of samples that nothing asks for
