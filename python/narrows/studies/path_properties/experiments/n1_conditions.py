"""What does a packet log say of a path that is known, taken at the sender, midway or at the receiver?

Each path has one property that an estimator could mistake for another: a queue, an AQM, a rate that moves, a
shaper's burst, a policer, random loss, lost or thinned or waiting or delayed acknowledgements, reordering,
receive offload, a proxy.
"""

from narrows.studies.path_properties.testbed import download, links, proxy, recorded

link = links()
middlebox = proxy()
flow = download()
recorded()
