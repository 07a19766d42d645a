"""Beside whom do a call's packets come too late?"""

from narrows.studies.prudentia.testbed import CALLS, RIVALS, links, meeting, recorded

link = links(rates={"8Mbit": 128})
first, second = meeting(CALLS, RIVALS)
recorded()
