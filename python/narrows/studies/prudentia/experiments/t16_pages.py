"""How much longer does a page take beside each rival?"""

from narrows.spec import pairs
from narrows.studies.prudentia.testbed import PAGES, PAGES_LAST, RIVALS, links, recorded, services

link = links()
first, second = pairs(services(PAGES), services(RIVALS, stop=PAGES_LAST))
recorded()
