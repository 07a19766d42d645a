"""What tc would refuse when the guest is up is refused by `plan`, with the line of the experiment."""

from __future__ import annotations

from pathlib import Path

import pytest

import lab
from narrows.errors import SpecError

QUEUE = 'link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue={})\nflow = bulk(duration="1 s")\n'
SHAPER = 'link = Link(rate="10 Mbit/s", base_rtt="20 ms", shaper={})\nflow = bulk(duration="1 s")\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SHAPER.format("htb(overhead=-1)"), "htb: overhead: -1 is out of range"),
        (SHAPER.format("htb(overhead=65536)"), "htb: overhead: 65536 is out of range.*from 0 to 65535"),
        (SHAPER.format('htb(mpu="70 KB")'), "htb: mpu: tc takes no 70 KB.*to 65535 B"),
        # 32 bits of ticks of 64 ns are 274.9 s: 343.6 MB at 10 Mbit/s
        (SHAPER.format('htb(burst="350 MB")'), "htb: burst: .*take over 274 s at 10 Mbit/s"),
        (SHAPER.format('tbf(burst="15 KB", peakrate="10 Mbit/s", mtu="1514 B")'), "must be above the rate"),
        (SHAPER.format('tbf(burst="15 KB", latency="4000 s")'), "latency: .* bytes at 10 Mbit/s"),
        (QUEUE.format('red(limit="2 KB")'), "red: tc finds no filter.*limit at least .12000 B."),
        (QUEUE.format('red(limit="400 KB", probability="0 %")'), "red: probability: tc takes no 0"),
        (QUEUE.format("choke(limit=1)"), "choke: tc makes min 0 and max 0 of limit 1.*limit at least 12"),
        (QUEUE.format("choke(limit=10)"), "choke: tc finds no filter"),
        (QUEUE.format("choke(limit=100, max=200)"), "max .200. is above limit .100."),
        (QUEUE.format("sfq(limit=1)"), "sfq: limit: tc takes no 1.*from 2"),
        (QUEUE.format("fq(buckets=1000)"), "buckets: 1000 is not a power of two.*512"),
        (QUEUE.format("fq(buckets=1)"), "buckets: 1 is out of range.*from 2 to 262144"),
        (QUEUE.format("hhf(hh_limit=5000)"), "hh_limit: 5000 is out of range.*from 1 to 2048"),
        (QUEUE.format('hhf(quantum="1 MB", non_hh_weight=5000)'), "quantum × non_hh_weight is 5000000000"),
        (QUEUE.format('fq_pie(ecn_prob="12.5 %", ecn=True)'), "tc takes whole percents, not 12.5 %"),
        (QUEUE.format('codel(interval="5000 s")'), "interval: tc takes no .*to 4294"),
        (QUEUE.format('fq_codel(quantum="2 MB")'), "quantum: tc takes no 2 MB.*to 1 MiB"),
    ],
)
def test_what_tc_takes_is_known_before_a_guest_boots(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SpecError, match=f"(?s){said}") as refused:
        lab.plan(tmp_path, text)
    assert "tiny.py:3" in str(refused.value)
