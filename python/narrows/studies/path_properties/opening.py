"""What the page of the path properties' study opens with (`narrows.studies.opening`)."""

SAID = (
    "From a log of the packets that a sender sent and got, a path's base round trip is off by "
    "{N1|relative error of the minimum|plain, 100ms, sender|%} behind a plain queue, by {N1|relative "
    "error of the minimum|reordering, 100ms, sender|%} where packets overtake each other, and by "
    "{N1|relative error of the minimum|proxy, 100ms, sender|%} through a proxy, which ends the path "
    "for TCP.",
    "The longest queueing delay, truly {N2|true peak|plain, 100ms, sender}, is off by "
    "{N2|error|plain, 100ms, sender}; behind a queue that is seldom full (CoDel, truly {N2|true "
    "peak|codel, 100ms, sender}) by {N2|error|codel, 100ms, sender}, and where acknowledgements are "
    "delayed (truly {N2|true peak|delayed_acks, 100ms, sender}) by {N2|error|delayed_acks, 100ms, "
    "sender}.",
    "Whether a policer limits the path is told rightly in {N11|judged rightly||min%} of the runs, of "
    "the path where that is least.",
    "Throughput is off by {N6|relative error|plain, 100ms, sender|%}, and through a proxy by "
    "{N6|relative error|proxy, 100ms, sender|%}.",
)
