"""What is the TCP RTT of four uploads on FTTC: 30 ms local, 80 ms remote with BBR, over 400 ms with CUBIC?"""

from narrows.studies.local_bottleneck.testbed import best_effort, homes, recorded

link = homes(["fttc-30-10"])
test = best_effort([4])
recorded()
