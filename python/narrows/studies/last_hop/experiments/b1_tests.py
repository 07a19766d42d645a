"""What does each speed test read of Wi-Fi, LTE, 5G, a satellite and a cable modem, wherever the queue is?

A probe of somebody else at home tells what a third party meets meanwhile.
"""

from narrows.spec import (
    axis,
    capacity_test,
    cloudflare,
    iperf3,
    ndt7,
    rpm,
    udp_capacity,
    udp_probe,
    web_speed,
    with_,
)
from narrows.studies.last_hop.testbed import START, link, recorded

link = link()
test = axis(
    "tool",
    {
        "ndt7": ndt7(tests="download", start=START),
        "iperf3": iperf3(duration="10 s", start=START),
        "capacity_test": capacity_test(
            direction="down", connections=4, omit="3 s", duration="10 s", start=START
        ),
        "cloudflare": cloudflare(start=START),
        "ookla_model": web_speed(model="ookla", tests="download", start=START),
        "librespeed_model": web_speed(model="librespeed", tests="download", start=START),
        "rpm": rpm(tests="download", start=START),
        "udp_capacity": udp_capacity(tests="download", start=START),
    },
)
probe = udp_probe(interval="10 ms", stop=with_(test))
recorded()
