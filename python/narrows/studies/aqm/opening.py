"""What the page of the AQM study opens with (`narrows.studies.opening`)."""

SAID = (
    "Alone on a link, a speed test (NDT7) uses {R3|utilisation|burst=text, timers=exact|min} and more of "
    "what the link can carry, whichever queue stands before it, where the shaper may send a burst.",
    "Beside another download at 900 Mbit/s the same test reads "
    "{R5|throughput|queue=fq_codel, burst=text, cross=down} through a queue for each flow (FQ-CoDel) and "
    "{R5|throughput|queue=pfifo, burst=text, cross=down} through one queue for all.",
    "Its upload of 100 Mbit/s beside another varies by "
    "{R8|variation of throughput, 10 ms bins|queue=fq_codel, burst=listing} of its mean from one 10 ms to "
    "the next through FQ-CoDel, and by {R8|variation of throughput, 10 ms bins|queue=pfifo, burst=listing} "
    "through a plain queue.",
    "Averages hide such things: of two set-ups that read "
    "{R11|mean throughput|queue=codel, burst=listing, cross=up, direction=down} and "
    "{R11|mean throughput|queue=fq_codel, burst=listing, cross=up, direction=down} the first has "
    "{R11|glitches|queue=codel, burst=listing, cross=up, direction=down} glitches (pings that take 20 ms "
    "longer than their neighbours), the second "
    "{R11|glitches|queue=fq_codel, burst=listing, cross=up, direction=down}.",
)
