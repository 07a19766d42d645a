"""Do more flows make a service more contentious? BBR with 1 to 8 flows against one of each kind."""

from narrows.spec import pairs
from narrows.studies.prudentia.testbed import links, recorded, services

link = links()
every = services(("bbr", "cubic", "reno", "two", "four", "eight"))
first, second = pairs(
    {name: every[name] for name in ("bbr", "cubic", "reno")},
    {name: every[name] for name in ("bbr", "two", "four", "eight")},
)
recorded()
