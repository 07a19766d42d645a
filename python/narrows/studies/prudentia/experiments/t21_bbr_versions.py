"""Does another kernel's BBR change who gets what? Here there is one kernel's."""

from narrows.spec import pairs
from narrows.studies.prudentia.testbed import links, recorded, services

link = links()
first, second = pairs(services(("dash", "download")))
recorded()
