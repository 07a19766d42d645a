"""What the page of the study of what-if opens with (`narrows.studies.opening`)."""

SAID = (
    "Of changes of one thing on a path, fitted from a capture alone, what-if cannot answer "
    "{W6|changes that it cannot answer|}.",
    "Where it answers, its goodput is off by {W1|error of goodput, whatif|} in the median (that of before by "
    "{W1|error of goodput, as before|}, of the capture's throughput as a trace by "
    "{W1|error of goodput, the throughput as a trace|}), its p95 RTT by {W2|error of p95 RTT, whatif|} "
    "({W2|error of p95 RTT, as before|}, {W2|error of p95 RTT, the throughput as a trace|}).",
)
