"""Does a queue of twice the size change who gets what?"""

from narrows.spec import axis, pairs
from narrows.studies.prudentia.testbed import links, recorded, services

link = axis("queue", {"usual": links(), "double": links(queue=2)})
first, second = pairs(services(("reno", "cubic", "batches")))
recorded()
