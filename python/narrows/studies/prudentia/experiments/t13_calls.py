"""What does a call give up beside each rival: lines, frames, or smoothness?"""

from narrows.spec import pairs
from narrows.studies.prudentia.testbed import CALLS, PROGRAMS, RIVALS, links, recorded, services

link = links(rates={"8Mbit": 128})
every = services((*CALLS, *PROGRAMS, *RIVALS))
calls, rivals = ({name: every[name] for name in names} for names in ((*CALLS, *PROGRAMS), RIVALS))
first, second = pairs(calls, rivals)
recorded()
