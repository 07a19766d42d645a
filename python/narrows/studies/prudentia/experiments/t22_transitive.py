"""If a is fair to b and b to c, is a fair to c?"""

from narrows.spec import pairs
from narrows.studies.prudentia.testbed import TEN, links, recorded, services

link = links()
first, second = pairs(services(TEN))
recorded()
