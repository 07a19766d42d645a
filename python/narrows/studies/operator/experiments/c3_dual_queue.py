"""Does the same speed test read differently once an AQM and a dual queue are deployed?

Claim C3 (Ledesma and Livingood, IETF 123): share of advertised speed by configuration; retransmissions
change. One tool at a time (the operator's capacity test, NDT7, and an iperf3 test that is itself L4S), with
nothing, a classic flow, or a low-latency flow (DCTCP as ECT(1)) beside it. A sparse, unmarked NQB stream
(DSCP 45) always runs: what an application that fills no queue meets. DualPI2 is used with its NQB filter.
"""

from narrows.spec import axis, bdp, bfifo, bulk, dualpi2, iperf3, ndt7, udp_probe, with_
from narrows.studies.operator.testbed import capacity, link, recorded

link = link(fifo=bfifo(limit=bdp(2.5)), dualpi2=dualpi2(nqb=True))
test = axis(
    "tool",
    {
        "capacity": capacity(),
        "ndt7": ndt7(tests="download", start="1 s"),
        "l4s": iperf3(cca="dctcp", l4s=True, flows=4, omit="3 s", duration="10 s", start="1 s"),
    },
)
beside = axis(
    "beside",
    {
        "nothing": None,
        "classic": bulk(cca="cubic", stop=with_(test)),
        "l4s": bulk(cca="dctcp", l4s=True, stop=with_(test)),
    },
)
nqb = udp_probe(interval="20 ms", dscp="NQB", stop=with_(test))
recorded("500 ms")
