"""The words of an experiment file. What a person wrote, checked; nothing of Linux' commands.

from narrows.spec import Link, bulk, fq_codel
"""

from narrows.spec.axis import axis
from narrows.spec.dumbbell import Dumbbell, pair
from narrows.spec.link import Link
from narrows.spec.observe import capture, ci, flow_tap, machine, repeat, sample, tap
from narrows.spec.parsers import Bdp, own_cca
from narrows.spec.queues import (
    bfifo,
    cake,
    choke,
    codel,
    docsis_pie,
    dualpi2,
    fq,
    fq_codel,
    fq_pie,
    hhf,
    own_qdisc,
    pfifo,
    pfifo_fast,
    pfifo_head_drop,
    pie,
    red,
    sfb,
    sfq,
)
from narrows.spec.shapers import htb, no_shaper, own_shaper, tbf
from narrows.spec.traffic import after, with_
from narrows.spec.under_test import under_test
from narrows.spec.until_settled import until_settled
from narrows.tools.bulk.spec import bulk
from narrows.tools.capacity_test.spec import capacity_test
from narrows.tools.cloudflare.spec import cloudflare
from narrows.tools.command.spec import command
from narrows.tools.iperf3.spec import iperf3
from narrows.tools.ndt7.spec import ndt7
from narrows.tools.probes.spec import icmp_echo, udp_probe
from narrows.tools.rpm.spec import rpm
from narrows.tools.rrul.spec import rrul, rrul_be
from narrows.tools.udp_capacity.spec import udp_capacity
from narrows.tools.web_speed.spec import web_speed

bdp = Bdp
"""`bfifo(limit=bdp(1))`: a multiple of rate × base RTT."""
ping = icmp_echo

__all__ = [
    "Dumbbell",
    "Link",
    "after",
    "axis",
    "bdp",
    "bfifo",
    "bulk",
    "cake",
    "capacity_test",
    "capture",
    "choke",
    "ci",
    "cloudflare",
    "codel",
    "command",
    "docsis_pie",
    "dualpi2",
    "flow_tap",
    "fq",
    "fq_codel",
    "fq_pie",
    "hhf",
    "htb",
    "icmp_echo",
    "iperf3",
    "machine",
    "ndt7",
    "no_shaper",
    "own_cca",
    "own_qdisc",
    "own_shaper",
    "pair",
    "pfifo",
    "pfifo_fast",
    "pfifo_head_drop",
    "pie",
    "ping",
    "red",
    "repeat",
    "rpm",
    "rrul",
    "rrul_be",
    "sample",
    "sfb",
    "sfq",
    "tap",
    "tbf",
    "udp_capacity",
    "udp_probe",
    "under_test",
    "until_settled",
    "web_speed",
    "with_",
]
