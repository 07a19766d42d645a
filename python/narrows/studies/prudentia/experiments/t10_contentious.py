"""Which service leaves its rivals the least, and which the most?"""

from narrows.spec import pairs
from narrows.studies.prudentia.testbed import TEN, links, recorded, services

link = links()
first, second = pairs(services(TEN))
recorded()
