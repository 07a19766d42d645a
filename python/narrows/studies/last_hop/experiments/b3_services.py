"""What becomes of a video and of a call beside a download on each medium, wherever the queue is?"""

from narrows.spec import axis, bulk, call, video
from narrows.studies.last_hop.testbed import link, recorded

link = link(hosts=2)
service = axis("service", {"video": video(duration="20 s", host=1), "call": call(duration="20 s", host=1)})
download = bulk(cca="cubic", duration="25 s", host=2)
recorded()
