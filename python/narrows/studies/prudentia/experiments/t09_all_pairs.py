"""Who gets what share of its max-min fair rate, when any two of ten services meet?

Which service leaves its rivals least and most, which pairs leave part of the link unused, whose packets are
lost, whether a is fair to c where a is to b and b to c, and who gets something else in every trial is asked
of the same trials (T10, T17, T18, T22, T23).
"""

from narrows.spec import pairs
from narrows.studies.prudentia.testbed import TEN, links, recorded, services

link = links()
first, second = pairs(services(TEN))
recorded()
