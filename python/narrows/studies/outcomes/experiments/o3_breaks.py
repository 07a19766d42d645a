"""Where does each service cease to be good, when one thing of an easy path gets worse?"""

from narrows.studies.outcomes.testbed import paths, recorded, services

link = paths()
service = services()
recorded()
