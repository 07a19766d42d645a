"""What the page of the study of calls opens with (`narrows.studies.opening`)."""

SAID = (
    "When a link of 2.5 Mbit/s becomes one of 0.6, behind a drop-tail queue of 300 ms, a call of Chromium "
    "uses {M1|use of the capacity|program=chromium, queue=droptail, phase=3} of it, one of aiortc "
    "{M1|use of the capacity|program=aiortc, queue=droptail, phase=3}, one through LiveKit "
    "{M1|use of the capacity|program=livekit, queue=droptail, phase=3}.",
    "Beside one CUBIC flow on 2 Mbit/s Chromium's call gets "
    "{M5|share of its part|program=chromium, queue=droptail} of what an even split would give it, aiortc's "
    "{M5|share of its part|program=aiortc, queue=droptail}.",
)
