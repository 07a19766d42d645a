"""What the page of the local bottleneck's study opens with (`narrows.studies.opening`)."""

SAID = (
    "A CUBIC download over a line of 30 Mbit/s makes every ping {L1|ICMP's induced RTT|fttc-30-10, "
    "cubic, remote} slower where the ISP's queue fills, and {L1|ICMP's induced RTT|fttc-30-10, cubic, "
    "local} with CAKE at home, 5 % below the line's rate; it still gets {L1|goodput|fttc-30-10, "
    "cubic, local} instead of {L1|goodput|fttc-30-10, cubic, remote}.",
    "A CUBIC upload's own round trip takes {L4|median TCP RTT|cubic, remote} without a queue at home "
    "and {L4|median TCP RTT|cubic, local} with it; a BBR upload's {L4|median TCP RTT|bbr, remote} and "
    "{L4|median TCP RTT|bbr, local}.",
    "Four equal CUBIC downloads lie apart by a factor of {L6|fastest over slowest download|4 flows, "
    "cubic, remote} in the ISP's queue and {L6|fastest over slowest download|4 flows, cubic, local} "
    "at home.",
    "With the home router 5 % below the line the ISP's queue holds packets for {L16|sojourn at the "
    "ISP, p95|95%, cubic, down} (95th percentile), with it at the line's full rate for {L16|sojourn "
    "at the ISP, p95|100%, cubic, down}.",
    "Where the line's rate moves, as LTE's does, packets then still wait {L11|sojourn at the ISP, "
    "p95|lte, cubic, local} at the ISP, and {L11|sojourn at the ISP, p95|lte, cubic, remote} without "
    "a queue at home.",
)
