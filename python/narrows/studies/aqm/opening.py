"""What the page of the AQM study opens with (`narrows.studies.opening`)."""

SAID = (
    "Alone on a link, a speed test (NDT7) uses {R3|utilisation|burst text, timers exact|min%} and "
    "more of what the link can carry, whichever queue stands before it, where the shaper may send a "
    "burst.",
    "Beside another download at 900 Mbit/s the same test reads {R5|throughput|900 Mbit/s, fq_codel, "
    "download, burst text, cross down} through a queue for each flow (FQ-CoDel) and "
    "{R5|throughput|900 Mbit/s, pfifo, download, burst text, cross down} through one queue for all.",
    "Its upload of 100 Mbit/s beside another varies by {R8|variation of throughput, 10 ms bins|100 "
    "Mbit/s, fq_codel, burst listing|%} of its mean from one 10 ms to the next through FQ-CoDel, and "
    "by {R8|variation of throughput, 10 ms bins|100 Mbit/s, pfifo, burst listing|%} through a plain "
    "queue.",
    "Averages hide such things: of two set-ups that read {R11|mean throughput|Mbit/s, codel, burst "
    "listing, cross up, download} and {R11|mean throughput|Mbit/s, fq_codel, burst listing, cross up, "
    "download} the first has {R11|glitches|Mbit/s, codel, burst listing, cross up, download|-} "
    "glitches a minute (pings that take 20 ms longer than their neighbours), the second "
    "{R11|glitches|Mbit/s, fq_codel, burst listing, cross up, download|-}.",
)
