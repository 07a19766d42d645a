"""What the page of the study of kernels opens with (`narrows.studies.opening`)."""

SAID = (
    "Between Linux 6.1, 6.12 and 7.2 BBR's goodput, its wait in the queue or its drops moved in "
    "{T21|conditions in which a figure of BBR moved|} of six conditions (beside CUBIC and alone, behind "
    "three queues).",
    "Beside a CUBIC flow behind a FIFO of one BDP a BBR flow gets "
    "{T21|goodput|load=bbr_beside_cubic, queue=fifo_1bdp, kernel=6.1} on Linux 6.1, "
    "{T21|goodput|load=bbr_beside_cubic, queue=fifo_1bdp, kernel=6.12} on 6.12 and "
    "{T21|goodput|load=bbr_beside_cubic, queue=fifo_1bdp, kernel=7.2} on 7.2, of 20 Mbit/s.",
    "Alone behind it, packets wait for {T21|wait in the queue, p95|load=bbr, queue=fifo_1bdp, kernel=6.1} "
    "(p95) on 6.1 and {T21|wait in the queue, p95|load=bbr, queue=fifo_1bdp, kernel=7.2} on 7.2.",
)
