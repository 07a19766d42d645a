"""Which services get something else in every trial?"""

from narrows.spec import pairs
from narrows.studies.prudentia.testbed import TEN, links, recorded, services

link = links()
first, second = pairs(services(TEN))
recorded()
