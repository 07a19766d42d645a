"""Is contentiousness monotonic in bandwidth? A video against a download, from 8 to 100 Mbit/s."""

from narrows.spec import pairs
from narrows.studies.prudentia.testbed import links, recorded, services

# near 4 × BDP
PACKETS = {8: 128, 20: 256, 30: 512, 40: 512, 50: 1024, 60: 1024, 70: 1024, 80: 1024, 100: 2048}

link = links(rates={f"{rate}Mbit": packets for rate, packets in PACKETS.items()})
first, second = pairs(services(("dash", "download")))
recorded()
