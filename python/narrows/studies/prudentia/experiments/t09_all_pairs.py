"""Who gets what share of its max-min fair rate, when any two of ten services meet?"""

from narrows.spec import pairs
from narrows.studies.prudentia.testbed import TEN, links, recorded, services

link = links()
first, second = pairs(services(TEN))
recorded()
