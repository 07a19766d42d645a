"""What the page of the study of QUIC stacks opens with (`narrows.studies.opening`)."""

_FIFO = "beside=cubic, link=20Mbit_40ms, queue=fifo_1bdp"
SAID = (
    "Behind a queue of one BDP at 20 Mbit/s and 40 ms the CUBIC of quiche takes "
    f"{{Q7|share of its fair rate|{_FIFO}, stack=quiche_cubic}} of its fair rate beside the kernel's, and "
    f"s2n-quic's {{Q7|share of its fair rate|{_FIFO}, stack=s2n-quic_cubic}}.",
    "There {Q1|share of its packets that were dropped|beside=cubic, link=20Mbit_40ms} of what quinn's BBR "
    "sends beside the kernel's CUBIC is dropped, and of what ngtcp2's BBR sends alone "
    "{Q2|share of its packets that were dropped|beside=nothing, link=20Mbit_40ms}.",
    "When the rate rises from 5 to 40 Mbit/s, quinn fills the link after "
    "{Q4|time to fill the link|stack=quinn_cubic} with CUBIC and after "
    "{Q4|time to fill the link|stack=quinn_bbr} with BBR.",
)
