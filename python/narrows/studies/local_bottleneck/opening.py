"""What the page of the local bottleneck's study opens with (`narrows.studies.opening`)."""

SAID = (
    "A CUBIC download over a line of 30 Mbit/s makes every ping "
    "{L1|ICMP's induced RTT|profile=fttc-30-10, cca=cubic, home=remote} slower where the ISP's queue fills, "
    "and {L1|ICMP's induced RTT|profile=fttc-30-10, cca=cubic, home=local} with CAKE at home, 5 % below the "
    "line's rate; it still gets {L1|goodput|profile=fttc-30-10, cca=cubic, home=local} instead of "
    "{L1|goodput|profile=fttc-30-10, cca=cubic, home=remote}.",
    "A CUBIC upload's own round trip takes {L4|median TCP RTT|cca=cubic, home=remote} without a queue at "
    "home and {L4|median TCP RTT|cca=cubic, home=local} with it; a BBR upload's "
    "{L4|median TCP RTT|cca=bbr, home=remote} and {L4|median TCP RTT|cca=bbr, home=local}.",
    "Four equal CUBIC downloads lie apart by a factor of "
    "{L6|fastest over slowest download|flows=4, cca=cubic, home=remote} in the ISP's queue and "
    "{L6|fastest over slowest download|flows=4, cca=cubic, home=local} at home.",
    "With the home router 5 % below the line the ISP's queue holds packets for "
    "{L16|sojourn at the ISP, p95|share=95%, cca=cubic, way=down} (95th percentile), with it at the line's "
    "full rate for {L16|sojourn at the ISP, p95|share=100%, cca=cubic, way=down}.",
    "Where the line's rate moves, as LTE's does, packets then still wait "
    "{L11|sojourn at the ISP, p95|profile=lte, cca=cubic, home=local} at the ISP, and "
    "{L11|sojourn at the ISP, p95|profile=lte, cca=cubic, home=remote} without a queue at home.",
)
