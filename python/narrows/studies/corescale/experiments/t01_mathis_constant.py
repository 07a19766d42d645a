"""Does the Mathis constant depend on scale and flow count when fitted on losses, but not on halvings?

Claim T1, Table 3.1 of the thesis: on packet loss C is 1.78 at Edge and 3.95, 3.64, 3.24 at Core with 1000,
3000 and 5000 NewReno flows; on window halvings it is 1.47 and 1.36, 1.36, 1.34.

How well the model predicts each flow (T2), how many packets are lost per halving and how bursty the drops are
(T3), and half of T4 are judged on the same runs. A sample: --only 'setting=edge-10,edge-50 rtt=20ms seed=0,1'
"""

from narrows.studies.corescale.testbed import dumbbell, from_all, recorded

link = dumbbell()
flows = from_all("reno")
recorded()
