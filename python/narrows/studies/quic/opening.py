"""What the page of the study of QUIC stacks opens with (`narrows.studies.opening`)."""

SAID = (
    "Behind a queue of one BDP at 20 Mbit/s and 40 ms, "
    "{Q1|share of its packets that were dropped|beside=cubic, link=20Mbit_40ms} of what quinn's BBR sends "
    "beside a CUBIC flow of the kernel is dropped, and of what ngtcp2's sends alone "
    "{Q2|share of its packets that were dropped|beside=nothing, link=20Mbit_40ms}.",
    "When the rate rises from 5 to 40 Mbit/s, quinn fills the link after "
    "{Q4|time to fill the link|stack=quinn_cubic} with CUBIC and after "
    "{Q4|time to fill the link|stack=quinn_bbr} with BBR.",
)
