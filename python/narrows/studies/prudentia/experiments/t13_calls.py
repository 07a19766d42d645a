"""What does a call give up beside each rival: lines, frames, or smoothness?"""

from narrows.studies.prudentia.testbed import CALLS, PROGRAMS, RIVALS, links, meeting, recorded

link = links(rates={"8Mbit": 128})
first, second = meeting((*CALLS, *PROGRAMS), RIVALS)
recorded()
