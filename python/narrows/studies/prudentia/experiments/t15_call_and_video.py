"""Does a call of at most 2.6 Mbit/s take half of a video's rate at 8 Mbit/s?"""

from narrows.studies.prudentia.testbed import links, meeting, recorded

link = links(rates={"8Mbit": 128})
first, second = meeting(("hls",), ("call_2600k", "cubic", "reno"))
recorded()
