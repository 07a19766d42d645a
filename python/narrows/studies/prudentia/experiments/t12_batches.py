"""Do batches of chunks shape who gets what? The control is five BBR flows without the barrier."""

from narrows.spec import pairs
from narrows.studies.prudentia.testbed import links, recorded, services

link = links(rates={"50Mbit": 1024})
every = services(("download", "cubic", "reno", "batches", "five"))
first, second = pairs(
    {name: every[name] for name in ("download", "cubic", "reno")},
    {name: every[name] for name in ("batches", "five")},
)
recorded()
