"""What the page of the path properties' study opens with (`narrows.studies.opening`)."""

SAID = (
    "From a log of the packets that a sender sent and got, a path's base round trip is off by "
    "{N1|relative error of the minimum|path=plain, base_rtt=100ms, place=sender} behind a plain queue, by "
    "{N1|relative error of the minimum|path=reordering, base_rtt=100ms, place=sender} where packets overtake "
    "each other, and by {N1|relative error of the minimum|path=proxy, base_rtt=100ms, place=sender} through "
    "a proxy, which ends the path for TCP.",
    "The longest queueing delay, truly {N2|true peak|path=plain, base_rtt=100ms, place=sender}, is off by "
    "{N2|error|path=plain, base_rtt=100ms, place=sender}; behind a queue that is seldom full (CoDel, truly "
    "{N2|true peak|path=codel, base_rtt=100ms, place=sender}) by "
    "{N2|error|path=codel, base_rtt=100ms, place=sender}, and where acknowledgements are delayed (truly "
    "{N2|true peak|path=delayed_acks, base_rtt=100ms, place=sender}) by "
    "{N2|error|path=delayed_acks, base_rtt=100ms, place=sender}.",
    "Whether a policer limits the path is told rightly in {N11|judged rightly||min} of the runs, of the path "
    "where that is least.",
    "Throughput is off by {N6|relative error|path=plain, base_rtt=100ms, place=sender}, and through a proxy "
    "by {N6|relative error|path=proxy, base_rtt=100ms, place=sender}.",
)
