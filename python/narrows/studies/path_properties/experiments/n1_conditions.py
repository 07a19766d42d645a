"""What does a packet log say of a path that is known, taken at the sender, midway or at the receiver?

Each path has one property that an estimator could mistake for another: a queue, an AQM, a rate that moves,
random loss, lost or thinned or waiting acknowledgements, reordering, receive offload.
"""

from narrows.spec import bulk
from narrows.studies.path_properties.testbed import links, recorded

link = links()
flow = bulk(cca="cubic", duration="15 s")
recorded()
