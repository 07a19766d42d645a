"""What the page of the operator's study opens with (`narrows.studies.opening`)."""

SAID = (
    "While a capacity test fills a line of 25 Mbit/s, a ping takes "
    "{C2|loaded RTT of the probe, median|rate=25Mbit, queue=fifo_35ms} through a plain queue of 35 ms, "
    "{C2|loaded RTT of the probe, median|rate=25Mbit, queue=fifo_250ms} through one of 250 ms, and "
    "{C2|loaded RTT of the probe, median|rate=25Mbit, queue=docsis_pie} with DOCSIS-PIE; the empty path "
    "takes 15 ms.",
    "Meanwhile the test itself reads {C2|reading of the test|rate=25Mbit, queue=fifo_35ms} through the queue "
    "of 35 ms and {C2|reading of the test|rate=25Mbit, queue=docsis_pie} with DOCSIS-PIE.",
    "Alone the test reads {C3|share of advertised speed|tool=capacity, beside=nothing, queue=fifo} of the "
    "advertised speed through the plain queue and "
    "{C3|share of advertised speed|tool=capacity, beside=nothing, queue=cake} through CAKE; beside one other "
    "flow it reads {C3|share of advertised speed|tool=capacity, beside=classic, queue=fifo} and "
    "{C3|share of advertised speed|tool=capacity, beside=classic, queue=cake}.",
    "A test of responsiveness (RPM) beside a flow counts round trips: "
    "{C5|responsiveness|tool=rpm, beside=flow, queue=fifo_250ms} through a plain queue "
    "of 250 ms, {C5|responsiveness|tool=rpm, beside=flow, queue=docsis_pie} with DOCSIS-PIE and "
    "{C5|responsiveness|tool=rpm, beside=flow, queue=fq_codel} with FQ-CoDel.",
    "One TCP connection over a path of 80 ms that loses 0.1 % of its packets carries "
    "{C1|share of what TCP can carry|base_rtt=80ms, queue=docsis_pie, loss=0.1%, cca=cubic, connections=1} "
    "of what the line can.",
)
