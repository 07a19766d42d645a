"""Do batches of chunks shape who gets what? The control is five BBR flows without the barrier."""

from narrows.studies.prudentia.testbed import links, meeting, recorded

link = links(rates={"50Mbit": 1024})
first, second = meeting(("download", "cubic", "reno"), ("batches", "five"))
recorded()
