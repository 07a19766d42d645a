"""Do more flows make a service more contentious? BBR with 1 to 8 flows against one of each kind."""

from narrows.studies.prudentia.testbed import links, meeting, recorded

link = links()
first, second = meeting(("bbr", "cubic", "reno"), ("bbr", "two", "four", "eight"))
recorded()
