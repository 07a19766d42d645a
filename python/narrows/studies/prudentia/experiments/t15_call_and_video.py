"""Does a call of at most 2.6 Mbit/s take half of a video's rate at 8 Mbit/s?"""

from narrows.spec import pairs
from narrows.studies.prudentia.testbed import links, recorded, services

link = links(rates={"8Mbit": 128})
every = services(("hls", "call_2600k", "cubic", "reno"))
first, second = pairs({"hls": every["hls"]}, {name: every[name] for name in ("call_2600k", "cubic", "reno")})
recorded()
