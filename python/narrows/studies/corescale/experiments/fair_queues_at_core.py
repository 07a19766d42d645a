"""Does a fair queue keep a thousand flows fair, when it has hardly more queues than there are flows?

FQ-CoDel, FQ-PIE and CAKE put flows into 1024 queues by a hash of their addresses. A thousand flows, 10
Gbit/s, 20 ms: those whose hashes are the same share a queue (CAKE looks for a free one among eight). Beside
them the AQMs of one queue, and FQ-CoDel with 32 times as many. Queues keep Linux' other defaults; the limits
of CoDel and PIE (1000 packets) are 1.2 ms at this rate.
"""

from narrows.spec import Dumbbell, axis, cake, codel, fq_codel, fq_pie, pair, pie
from narrows.studies.corescale.testbed import MIXES, Setting, counted, in_mixes

CORE = Setting("10 Gbit/s", "375 MB", 1000, "5 s", "15 s", "45 s")
QUEUES = {
    "codel": codel(),
    "pie": pie(),
    "fq_codel": fq_codel(ecn=False),
    "fq_codel_32768": fq_codel(ecn=False, flows=32768),
    "fq_pie": fq_pie(),
    "cake": cake(),
}

link = Dumbbell(rate=CORE.rate, queue=axis("queue", QUEUES), pairs=[pair("20 ms")])
reno, cubic, bbr = in_mixes(MIXES[:6], {"core-1000": CORE})
counted(CORE.warm_up, 3, "1 s")
