"""What does a call give up beside each rival: lines, frames, or smoothness?"""

from narrows.spec import pairs
from narrows.studies.prudentia.testbed import CALLS, RIVALS, links, recorded, services

link = links(rates={"8Mbit": 128})
every = services((*CALLS, *RIVALS))
first, second = pairs({name: every[name] for name in CALLS}, {name: every[name] for name in RIVALS})
recorded()
