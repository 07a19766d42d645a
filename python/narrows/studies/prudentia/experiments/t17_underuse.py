"""Which pairs leave part of the link unused?"""

from narrows.spec import pairs
from narrows.studies.prudentia.testbed import TEN, links, recorded, services

link = links()
first, second = pairs(services(TEN))
recorded()
